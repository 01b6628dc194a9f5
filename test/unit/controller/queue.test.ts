import { beforeEach, describe, expect, it } from 'vitest';
import { WorkQueue } from '../../../src/controller/queue.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

describe('WorkQueue', () => {
  let timers: FakeTimers;
  let queue: WorkQueue;

  beforeEach(() => {
    timers = new FakeTimers();
    queue = new WorkQueue({ timers, baseMs: 500, maxMs: 60_000 });
  });

  /** Takes every ready key, in order; this worker keeps the keys. */
  async function take(): Promise<string[]> {
    const keys = [];
    while (queue.length > 0) keys.push((await queue.get()) ?? 'shut down');
    return keys;
  }

  describe('ready keys', () => {
    it('are handed out in the order in which they were added', async () => {
      for (const key of ['c', 'a', 'b']) queue.add(key);
      expect(await take()).toEqual(['c', 'a', 'b']);
    });

    it('are handed out once, however often they were added', async () => {
      for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
      expect(queue.length).toBe(2);
      expect(await take()).toEqual(['a', 'b']);
    });

    it('go to waiting workers in the order in which the workers started to wait', async () => {
      const gets = [queue.get(), queue.get()];
      queue.add('a');
      queue.add('b');
      expect(await Promise.all(gets)).toEqual(['a', 'b']);
      expect(queue.length).toBe(0);
    });
  });

  describe('keys of different priorities', () => {
    const priorities: Record<string, number> = {};
    const priorityOf = (key: string): number => priorities[key] ?? 9;

    beforeEach(() => {
      queue = new WorkQueue({ timers, priorityOf });
      Object.assign(priorities, { a: 2, b: 1, c: 0, d: 1 });
    });

    it('are handed out by priority, then in the order in which they were added', async () => {
      for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
      expect(await take()).toEqual(['c', 'b', 'd', 'a']);
    });

    it('move forward when they are added again and have become more urgent, and never backward', async () => {
      for (const key of ['a', 'b', 'd']) queue.add(key);
      Object.assign(priorities, { a: 0, b: 2 });
      for (const key of ['a', 'b']) queue.add(key);
      expect(queue.length).toBe(3);
      expect(await take()).toEqual(['a', 'b', 'd']);
    });
  });

  describe('a key that a worker has', () => {
    it('is not handed to another worker, and is ready again at done if it was added in between', async () => {
      queue.add('a');
      await queue.get();
      queue.add('a');
      queue.add('a');
      expect(queue.length).toBe(0);
      queue.done('a');
      expect(await take()).toEqual(['a']);
      queue.done('a');
      expect(queue.length).toBe(0);
    });

    it('is not handed to a waiting worker before done', async () => {
      queue.add('a');
      await queue.get();
      const second = queue.get();
      queue.add('a');
      queue.add('b');
      expect(await second).toBe('b');
      const third = queue.get();
      queue.done('a');
      expect(await third).toBe('a');
    });

    it('is not ready when its delay ends before done', async () => {
      queue.add('a');
      await queue.get();
      queue.addAfter('a', 1_000);
      timers.advance(1_000);
      expect(queue.length).toBe(0);
      queue.done('a');
      expect(await take()).toEqual(['a']);
    });

    it('is not affected by a superfluous done', async () => {
      queue.done('a');
      queue.add('a');
      queue.done('a');
      expect(await take()).toEqual(['a']);
    });
  });

  describe('delays', () => {
    it('make a key ready when they end, not before', () => {
      queue.addAfter('a', 1_000);
      timers.advance(999);
      expect(queue.length).toBe(0);
      timers.advance(1);
      expect(queue.length).toBe(1);
      expect(timers.pending).toBe(0);
    });

    it.each([0, -5])('of %i ms make a key ready immediately', (ms) => {
      queue.addAfter('a', ms);
      expect(queue.length).toBe(1);
      expect(timers.pending).toBe(0);
    });

    it('of one key end with the earliest, whichever was added first', async () => {
      queue.addAfter('a', 1_000);
      queue.addAfter('a', 5_000);
      queue.addAfter('b', 5_000);
      queue.addAfter('b', 2_000);
      timers.advance(1_000);
      expect(await take()).toEqual(['a']);
      timers.advance(1_000);
      expect(await take()).toEqual(['b']);
      timers.advance(10_000);
      expect(queue.length).toBe(0);
      queue.done('a');
      queue.done('b');
      expect(queue.length).toBe(0);
      expect(timers.pending).toBe(0);
    });

    it('of a key are dropped when a worker gets it, because the visit sets a new one', async () => {
      queue.addAfter('a', 5_000);
      queue.add('a');
      await queue.get();
      queue.addAfter('a', 60_000);
      queue.done('a');
      timers.advance(59_999);
      expect(queue.length).toBe(0);
      timers.advance(1);
      expect(queue.length).toBe(1);
    });

    it('are not kept for a key that is already due for a visit', async () => {
      queue.add('a');
      queue.addAfter('a', 1_000);
      await queue.get();
      queue.add('a');
      queue.addAfter('a', 1_000);
      queue.done('a');
      expect(await take()).toEqual(['a']);
      queue.done('a');
      timers.advance(1_000);
      expect(queue.length).toBe(0);
    });

    it('beyond the limit of a timer are waited out in full', () => {
      const days = 86_400_000;
      queue.addAfter('a', 60 * days);
      timers.advance(60 * days - 1);
      expect(queue.length).toBe(0);
      timers.advance(1);
      expect(queue.length).toBe(1);
    });

    it('of 10,000 keys end in order with one timer', async () => {
      const delays = Array.from({ length: 10_000 }, (_, index) => ((index * 7_919) % 10_000) + 1);
      for (const ms of delays) queue.addAfter(String(ms), ms);
      expect(timers.pending).toBe(1);
      timers.advance(4_000);
      expect(queue.length).toBe(4_000);
      timers.advance(6_000);
      expect((await take()).map(Number)).toEqual(delays.toSorted((a, b) => a - b));
      expect(timers.pending).toBe(0);
    });

    it('leave nothing behind after being dropped and set many times', async () => {
      for (let visit = 0; visit < 1_000; visit++) {
        queue.add('a');
        await queue.get();
        queue.addAfter('a', 600_000 + visit);
        queue.done('a');
      }
      expect(timers.pending).toBe(1);
      timers.advance(600_998);
      expect(queue.length).toBe(0);
      timers.advance(1);
      expect(await take()).toEqual(['a']);
      expect(timers.pending).toBe(0);
    });
  });

  describe('backoff', () => {
    /** Fails the key once and returns after how many ms it is ready. */
    async function failOnce(): Promise<number> {
      const before = timers.monotonic();
      queue.addRateLimited('a');
      while (queue.length === 0) timers.advance(1);
      queue.done((await queue.get()) ?? '');
      return timers.monotonic() - before;
    }

    it('doubles with each failure of the key up to the maximum', async () => {
      const delays = [];
      for (let failure = 0; failure < 9; failure++) delays.push(await failOnce());
      expect(delays).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
      expect(queue.retries('a')).toBe(9);
    });

    it('starts over after forget', async () => {
      await failOnce();
      await failOnce();
      queue.forget('a');
      expect(queue.retries('a')).toBe(0);
      expect(await failOnce()).toBe(250);
    });

    it('is counted per key', async () => {
      await failOnce();
      expect(queue.retries('b')).toBe(0);
    });

    it('has jitter, so keys that failed together return at different times', () => {
      timers.chance = 0;
      queue.addRateLimited('a');
      timers.chance = 0.9;
      queue.addRateLimited('b');
      timers.advance(250);
      expect(queue.length).toBe(1);
      timers.advance(225);
      expect(queue.length).toBe(2);
      expect(timers.pending).toBe(0);
    });

    it('counts a failure even if the key was added in between and is visited at once', async () => {
      queue.add('a');
      await queue.get();
      queue.add('a');
      queue.addRateLimited('a');
      queue.done('a');
      expect(queue.length).toBe(1);
      expect(queue.retries('a')).toBe(1);
    });

    it('continues after forget for a key that is already waiting', () => {
      queue.addRateLimited('a');
      queue.forget('a');
      timers.advance(250);
      expect(queue.length).toBe(1);
    });
  });

  describe('drop', () => {
    it('forgets a ready key and keeps its neighbors', async () => {
      for (const key of ['a', 'b', 'c']) queue.add(key);
      queue.drop('a');
      queue.drop('c');
      expect(queue.length).toBe(1);
      expect(await take()).toEqual(['b']);
    });

    it('forgets delay and backoff', () => {
      queue.addRateLimited('a');
      queue.drop('a');
      expect(queue.retries('a')).toBe(0);
      timers.advance(60_000);
      expect(queue.length).toBe(0);
    });

    it('keeps a key that was added while a worker had it, and keeps it from other workers until done', async () => {
      queue.add('a');
      await queue.get();
      queue.add('a');
      queue.drop('a');
      queue.add('b');
      expect(await take()).toEqual(['b']);
      queue.done('a');
      expect(await take()).toEqual(['a']);
    });

    it('allows the key to be added again, once and at the end', async () => {
      queue.add('a');
      queue.add('b');
      queue.drop('a');
      queue.add('a');
      expect(await take()).toEqual(['b', 'a']);
      queue.add('a');
      expect(queue.length).toBe(0);
    });

    it('of the last ready key leaves the queue working', async () => {
      queue.add('a');
      queue.drop('a');
      const get = queue.get();
      queue.add('b');
      expect(await get).toBe('b');
    });
  });

  describe('namespaces', () => {
    const WORKERS = 32;

    beforeEach(() => {
      queue = new WorkQueue({ timers, workers: WORKERS });
    });

    /** All workers ask for a key; returns the keys that they get. */
    function work(): string[] {
      const got: string[] = [];
      for (let worker = 0; worker < WORKERS; worker++) void queue.get().then((key) => got.push(key ?? 'shut down'));
      return got;
    }

    it('with 1,000 keys whose visits never end leave workers for other namespaces', async () => {
      const got = work();
      for (let index = 0; index < 1_000; index++) queue.add(`busy/${index}`);
      await Promise.resolve();
      expect(got).toHaveLength(26);
      queue.add('other/web');
      await Promise.resolve();
      expect(got).toContain('other/web');
      expect(queue.length).toBe(974);
      expect(queue.busyFor()).toHaveLength(27);
    });

    it('take turns, so a few keys do not wait for many', async () => {
      for (let index = 0; index < 1_000; index++) queue.add(`busy/${index}`);
      queue.add('other/web');
      expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['busy/0', 'other/web', 'busy/1']);
    });

    it('get the next waiting key of their share when a visit ends', async () => {
      const got = work();
      for (let index = 0; index < 30; index++) queue.add(`busy/${index}`);
      await Promise.resolve();
      expect(got).toHaveLength(26);
      queue.done('busy/3');
      await Promise.resolve();
      expect(got.at(-1)).toBe('busy/26');
    });

    it('get a key that was added while a worker had it again, after the keys that already waited', async () => {
      queue = new WorkQueue({ timers, workers: 1 });
      for (const key of ['a/1', 'a/2', 'b/1']) queue.add(key);
      expect(await queue.get()).toBe('a/1');
      queue.add('a/1');
      for (const key of ['a/1', 'b/1', 'a/2', 'a/1']) {
        queue.done(key);
        if (queue.length > 0) await queue.get();
      }
      expect(queue.length).toBe(0);
      expect(queue.busyFor()).toEqual([]);
    });

    it('cost little with 10,000 keys in 10,000 namespaces', async () => {
      for (let index = 0; index < 10_000; index++) queue.add(`ns${index}/web`);
      for (let index = 0; index < 10_000; index++) {
        expect(await queue.get()).toBe(`ns${index}/web`);
        queue.done(`ns${index}/web`);
      }
      expect(queue.length).toBe(0);
      expect(queue.busyFor()).toEqual([]);
    });
  });

  describe('shutDown', () => {
    it('resolves waiting and future gets with undefined', async () => {
      const waiting = queue.get();
      queue.shutDown();
      expect(await waiting).toBeUndefined();
      expect(await queue.get()).toBeUndefined();
    });

    it('discards ready keys, stops the timer, and ignores added keys', async () => {
      queue.add('a');
      queue.addAfter('b', 1_000);
      queue.shutDown();
      queue.add('c');
      queue.addAfter('d', 0);
      queue.addAfter('e', 1_000);
      queue.addRateLimited('f');
      expect(timers.pending).toBe(0);
      expect(await queue.get()).toBeUndefined();
    });

    it('lets a worker finish its key without making it ready again', async () => {
      queue.add('a');
      await queue.get();
      queue.add('a');
      queue.shutDown();
      queue.done('a');
      expect(await queue.get()).toBeUndefined();
      expect(queue.busyFor()).toEqual([]);
    });
  });
});
