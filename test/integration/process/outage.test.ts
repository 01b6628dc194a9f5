/** An API server that dies: the operator recovers without help. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createWorld } from '../support/world.ts';

const NAMES = ['one', 'two', 'three', 'four', 'five'];

async function ownControlPlane(): Promise<ControlPlane> {
  const controlPlane = await startControlPlane();
  onTestFinished(() => controlPlane.stop());
  return controlPlane;
}

describe('an API server that is killed while servers are provisioning', () => {
  it('finds every server ordered once and Ready when it is back', async () => {
    const controlPlane = await ownControlPlane();
    const { kubeconfigPath } = controlPlane;
    const world = await createWorld({ kubeconfigPath, simulator: { taskDurationMs: Infinity } });
    await Promise.all(NAMES.map((name) => world.create(virtualServer(name))));
    for (const name of NAMES) await world.waitForReason(name, 'Creating', 'Ready');
    const polls = () => world.simulator.ledger.requests({ route: '/beta/queue/vps/{task}' }).length;

    await controlPlane.killApiServer();
    for (const { task } of world.simulator.ledger.creates()) world.simulator.fleet.completeTask(task);
    const before = polls();
    await world.until(() => polls() > before, 'polls that cannot be recorded');
    await controlPlane.restartApiServer();

    for (const name of NAMES) await world.waitForReason(name, 'Available', 'Ready');
    for (const name of NAMES) await world.visited(name);
    expect(world.simulator.ledger.creates()).toHaveLength(NAMES.length);
    const identifiers = await Promise.all(NAMES.map(async (name) => (await world.get(name))?.status?.identifier));
    expect(identifiers.sort()).toEqual(
      world.simulator.ledger
        .creates()
        .map(({ identifier }) => identifier)
        .sort(),
    );
  });

  it('loses no task that was accepted during the outage', async () => {
    const controlPlane = await ownControlPlane();
    const world = await createWorld({ kubeconfigPath: controlPlane.kubeconfigPath });
    const hang = world.simulator.faults.inject({
      match: { method: 'POST', route: '/beta/vps/servers' },
      times: NAMES.length,
      action: { kind: 'hang', after: true },
    });
    await world.stopOperator();
    await world.startOperator({ flags: ['--max-concurrent-reconciles=8', '--create-timeout=60s'] });
    await Promise.all(NAMES.map((name) => world.create(virtualServer(name))));
    await hang.met;
    await controlPlane.killApiServer();
    hang.release();
    await world.until(
      () =>
        world.log.filter(({ msg, level }) => msg === 'reconcile failed' && level === 'error').length >= NAMES.length,
      'writes that fail',
    );
    await controlPlane.restartApiServer();

    for (const name of NAMES) await world.waitForReason(name, 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(NAMES.length);
  });
});
