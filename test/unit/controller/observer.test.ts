import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/base/logger.ts';
import { Observer } from '../../../src/controller/observer.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { Lease } from '../../../src/kube/kinds.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

const LEASE_MS = 15_000;
const STEP_MS = 500;
const place = { namespace: 'vps', name: 'vps-operator' };
const held = (resourceVersion: string, holderIdentity = 'leader'): Lease => ({
  metadata: { ...place, uid: 'lease', resourceVersion },
  spec: { holderIdentity, leaseDurationSeconds: 15 },
});

async function begun(first: Lease | Error | undefined) {
  const timers = new FakeTimers(0);
  const seen = { lease: first, freed: 0 };
  const get = (): Promise<Lease | undefined> =>
    seen.lease instanceof Error ? Promise.reject(seen.lease) : Promise.resolve(seen.lease);
  const log = createLogger({ level: 'silent' });
  const observer = new Observer({ leases: { get }, lease: place, leaseDurationMs: LEASE_MS, timers, log });
  await observer.start(() => (seen.freed += 1));
  /** Each read of the Lease is answered before the clock advances. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      timers.advance(STEP_MS);
      await new Promise(setImmediate);
    }
  };
  return { observer, seen, pass };
}

describe('an observer', () => {
  it('reports at once where there is no Lease', async () => {
    expect((await begun(undefined)).observer.reports).toBe(true);
  });

  it('reports nothing in a rollout, between two holders', async () => {
    const { observer, seen, pass } = await begun(held('1', ''));
    expect(observer.reports).toBe(false);
    await pass(LEASE_MS / 2);
    seen.lease = held('2', 'successor');
    await pass(LEASE_MS / 2);
    seen.lease = held('3', '');
    await pass(LEASE_MS / 2);
    expect(observer.reports).toBe(false);
    expect(seen.freed).toBe(0);
    await pass(LEASE_MS);
    expect(observer.reports).toBe(true);
  });

  it('reports nothing while the Lease is renewed, and everything once no renewal was seen for its duration', async () => {
    const { observer, seen, pass } = await begun(held('1'));
    for (let version = 2; version < 12; version++) {
      expect(observer.reports).toBe(false);
      seen.lease = held(String(version));
      await pass(LEASE_MS / 2);
    }
    await pass(LEASE_MS * 2);
    expect(observer.reports).toBe(true);
    expect(seen.freed).toBe(1);
  });

  it('stops reporting when an operator takes the Lease', async () => {
    const { observer, seen, pass } = await begun(undefined);
    seen.lease = held('1');
    await pass(LEASE_MS / 3);
    expect(observer.reports).toBe(false);
  });

  it('reports nothing while it cannot read the Lease', async () => {
    const { observer, seen, pass } = await begun(new KubeError('Unreachable', 'no answer'));
    expect(observer.reports).toBe(false);
    seen.lease = undefined;
    await pass(LEASE_MS / 3);
    expect(observer.reports).toBe(true);
  });

  it('reports nothing after its end', async () => {
    const { observer, pass } = await begun(undefined);
    observer.stop();
    await pass(LEASE_MS);
    expect(observer.reports).toBe(false);
  });

  it('counts objects by what it withholds', async () => {
    const { observer } = await begun(undefined);
    observer.withholds('VirtualServer', 'default/web', 'order');
    observer.withholds('VirtualServer', 'default/db', 'order');
    observer.withholds('VirtualServerSet', 'default/web', 'create', 'create', 'delete');
    observer.withholds('VirtualServer', 'default/db');
    expect(observer.withheld()).toMatchObject({ order: 1, create: 1, delete: 1, cancel: 0 });
  });
});
