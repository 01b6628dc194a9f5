import { describe, expect, it } from 'vitest';
import { noLoopInstruments } from '../../../src/controller/instruments.ts';
import { WorkQueue } from '../../../src/controller/queue.ts';
import { FakeTimers } from '../../gen/timers.ts';

function observed() {
  const told: string[] = [];
  const timers = new FakeTimers();
  const instruments = {
    ...noLoopInstruments,
    keyAdded: () => told.push('added'),
    keyRetried: () => told.push('retried'),
    keyTaken: (ms: number) => told.push(`taken after ${ms}`),
    keyDone: (ms: number) => told.push(`done after ${ms}`),
  };
  return { queue: new WorkQueue({ timers, instruments }), timers, told };
}

describe('queue instruments', () => {
  it('report each key once, how long it waited and how long the worker had it', async () => {
    const { queue, timers, told } = observed();
    queue.add('a');
    queue.add('a');
    timers.advance(30);
    expect(await queue.get()).toBe('a');
    timers.advance(200);
    expect(queue.busyFor()).toEqual([200]);
    queue.done('a');
    expect(queue.busyFor()).toEqual([]);
    expect(told).toEqual(['added', 'taken after 30', 'done after 200']);
  });

  it('measure the wait of a key that was added while a worker had it from that moment', async () => {
    const { queue, timers, told } = observed();
    queue.add('a');
    await queue.get();
    timers.advance(10);
    queue.add('a');
    queue.add('a');
    timers.advance(10);
    queue.done('a');
    timers.advance(5);
    await queue.get();
    expect(told).toEqual(['added', 'taken after 0', 'added', 'done after 20', 'taken after 15']);
  });

  it('report no wait if a worker is free', async () => {
    const { queue, timers, told } = observed();
    const taken = queue.get();
    timers.advance(1_000);
    queue.add('a');
    expect(await taken).toBe('a');
    expect(told).toEqual(['added', 'taken after 0']);
  });

  it('report a retry after a failed visit, but not for a planned one', () => {
    const { queue, told } = observed();
    queue.addAfter('a', 1_000);
    queue.addRateLimited('b');
    expect(told).toEqual(['retried']);
  });
});
