/** Creates of which no byte was sent: nothing was created, and they are retried. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SimulatorOptions } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { selfSigned } from '../support/certificate.ts';
import { attemptOf, isEditable, phase, sent } from '../support/creates.ts';
import { startGate, type Gate } from '../support/gate.ts';
import { condition, createWorld, type World } from '../support/world.ts';

interface Gated {
  world: World;
  gate: Gate;
  /** Closes the gate after the provider's lists have answered and before the create is sent. */
  closeBeforeCreate: (close: () => void) => Promise<void>;
}

async function gatedWorld(scheme: 'http' | 'https', simulator: SimulatorOptions = {}): Promise<Gated> {
  const gate = await startGate();
  const origin = `${scheme}://127.0.0.1:${gate.port}`;
  const world = await createWorld({ simulator: { ...simulator, origin }, operator: false });
  gate.target = world.simulator.port;
  await world.startOperator();
  const lists = world.simulator.faults.inject({
    match: { route: '/beta/vps/disk-sizes' },
    action: { kind: 'hang', after: true },
  });
  const closeBeforeCreate = async (close: () => void): Promise<void> => {
    await lists.met;
    close();
    lists.release();
  };
  return { world, gate, closeBeforeCreate };
}

async function expectNotCreated(world: World): Promise<void> {
  const object = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
  expect(phase(object)).toBe('False/True/-');
  expect(condition(object, 'Ready')?.message).toContain('Nothing was ordered');
  expect(attemptOf(object)).toBeUndefined();
  expect(await isEditable(world, 'web')).toBe(true);
  expect(sent(world)).toEqual([]);
}

async function expectRecovery(world: World): Promise<void> {
  await world.waitForReason('web', 'Available', 'Ready');
  expect(sent(world)).toHaveLength(1);
  expect(world.simulator.aliveServers()).toHaveLength(1);
}

describe('a create that cannot reach the provider', () => {
  it('is not created when the connection is refused, and is sent once the provider listens again', async () => {
    const { world, gate, closeBeforeCreate } = await gatedWorld('http');
    await world.create(virtualServer('web'));
    await closeBeforeCreate(() => gate.refuse());
    await expectNotCreated(world);
    await gate.admit();
    await expectRecovery(world);
  });

  it('is not created when the TLS handshake fails, and is sent once it succeeds', async () => {
    const tls = selfSigned();
    const before = getCACertificates();
    setDefaultCACertificates([...before, tls.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
    const { world, gate, closeBeforeCreate } = await gatedWorld('https', { tls });
    await world.create(virtualServer('web'));
    await closeBeforeCreate(() => gate.hangUp());
    await expectNotCreated(world);
    expect(gate.hungUp).toBeGreaterThan(0);
    await gate.admit();
    await expectRecovery(world);
  });

  it('claims nothing while the provider is down, and does not need it for a deletion', async () => {
    const world = await createWorld({ flags: ['--base-url=http://127.0.0.1:1'] });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    expect(object.metadata.finalizers).toBeUndefined();
    expect(object.status?.record).toBeUndefined();
    await world.delete('web');
    await world.waitGone('web');
  });

  it("claims nothing while the provider's name has no address", async () => {
    const world = await createWorld({ flags: ['--base-url=http://provider.invalid'] });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    expect(object.metadata.finalizers).toBeUndefined();
    expect(sent(world)).toEqual([]);
  });
});
