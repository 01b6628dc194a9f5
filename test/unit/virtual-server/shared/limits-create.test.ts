import { queryObjects } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { CreateLimit } from '../../../../src/virtual-server/shared/limits.ts';

const HOUR_MS = 3_600_000;

/**
 * Runs `work` and returns how many more Maps are alive after it: a limit keeps one for each namespace that it
 * remembers.
 */
function mapsKeptBy(work: () => void): number {
  const before = queryObjects(Map, { format: 'count' });
  work();
  return queryObjects(Map, { format: 'count' }) - before;
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

  it('has no limit at 0, and remembers nothing then', () => {
    const limit = new CreateLimit(0);
    const kept = mapsKeptBy(() => {
      for (let index = 0; index < 1_000; index++) limit.reserve(`ns${index}`, 'u', 0);
    });
    expect(kept).toBe(0);
    for (let index = 0; index < 1_000; index++) expect(reserve(limit, 'ns', `u${index}`, 0)).toBe(0);
  });

  it('forgets namespaces without a create in the last hour', () => {
    const limit = new CreateLimit(60);
    const reserveAll = (): void => {
      for (let index = 0; index < 1_000; index++) limit.reserve(`ns${index}`, 'u', index);
      limit.reserve('ns0', 'u', 1_000);
    };
    expect(mapsKeptBy(reserveAll)).toBe(1_000);
    // What remains: the map of `ns0`, which came last, and the new one.
    expect(mapsKeptBy(() => limit.reserve('new', 'u', HOUR_MS + 999))).toBe(2 - 1_000);
  });
});
