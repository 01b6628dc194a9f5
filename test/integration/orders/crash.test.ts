/** The operator is killed at the worst moments: what it may have ordered is neither repeated nor forgotten. */
import { describe, expect, it } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { CREATE } from '../support/creates.ts';
import { recordOf } from '../support/records.ts';
import { noteNames, spawnOperator, startDetour } from '../support/process.ts';
import { condition, createWorld } from '../support/world.ts';

it('an order that hung when its operator was killed is in flight for the next one until the create must have ended', async () => {
  const world = await createWorld({ operator: false });
  const hang = world.simulator.faults.inject({ match: CREATE, action: { kind: 'hang' } });
  const operator = await spawnOperator(world);
  await world.create(virtualServer('web'));
  await hang.met;
  await operator.kill('SIGKILL');
  const { attempt = '' } = recordOf(await world.waitFor('web', () => true));
  await world.startOperator({ journal: false, flags: ['--create-timeout=5s', '--takeover-grace=500ms'] });
  const waiting = await world.waitForReason('web', 'CreateInFlight', 'Ready');
  expect(condition(waiting, 'Ready')).toMatchObject({ status: 'Unknown' });
  await world.annotate('web', { 'not-created': attempt });
  await world.visited('web');
  const early = await world.get('web');
  if (early === undefined || recordOf(early).attempt !== attempt) throw new Error('not-created was obeyed too early');
  expect(world.simulator.ledger.creates()).toEqual([]);

  await world.waitForReason('web', 'Available', 'Ready');
  expect(world.simulator.ledger.creates()).toHaveLength(1);
});

describe('a task that was accepted but not recorded', () => {
  it('is found in the journal after a crash', async () => {
    const world = await createWorld({ operator: false });
    const detour = await startDetour(world);
    const hang = world.simulator.faults.inject({ match: CREATE, action: { kind: 'hang' } });
    const operator = await spawnOperator(world, [detour.flag]);
    await world.create(virtualServer('web'));
    await hang.met;
    detour.cut();
    hang.release();
    await world.until(
      async () => (await noteNames(world.journalDir)).some((name) => name.endsWith('.task-1001')),
      'the task in the journal',
    );
    await operator.kill('SIGKILL');
    expect((await world.get('web'))?.metadata.annotations?.[RECORD_ANNOTATION]).not.toContain('"task"');

    await world.startOperator();
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(recordOf(ready).task).toBe(world.simulator.ledger.creates()[0]?.task);
    await world.visited('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('is retried until the API server is back, which the log shows, and then the operator exits', async () => {
    const world = await createWorld({ operator: false });
    const detour = await startDetour(world);
    const hang = world.simulator.faults.inject({ match: CREATE, action: { kind: 'hang', after: true } });
    const operator = await spawnOperator(world, [detour.flag, '--kube-timeout=1s']);
    await world.create(virtualServer('web'));
    await hang.met;
    detour.cut();
    hang.release();
    operator.terminate();
    const says = ({ msg }: Record<string, unknown>): boolean => msg === 'tasks are not recorded yet: retrying';
    await world.until(() => world.log.filter(says).length >= 2, 'two tries in vain');
    expect(world.log.find(says)).toMatchObject({ level: 'error', objects: [`${world.namespace}/web`] });
    detour.restore();
    expect(await operator.exited).toBe(0);
    const [created] = world.simulator.ledger.creates();
    expect(recordOf((await world.get('web')) ?? fail()).task).toBe(created?.task);
  });
});

function fail(): never {
  throw new Error('the object is gone');
}
