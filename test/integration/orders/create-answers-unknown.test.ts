/** Answers to a create that leave open whether a server exists: the operator reports it, and sends nothing again. */
import { describe, expect, it } from 'vitest';
import type { FaultAction } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, CREATE, isEditable, phase, sent, stalled } from '../support/creates.ts';
import { createWorld, type World } from '../support/world.ts';

interface Row {
  answer: string;
  faults: FaultAction[];
  /** Number of servers that the provider has created. */
  made: 0 | 1;
  words: RegExp;
}

const SLOW = /no complete answer within 0\.4 s/;
const LOST = /cannot be reached/;
const ELSEWHERE = { location: 'http://127.0.0.1:9/beta/queue/vps/1001' };

const ROWS: Row[] = [
  { answer: 'none in time, and the request was lost', faults: [{ kind: 'hang' }], made: 0, words: SLOW },
  { answer: 'none in time, though the request arrived', faults: [{ kind: 'hang', after: true }], made: 1, words: SLOW },
  { answer: 'a reset before the provider acted', faults: [{ kind: 'reset' }], made: 0, words: LOST },
  { answer: 'a reset after the provider acted', faults: [{ kind: 'reset', after: true }], made: 1, words: LOST },
  { answer: 'a half-closed connection', faults: [{ kind: 'drop' }], made: 0, words: LOST },
  { answer: 'a connection that ends after it acted', faults: [{ kind: 'drop', after: true }], made: 1, words: LOST },
  ...[301, 303, 307, 308].map((status) => status3xx(status)),
  ...[408, 409, 418, 500, 501, 502, 503, 504].map((status) => answered(status, 0)),
  ...[409, 500, 503].map((status) => answered(status, 1)),
  ...[200, 201, 204].map((status) => ({ ...answered(status, 1), words: /instead of 202 and names/ })),
  {
    answer: '202 without a task',
    faults: [{ kind: 'status', status: 202, body: {}, after: true }],
    made: 1,
    words: /accepted and named no task/,
  },
  {
    answer: '202 with a page of HTML and no Location',
    faults: [{ kind: 'status', status: 202, body: '<html>accepted</html>', after: true }],
    made: 1,
    words: /named no task/,
  },
  {
    answer: '202 without a task and with a Location at another host',
    faults: [{ kind: 'status', status: 202, headers: ELSEWHERE, body: {}, after: true }],
    made: 1,
    words: /named no task/,
  },
  {
    answer: '202 with a Location that names another task than the body',
    faults: [{ kind: 'location', location: (original) => original.replace(/\d+$/, '7') }],
    made: 1,
    words: /the body names task 1001, the Location task 7/,
  },
];

function answered(status: number, made: 0 | 1): Row {
  return {
    answer: `${status}${made === 1 ? ', though a server was made' : ''}`,
    faults: [{ kind: 'status', status, body: { message: `words of ${status}` }, after: made === 1 }],
    made,
    words: new RegExp(`answered ${status}: words of ${status}`),
  };
}

function status3xx(status: number): Row {
  const fault = { kind: 'status', status, headers: ELSEWHERE } as const;
  return { answer: `${status}`, faults: [fault], made: 0, words: /a redirect that the operator does not follow/ };
}

async function parked(world: World, name: string, { made, words }: Row): Promise<void> {
  const object = await world.waitForReason(name, 'CreateOutcomeUnknown', 'Stalled');
  const attempt = attemptOf(object);
  expect(attempt).toMatch(/^[0-9a-f]{16}$/);
  expect(phase(object)).toBe('Unknown/-/True');
  const { message } = stalled(object);
  expect(message).toMatch(words);
  expect(message).toContain(`vps-operator.dev/not-created=${attempt}`);
  expect(message).toContain('vps-operator.dev/adopt=IDENTIFIER');
  expect(object.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
  expect(await isEditable(world, name)).toBe(false);

  await world.visited(name);
  const later = await world.get(name);
  expect(later?.status?.conditions?.find(({ type }) => type === 'Stalled')?.message).toBe(message);
  expect(sent(world)).toHaveLength(1);
  expect(world.simulator.ledger.creates()).toHaveLength(made);
  const told = async (): Promise<string[]> => (await world.events(name)).map(({ type, reason }) => `${type} ${reason}`);
  await expect
    .poll(async () => (await told()).filter((text) => text === 'Warning CreateOutcomeUnknown'))
    .toHaveLength(1);
}

describe('a create whose outcome is unknown', () => {
  it.for(ROWS)('is parked and never sent again after $answer', async (row) => {
    const world = await createWorld({ flags: ['--create-timeout=400ms'] });
    for (const action of row.faults) world.simulator.faults.inject({ match: CREATE, action });
    await world.create(virtualServer('web'));
    await parked(world, 'web', row);
  });

  it('stays parked through a restart with the journal and a restart without it', async () => {
    const world = await createWorld();
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'drop', after: true } });
    await world.create(virtualServer('web'));
    const before = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    for (const journal of [true, false]) {
      await world.stopOperator();
      await world.startOperator({ journal, flags: ['--create-timeout=100ms', '--takeover-grace=100ms'] });
      await world.visited('web');
      const after = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
      expect(attemptOf(after)).toBe(attemptOf(before));
    }
    expect(sent(world)).toHaveLength(1);
  });
});

describe('a create that was accepted', () => {
  const GARBAGE: { answer: string; action: FaultAction }[] = [
    { answer: 'a page of HTML', action: { kind: 'garbage', form: 'html' } },
    { answer: 'half of a body', action: { kind: 'garbage', form: 'truncated' } },
    { answer: 'a body of 50 MB', action: { kind: 'garbage', form: 'oversized', megabytes: 50 } },
    { answer: 'a body that names no task', action: { kind: 'body', body: { job: 1 } } },
  ];

  it.for(GARBAGE)('is followed by its Location when the answer has $answer', async ({ action }) => {
    const world = await createWorld();
    world.simulator.faults.inject({ match: CREATE, action });
    await world.create(virtualServer('web'));
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(ready.status?.record?.task).toBe(world.simulator.ledger.creates()[0]?.task);
    expect(sent(world)).toHaveLength(1);
  });

  it.for([null, ELSEWHERE.location])(
    'is followed by the task in its body when its Location is %s',
    async (location) => {
      const world = await createWorld();
      world.simulator.faults.inject({ match: CREATE, action: { kind: 'location', location } });
      await world.create(virtualServer('web'));
      await world.waitForReason('web', 'Available', 'Ready');
      expect(sent(world)).toHaveLength(1);
    },
  );
});
