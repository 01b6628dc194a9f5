/** Order and rate of the token bucket, on a fake clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import { Bucket } from '../../../src/provider/bucket.ts';
import type { Priority } from '../../../src/provider/types.ts';

describe('the token bucket', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const bucket = (qps: number) => new Bucket({ qps, timers: { ...realTimers, monotonic: () => Date.now() } });

  /** Names of the waiters in the order in which the bucket served them. */
  function queue(target: Bucket, waiters: [string, Priority][]): string[] {
    const served: string[] = [];
    for (const [name, priority] of waiters) void target.acquire(priority, 'ns').then(() => served.push(name));
    return served;
  }

  it('allows a burst of one second at once, and then one request at a time', async () => {
    const served = queue(
      bucket(5),
      Array.from({ length: 8 }, (_, index) => [`${index}`, 'low']),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(served).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(200);
    expect(served).toHaveLength(6);
    await vi.advanceTimersByTimeAsync(400);
    expect(served).toHaveLength(8);
  });

  it('serves high before normal before low before lowest, and one tenant in order of arrival', async () => {
    const served = queue(bucket(1), [
      ['first', 'low'],
      ['lowest', 'lowest'],
      ['low 1', 'low'],
      ['low 2', 'low'],
      ['normal', 'normal'],
      ['high 1', 'high'],
      ['high 2', 'high'],
    ]);
    await vi.advanceTimersByTimeAsync(6000);
    expect(served).toEqual(['first', 'high 1', 'high 2', 'normal', 'low 1', 'low 2', 'lowest']);
  });

  it('serves a tenant with one request after at most one request of a tenant with a thousand', async () => {
    const target = bucket(10);
    const served: string[] = [];
    for (let index = 0; index < 1000; index++) void target.acquire('high', 'many').then(() => served.push('many'));
    await vi.advanceTimersByTimeAsync(1000);
    const before = served.length;
    void target.acquire('high', 'one').then(() => served.push('one'));
    await vi.advanceTimersByTimeAsync(200);
    expect(served).toHaveLength(before + 2);
    expect(served).toContain('one');
  });

  it('lets tenants take turns, whatever their order of arrival', async () => {
    const target = bucket(1);
    const served: string[] = [];
    const waiters = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'];
    for (const name of waiters) void target.acquire('low', name.charAt(0)).then(() => served.push(name));
    await vi.advanceTimersByTimeAsync(6000);
    expect(served).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });

  it('gives every priority its share under an endless load of higher priorities', async () => {
    const waiters = (['lowest', 'low', 'normal', 'high'] as const).flatMap((priority) =>
      Array.from({ length: 200 }, (): [string, Priority] => [priority, priority]),
    );
    const served = queue(bucket(1), waiters);
    await vi.advanceTimersByTimeAsync(160_000);
    const share = (priority: Priority) => served.slice(1).filter((name) => name === priority).length;
    const shares = (['high', 'normal', 'low', 'lowest'] as const).map(share);
    expect(shares).toEqual([120, 20, 10, 10]);
  });

  it('holds one token even if the rate is below one per second', async () => {
    const served = queue(bucket(0.1), [
      ['now', 'low'],
      ['in ten seconds', 'low'],
    ]);
    await vi.advanceTimersByTimeAsync(9900);
    expect(served).toEqual(['now']);
    await vi.advanceTimersByTimeAsync(200);
    expect(served).toEqual(['now', 'in ten seconds']);
  });

  it('accumulates at most one burst while idle', async () => {
    const target = bucket(2);
    await vi.advanceTimersByTimeAsync(60_000);
    const served = queue(
      target,
      Array.from({ length: 5 }, (_, index) => [`${index}`, 'high']),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(served).toHaveLength(2);
  });

  it('continues when the clock is set back', async () => {
    const target = bucket(1);
    const served = queue(target, [
      ['first', 'low'],
      ['second', 'low'],
    ]);
    vi.setSystemTime(-3_600_000);
    await vi.advanceTimersByTimeAsync(3000);
    expect(served).toEqual(['first', 'second']);
  });

  it('rejects waiting and future callers when it is closed', async () => {
    const target = bucket(1);
    await target.acquire('high', 'ns');
    const waiting = target.acquire('low', 'ns');
    target.close(new Error('closed'));
    await expect(waiting).rejects.toThrow('closed');
    await expect(target.acquire('high', 'ns')).rejects.toThrow('closed');
    expect(vi.getTimerCount()).toBe(0);
  });
});
