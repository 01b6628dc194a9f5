import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../src/base/metrics.ts';
import { WorkQueue } from '../../../src/controller/queue.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

const WORDS: Record<string, string> = {
  workqueue_adds_total: 'added',
  workqueue_retries_total: 'retried',
  workqueue_queue_duration_seconds: 'taken after',
  workqueue_work_duration_seconds: 'done after',
};

function observed() {
  const told: string[] = [];
  const timers = new FakeTimers();
  const metrics = new Metrics();
  metrics.add = ({ name }) => void told.push(WORDS[name] ?? name);
  metrics.observe = ({ name }, _labels, seconds) => void told.push(`${WORDS[name] ?? name} ${seconds * 1000}`);
  return { queue: new WorkQueue({ timers, name: 'thing', metrics }), timers, told };
}

describe('the metrics of a queue', () => {
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
