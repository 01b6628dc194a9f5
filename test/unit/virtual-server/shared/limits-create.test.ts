import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openJournal } from '../../../../src/virtual-server/journal/journal.ts';
import { CreateLimit, pastOrders } from '../../../../src/virtual-server/shared/limits.ts';
import { ATTEMPTED, web, webWith } from '../../../fixtures/decision.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 0, 2);

/** Resolves to how many Maps are alive of those made since the call: a limit keeps one for each namespace that it remembers. */
function countMaps(): () => Promise<number> {
  const made: WeakRef<object>[] = [];
  class Counted<K, V> extends Map<K, V> {
    constructor(entries?: Iterable<[K, V]>) {
      super(entries);
      made.push(new WeakRef(this));
    }
  }
  vi.stubGlobal('Map', Counted);
  onTestFinished(() => void vi.unstubAllGlobals());
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return async () => {
    // A WeakRef keeps its target until the turn ends that made or read it.
    await nextTurn();
    collect();
    return made.filter((ref) => ref.deref() !== undefined).length;
  };
}

/** Reserves a create; returns the ms until the next is free, 0 if this one was. */
function reserve(limit: CreateLimit, namespace: string, uid: string, now: number): number {
  const reserved = limit.reserve(namespace, uid, now);
  return 'freeInMs' in reserved ? reserved.freeInMs : 0;
}

describe('CreateLimit', () => {
  it('allows a number of creates per hour in each namespace, and tells when the next may come', () => {
    const limit = new CreateLimit(2);
    expect(reserve(limit, 'ns', 'u1', 0)).toBe(0);
    expect(reserve(limit, 'ns', 'u2', 1_000)).toBe(0);
    expect(reserve(limit, 'ns', 'u3', 2_000)).toBe(HOUR_MS - 2_000);
    expect(reserve(limit, 'other', 'u4', 2_000)).toBe(0);
    expect(reserve(limit, 'ns', 'u3', HOUR_MS)).toBe(0);
    expect(reserve(limit, 'ns', 'u5', HOUR_MS)).toBe(1_000);
  });

  it('counts an object that asks again once', () => {
    const limit = new CreateLimit(1);
    expect(reserve(limit, 'ns', 'u1', 0)).toBe(0);
    expect(reserve(limit, 'ns', 'u1', 10)).toBe(0);
    expect(reserve(limit, 'ns', 'u2', 20)).toBe(HOUR_MS - 10);
  });

  it('does not count a create that made no server', () => {
    const limit = new CreateLimit(1);
    const reserved = limit.reserve('ns', 'u1', 0);
    if ('release' in reserved) reserved.release();
    expect(reserve(limit, 'ns', 'u2', 1)).toBe(0);
  });

  it('counts each order that an object sends', () => {
    const limit = new CreateLimit(2);
    for (const [at, attempt] of ['a1', 'a2'].entries()) {
      const place = limit.reserve('ns', 'u1', at);
      if ('sent' in place) place.sent(attempt, at + 10);
    }
    expect(reserve(limit, 'ns', 'u1', 20)).toBe(HOUR_MS - 10);
    expect(reserve(limit, 'ns', 'u2', HOUR_MS + 10)).toBe(0);
  });

  it('does not count a sent order that made no server', () => {
    const limit = new CreateLimit(1);
    const place = limit.reserve('ns', 'u1', 0);
    if ('sent' in place) {
      place.sent('a1', 10);
      place.release();
    }
    expect(reserve(limit, 'ns', 'u2', 20)).toBe(0);
  });

  it('recalls the orders of earlier processes within the last hour, each once', () => {
    const limit = new CreateLimit(2);
    const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();
    const orders = [
      { namespace: 'ns', attempt: 'a3', attemptedAt: at(-10) },
      { namespace: 'ns', attempt: 'a1', attemptedAt: at(-60) },
      { namespace: 'ns', attempt: 'a2', attemptedAt: at(-50) },
      { namespace: 'ns', attempt: 'a2', attemptedAt: at(-50) },
      // By a clock that is ahead; and by one that is wrong.
      { namespace: 'other', attempt: 'b1', attemptedAt: at(5) },
      { namespace: 'other', attempt: 'b2', attemptedAt: at(60) },
      { namespace: 'other', attempt: 'b3', attemptedAt: undefined },
    ];
    limit.recall(orders, { now: NOW, monotonic: 1_000 });
    expect(reserve(limit, 'ns', 'u1', 1_000)).toBe(10 * 60_000);
    expect(reserve(limit, 'ns', 'u1', 1_000 + 10 * 60_000)).toBe(0);
    expect(reserve(limit, 'other', 'u1', 1_000)).toBe(0);
    expect(reserve(limit, 'other', 'u2', 1_000)).toBe(HOUR_MS);
  });

  it('tells when the next may come if earlier processes have ordered more than the limit allows', () => {
    const limit = new CreateLimit(1);
    const orders = [50, 40, 30].map((minutes) => ({
      namespace: 'ns',
      attempt: `a${minutes}`,
      attemptedAt: new Date(NOW - minutes * 60_000).toISOString(),
    }));
    limit.recall(orders, { now: NOW, monotonic: 0 });
    expect(reserve(limit, 'ns', 'u1', 0)).toBe(30 * 60_000);
  });

  it('has no limit at 0, and remembers nothing then', async () => {
    const limit = new CreateLimit(0);
    const kept = countMaps();
    for (let index = 0; index < 1_000; index++) limit.reserve(`ns${index}`, 'u', 0);
    expect(await kept()).toBe(0);
    for (let index = 0; index < 1_000; index++) expect(reserve(limit, 'ns', `u${index}`, 0)).toBe(0);
  });

  it('forgets namespaces without a create in the last hour', async () => {
    const limit = new CreateLimit(60);
    const kept = countMaps();
    for (let index = 0; index < 1_000; index++) limit.reserve(`ns${index}`, 'u', index);
    limit.reserve('ns0', 'u', 1_000);
    expect(await kept()).toBe(1_000);
    limit.reserve('new', 'u', HOUR_MS + 999);
    // The map of `ns0`, which came last, and the new one.
    expect(await kept()).toBe(2);
  });
});

describe('pastOrders', () => {
  const [ownAt, mintedAt] = ['2026-01-01T23:30:00Z', '2026-01-01T23:40:00Z'];

  it('finds the orders in records, also those that failed or left an orphan, but of no other object', () => {
    const orphans = [{ attempt: 'a1', attemptedAt: ownAt }, { task: 7 }];
    const failed = [{ attempt: 'a2', attemptedAt: ownAt, identifier: 'srv2' }];
    const held = webWith({ ...ATTEMPTED, attempt: 'a3', attemptedAt: ownAt, orphans, failed });
    const copied = { ...held, metadata: { ...held.metadata, uid: 'other', name: 'copy' } };
    const journal = { uids: () => [], entries: () => [], ended: [] };
    const found = ['a3', 'a1', 'a2'].map((attempt) => ({ namespace: 'default', attempt, attemptedAt: ownAt }));
    expect(pastOrders([held, copied, web()], journal)).toEqual(found);
  });

  it('finds those of objects that are gone in the journal, and counts none that was not sent', async () => {
    const journal = await openJournal({ dir: undefined });
    for (const attempt of ['sent', 'unsent'])
      await journal.minted({ namespace: 'ns', name: 'web', uid: 'gone', attempt, account: 'acc', mintedAt });
    await journal.sending('gone', 'sent');
    const ended = [{ namespace: 'ns', attempt: 'ended', mintedAt }];
    const claimed = webWith({ ...ATTEMPTED, attempt: 'unsent', attemptedAt: ownAt });
    const noted = { uids: () => journal.uids(), entries: (uid: string) => journal.entries(uid), ended };
    expect(pastOrders([claimed], noted)).toMatchObject([
      { namespace: 'ns', attempt: 'sent', attemptedAt: mintedAt },
      { namespace: 'ns', attempt: 'ended', attemptedAt: mintedAt },
    ]);
  });
});
