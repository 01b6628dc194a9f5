/** Counts the operator's writes where the count is reliable: in the API server's audit log. */
import { mirrorIn } from '../../../src/api/record.ts';
import { describe, expect, it } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { useAudit } from '../support/audit.ts';
import { createWorld, type World } from '../support/world.ts';

const audited = useAudit();

/** Longer than the test. */
const NEVER_MS = 3_600_000;
const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** `verb resource[/subresource]` of each write in the world's namespace so far, by any client. */
async function writes({ namespace }: World, resource: 'virtualservers' | 'events'): Promise<string[]> {
  return (await audited(`"namespace":"${namespace}"`))
    .filter(({ verb, objectRef }) => WRITES.includes(verb) && objectRef?.resource === resource)
    .map(({ verb, objectRef }) => [verb, objectRef?.resource, objectRef?.subresource].filter(Boolean).join(' '));
}

/** Removes the test's own create and delete of the object; the operator does neither. */
function ofOperator(all: string[]): string[] {
  const own = ['create virtualservers', 'delete virtualservers'];
  expect(all.filter((write) => own.includes(write)).sort()).toEqual(own);
  return all.filter((write) => !own.includes(write));
}

const POLLED = { route: '/beta/queue/vps/{task}', status: 200 } as const;

const told = async (world: World): Promise<string[]> => (await world.events('web')).map(({ note }) => note);

/** Ready, with an Event about it. */
async function waitUntilTold(world: World): Promise<void> {
  await world.waitForReason('web', 'Available', 'Ready');
  await world.until(async () => (await told(world)).some((note) => note.includes('is ready')), 'the Event');
}

/** The annotation has also followed the status: a deletion before that costs a write more. */
async function waitUntilWritten(world: World): Promise<void> {
  await waitUntilTold(world);
  await world.waitFor(
    'web',
    ({ metadata }) => metadata.annotations?.[RECORD_ANNOTATION]?.includes('fingerprint') === true,
  );
}

/** `polls`: the task ends after this many polls, however long that takes. */
async function live(world: World, polls = 0): Promise<void> {
  await world.create(virtualServer('web'));
  if (polls > 0) {
    await world.until(() => world.simulator.ledger.requests(POLLED).length >= polls, `${polls} polls`);
    const { status } = await world.waitFor('web', (object) => object.status?.record?.task !== undefined);
    world.simulator.fleet.completeTask(Number(mirrorIn(status)?.task));
  }
  await waitUntilWritten(world);
  await world.delete('web');
  await world.waitGone('web');
}

describe('the writes of the operator', () => {
  it('are at most six per life with a slow task, plus one for progress that changed once in many polls', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: NEVER_MS, taskStatus: () => 'Installing OS' } });
    await live(world, 5);
    const made = ofOperator(await writes(world, 'virtualservers'));
    const polls = world.simulator.ledger.requests(POLLED).length;
    console.log(`writes for one life with ${polls} polls and one change of progress: ${made.join(', ')}`);
    expect(made.length).toBeLessThanOrEqual(6 + 1);
  });

  it('are one more for each poll that changed the progress', async () => {
    const shown = new Set<string>();
    const taskStatus = (): string => {
      const text = `Installing OS, ${shown.size}% complete`;
      shown.add(text);
      return text;
    };
    const world = await createWorld({ simulator: { taskDurationMs: NEVER_MS, taskStatus } });
    await live(world, 5);
    expect(ofOperator(await writes(world, 'virtualservers')).length).toBeLessThanOrEqual(6 + shown.size);
  });

  it('are none for a Ready server, however often it is read again', async () => {
    const world = await createWorld({ flags: ['--resync-interval=50ms'] });
    await world.create(virtualServer('web'));
    await waitUntilWritten(world);
    const reads = () =>
      world.simulator.ledger.requests({ method: 'GET', route: '/beta/vps/servers/{identifier}' }).length;
    const [made, events] = [await writes(world, 'virtualservers'), await writes(world, 'events')];
    const before = reads();
    await world.until(() => reads() >= before + 5, 'five resyncs');
    expect(await writes(world, 'virtualservers')).toEqual(made);
    expect(await writes(world, 'events')).toEqual(events);
  });

  it('are at most four for an order under an identifier, with the Events that say who ordered what', async () => {
    const world = await createWorld({ simulator: { api: 'public', taskDurationMs: 500 } });
    await world.create(virtualServer('web'));
    await waitUntilTold(world);
    const [server] = world.simulator.ledger.creates();
    const notes = (await told(world)).join('\n');
    const { name } = (await world.get('web'))?.spec.apiKeySecretRef ?? {};
    expect(notes).toContain(
      `Ordered server ${server?.identifier} as task ${server?.task} with the API key in Secret ${name}`,
    );
    expect(notes).toContain(`Server ${server?.identifier} is ready, with product VPSX4 and price 1018.00`);
    const made = (await writes(world, 'virtualservers')).filter((write) => write !== 'create virtualservers');
    const events = await writes(world, 'events');
    console.log(`writes for one order under an identifier: ${[...made, ...events].join(', ')}`);
    expect(made).toEqual(['patch virtualservers', 'update virtualservers status']);
    expect(events.length).toBeLessThanOrEqual(2);

    await world.delete('web');
    await world.waitGone('web');
    await world.until(async () => (await told(world)).some((note) => note.includes('was cancelled')), 'the last Event');
    // The log has a request after its answer.
    await world.until(async () => (await writes(world, 'events')).length > events.length, 'the last Event in the log');
    expect(await writes(world, 'events')).toHaveLength(events.length + 1);
    expect(ofOperator(await writes(world, 'virtualservers'))).toHaveLength(made.length + 1);
  });

  it('cause no reconcile without work', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: 500 } });
    await live(world);
    const steps = world.log.filter(({ step }) => step !== undefined).map(({ step }) => step);
    expect(steps).toContain('cancel');
    expect(steps.filter((step) => step === 'park')).toEqual([]);
    expect(steps.filter((step) => step === 'record')).toHaveLength(1);
    expect(steps.filter((step) => step === 'wait').length).toBeLessThanOrEqual(1);
  });
});
