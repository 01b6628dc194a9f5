/**
 * Answers to a create that leave open whether a server exists: the operator reports it, and sends nothing again. One row for
 * each kind of answer; test/unit/provider/create-server.test.ts has every status.
 */
import { describe, expect, it } from 'vitest';
import type { FaultAction } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, CREATE, isEditable, phase, sent, stalled } from '../support/creates.ts';
import { createWorld, type World } from '../support/world.ts';

interface Row {
  answer: string;
  action: FaultAction;
  /** Number of servers that the provider has created. */
  made: 0 | 1;
  words: RegExp;
}

const message = { message: 'words of the provider' };

const ROWS: Row[] = [
  {
    answer: 'none in time, though the request arrived',
    action: { kind: 'hang', after: true },
    made: 1,
    words: /no complete answer within 0\.4 s/,
  },
  { answer: 'a reset before the provider acted', action: { kind: 'reset' }, made: 0, words: /cannot be reached/ },
  {
    answer: '500, though a server was made',
    action: { kind: 'status', status: 500, body: message, after: true },
    made: 1,
    words: /^words of the provider \(the provider answered 500 to the order\)\. Order /,
  },
  {
    answer: '303 to another host',
    action: { kind: 'status', status: 303, headers: { location: 'http://127.0.0.1:9/beta/queue/vps/1001' } },
    made: 0,
    words: /a redirect that the operator does not follow/,
  },
  {
    answer: '202 without a task',
    action: { kind: 'status', status: 202, body: {}, after: true },
    made: 1,
    words: /accepted and named no task/,
  },
  {
    answer: '202 with a Location that names another task than the body',
    action: { kind: 'location', location: (original) => original.replace(/\d+$/, '7') },
    made: 1,
    words: /the body names task 1001, the Location task 7/,
  },
];

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
    world.simulator.faults.inject({ match: CREATE, action: row.action });
    await world.create(virtualServer('web'));
    await parked(world, 'web', row);
  });
});
