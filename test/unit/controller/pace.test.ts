import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { Pace } from '../../../src/controller/pace.ts';
import { web } from '../../gen/decision.ts';

const creating = web({ status: { task: { id: 1 } } });
const ready = web({ status: { serverStatus: 'running' } });
const many = (count: number, object: VirtualServer): VirtualServer[] => Array.from({ length: count }, () => object);

function pace(objects: VirtualServer[]) {
  const told: unknown[] = [];
  let lists = 0;
  const made = new Pace({
    pollMs: 60_000,
    resyncMs: 600_000,
    takeoverMs: 180_000,
    absenceMs: 300_000,
    qps: 10,
    list: () => {
      lists += 1;
      return objects;
    },
    onStretch: (factors) => told.push(factors),
  });
  return { pace: made, told, lists: () => lists };
}

describe('Pace', () => {
  it.each([
    { reason: 'a small fleet is not slowed', objects: many(100, ready), timing: { pollMs: 60_000, resyncMs: 600_000 } },
    {
      reason: 'reads of 2,400 Ready servers take twice as long at 2 a second',
      objects: many(2_400, ready),
      timing: { pollMs: 60_000, resyncMs: 1_200_000 },
    },
    {
      reason: 'polls of 720 tasks take twice as long at 6 a second',
      objects: many(720, creating),
      timing: { pollMs: 120_000, resyncMs: 600_000 },
    },
  ])('stretches intervals to what the bucket allows: $reason', ({ objects, timing }) => {
    const { pace: made, told } = pace(objects);
    // How long another process may be sending a create has nothing to do with the bucket.
    expect(made.timing(0)).toEqual({ ...timing, takeoverMs: 180_000, absenceMs: 300_000 });
    expect(told).toHaveLength(objects.length === 100 ? 0 : 1);
  });

  it('counts now and then instead of at every visit, and tells of a change once', () => {
    const objects = many(2_400, ready);
    const { pace: made, told, lists } = pace(objects);
    for (let now = 0; now < 5_000; now += 100) made.timing(now);
    expect(lists()).toBe(1);
    made.timing(5_000);
    expect(lists()).toBe(2);
    expect(told).toHaveLength(1);
    objects.length = 100;
    expect(made.timing(10_000).resyncMs).toBe(600_000);
    expect(told).toHaveLength(2);
  });
});
