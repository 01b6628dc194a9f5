import { describe, expect, it } from 'vitest';
import { LeaderElection, type LeaderElectionOptions } from '../../../src/controller/leader-election.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { NewObject } from '../../../src/kube/client.ts';
import type { Lease } from '../../../src/kube/kinds.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

type Leases = LeaderElectionOptions['leases'];

const PLACE = { namespace: 'vps', name: 'vps-operator' };

/** A Lease as the API server stores it: every write requires the newest version. */
class OneLease implements Leases {
  stored: Lease | undefined;
  reachable = true;
  /** Reads or writes take effect immediately, but their responses arrive when this resolves. */
  slow: { calls: 'read' | 'write'; answered: Promise<unknown> } | undefined;
  #version = 0;

  get(): Promise<Lease | undefined> {
    return this.#answer('read', () => this.stored);
  }

  create(lease: NewObject<Lease>): Promise<Lease> {
    return this.#answer('write', () => {
      if (this.stored !== undefined) throw new KubeError('Conflict', 'exists');
      return this.#store(lease);
    });
  }

  replace(lease: Lease): Promise<Lease> {
    return this.#answer('write', () => {
      if (this.stored?.metadata.resourceVersion !== lease.metadata.resourceVersion)
        throw new KubeError('Conflict', 'stale');
      return this.#store(lease);
    });
  }

  #store({ metadata: { annotations }, spec }: Pick<NewObject<Lease>, 'metadata' | 'spec'>): Lease {
    const version = { uid: 'lease', resourceVersion: String(++this.#version) };
    const metadata = { ...PLACE, ...version, ...(annotations && { annotations }) };
    return (this.stored = { metadata, spec: spec ?? {} });
  }

  async #answer<T>(calls: 'read' | 'write', run: () => T): Promise<T> {
    await Promise.resolve();
    if (!this.reachable) throw new KubeError('Unreachable', 'no answer');
    const answer = run();
    if (this.slow?.calls === calls) await this.slow.answered;
    return answer;
  }
}

const log = createLogger({ level: 'silent' });

function election(identity: string, leases: Leases, timers: FakeTimers) {
  const state = { leads: false, lost: 0 };
  const elector = new LeaderElection({
    leases,
    lease: PLACE,
    identity,
    leaseDurationMs: 15_000,
    annotations: { version: `of ${identity}` },
    timers,
    log,
    onLost: () => state.lost++,
  });
  void elector.acquire().then(() => (state.leads = true));
  return { elector, state };
}

function stored({ stored: lease }: OneLease): Lease {
  if (lease === undefined) throw new Error('no Lease');
  return lease;
}

/** Advances the clocks in small steps and runs the effects of each step. */
async function pass(ms: number, ...clocks: FakeTimers[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    for (const clock of clocks) clock.advance(250);
    await new Promise(setImmediate);
  }
}

describe('leader election', () => {
  it('takes a free lease, renews it, and keeps other processes waiting', async () => {
    const [leases, clock] = [new OneLease(), new FakeTimers()];
    const a = election('a', leases, clock);
    await pass(1_000, clock);
    const b = election('b', leases, clock);
    await pass(300_000, clock);
    expect([a.state.leads, a.elector.held(), b.state.leads, b.elector.held()]).toEqual([true, true, false, false]);
    expect(leases.stored).toMatchObject({
      metadata: { annotations: { version: 'of a' } },
      spec: { holderIdentity: 'a', leaseTransitions: 0, leaseDurationSeconds: 15 },
    });
  });

  it('takes over when the holder has not renewed for the lease duration, but not before', async () => {
    const [leases, clockOfA, clockOfB] = [new OneLease(), new FakeTimers(), new FakeTimers(5_000_000)];
    election('a', leases, clockOfA);
    await pass(1_000, clockOfA);
    const b = election('b', leases, clockOfB);
    // A is suspended: its clock stops while B's continues. B counts from the moment it first saw the lease.
    await pass(14_500, clockOfB);
    expect(b.state.leads).toBe(false);
    await pass(5_000, clockOfB);
    expect([b.elector.held(), b.elector.vacantMs]).toEqual([true, 15_000]);
    expect(leases.stored).toMatchObject({
      metadata: { annotations: { version: 'of b' } },
      spec: { holderIdentity: 'b', leaseTransitions: 1 },
    });
  });

  it.each<[string, (leases: OneLease) => void]>([
    ['deleted', (leases) => (leases.stored = undefined)],
    [
      'emptied',
      (leases) => (leases.stored = { ...stored(leases), spec: { ...stored(leases).spec, holderIdentity: '' } }),
    ],
  ])('does not know of a time without a leader if the Lease was %s', async (_how, change) => {
    const [leases, clockOfA, clockOfB] = [new OneLease(), new FakeTimers(), new FakeTimers()];
    const a = election('a', leases, clockOfA);
    await pass(1_000, clockOfA);
    change(leases);
    const b = election('b', leases, clockOfB);
    await pass(1_000, clockOfB);
    expect([a.elector.held(), b.elector.held(), b.elector.vacantMs]).toEqual([true, true, 0]);
  });

  it('leads only with a lease that it has just written, however slow the first responses were', async () => {
    for (const calls of ['read', 'write'] as const) {
      const [leases, clock] = [new OneLease(), new FakeTimers()];
      const { promise: answered, resolve } = Promise.withResolvers<undefined>();
      leases.slow = { calls, answered };
      const a = election('a', leases, clock);
      await pass(11_000, clock);
      expect([a.state.leads, a.elector.held()]).toEqual([false, false]);
      leases.slow = undefined;
      resolve(undefined);
      await pass(5_000, clock);
      expect([a.state, a.elector.held()], calls).toEqual([{ leads: true, lost: 0 }, true]);
    }
  });

  it('gives up leadership before another process may take over, if it cannot renew', async () => {
    const [leases, clock] = [new OneLease(), new FakeTimers()];
    const a = election('a', leases, clock);
    await pass(5_000, clock);
    leases.reachable = false;
    await pass(12_500, clock);
    expect(a.elector.held()).toBe(false);
    expect(a.state.lost).toBe(1);
  });

  it('gives up leadership at once when it resumes after its lease expired, whichever clock shows it', async () => {
    for (const jump of ['wall', 'monotonic'] as const) {
      const [leases, clock] = [new OneLease(), new FakeTimers()];
      const a = election('a', leases, clock);
      await pass(1_000, clock);
      expect(a.elector.held()).toBe(true);
      const original = jump === 'wall' ? clock.now.bind(clock) : clock.monotonic.bind(clock);
      Object.assign(clock, { [jump === 'wall' ? 'now' : 'monotonic']: () => original() + 20_000 });
      expect(a.elector.held()).toBe(false);
    }
  });

  it('waits for a holder that renews its lease, however often its own time is set forward', async () => {
    const [leases, clockOfA, clockOfB] = [new OneLease(), new FakeTimers(), new FakeTimers()];
    // B reads more often than A renews.
    clockOfA.chance = 1;
    const wall = clockOfB.now.bind(clockOfB);
    Object.assign(clockOfB, { now: () => wall() + 20 * clockOfB.monotonic() });
    const a = election('a', leases, clockOfA);
    await pass(1_000, clockOfA);
    const b = election('b', leases, clockOfB);
    await pass(60_000, clockOfA, clockOfB);
    expect([a.elector.held(), a.state.lost, b.state.leads]).toEqual([true, 0, false]);
  });

  it('loses leadership when another process holds the lease', async () => {
    const [leases, clock] = [new OneLease(), new FakeTimers()];
    const a = election('a', leases, clock);
    await pass(1_000, clock);
    const stolen = leases.stored;
    if (stolen === undefined) throw new Error('the lease was not taken');
    await leases.replace({ ...stolen, spec: { ...stolen.spec, holderIdentity: 'b' } });
    await pass(5_000, clock);
    expect(a.state.lost).toBe(1);
    expect(a.elector.held()).toBe(false);
    expect(leases.stored?.spec?.holderIdentity).toBe('b');
  });

  it('releases the lease when it ends, so the next process need not wait', async () => {
    const [leases, clock] = [new OneLease(), new FakeTimers()];
    const a = election('a', leases, clock);
    await pass(1_000, clock);
    const b = election('b', leases, clock);
    await pass(1_000, clock);
    await a.elector.end();
    expect(a.elector.held()).toBe(false);
    await pass(3_000, clock);
    expect(b.elector.held()).toBe(true);
    expect(a.state.lost).toBe(0);
  });
});
