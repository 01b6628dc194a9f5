/** An API server that dies, is unreachable, or does not know the kind yet: the operator recovers without help. */
import { mkdtemp, rm } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { spawnOperator, startDetour } from '../support/process.ts';
import { condition, createWorld } from '../support/world.ts';

const run = promisify(execFile);
const CRDS = new URL('../../../deploy/crds', import.meta.url).pathname;
const NAMES = ['one', 'two', 'three', 'four', 'five'];

async function ownControlPlane(crds = CRDS): Promise<ControlPlane> {
  const controlPlane = await startControlPlane({ crds });
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

describe('an operator that starts too early', () => {
  it('waits for an unreachable API server, and logs that', async () => {
    const world = await createWorld({ operator: false });
    const detour = await startDetour(world);
    detour.cut();
    spawnOperator(world, [detour.flag]);
    await world.until(
      () => world.log.some(({ msg }) => msg === 'cannot watch the API server; retrying'),
      'the line in the log',
    );
    await world.create(virtualServer('web'));
    detour.restore();
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it('waits for the CustomResourceDefinition, logs that, and continues without help', async () => {
    const none = await mkdtemp(join(tmpdir(), 'vps-operator-no-crds-'));
    onTestFinished(() => rm(none, { recursive: true }));
    const { kubectl, kubeconfigPath } = await ownControlPlane(none);
    const world = await createWorld({ kubeconfigPath, operator: false });
    spawnOperator(world);
    await world.until(
      () =>
        world.log.some(({ msg }) => String(msg).includes('CustomResourceDefinition of VirtualServer is not installed')),
      'the line in the log',
    );
    await run(kubectl, ['--kubeconfig', kubeconfigPath, 'apply', '-k', CRDS]);
    await run(kubectl, ['--kubeconfig', kubeconfigPath, 'wait', '--for=condition=established', 'crd', '--all']);
    await world.until(
      async () => (await world.create(virtualServer('web')).catch(() => undefined)) !== undefined,
      'the kind',
    );
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(condition(ready, 'Ready')?.status).toBe('True');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});
