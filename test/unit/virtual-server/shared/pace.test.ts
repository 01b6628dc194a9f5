import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { NEW_MEMO } from '../../../../src/virtual-server/decision/memo.ts';
import { Pace } from '../../../../src/virtual-server/shared/pace.ts';
import { PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import { HELD, TASKED, webWith } from '../../../fixtures/decision.ts';

const creating = webWith(TASKED);
const ready = webWith(HELD, { status: { serverStatus: 'running' } });
const paused = webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: 'true' }, status: { serverStatus: 'running' } });
const of = (namespace: string, object: VirtualServer): VirtualServer => ({
  ...object,
  metadata: { ...object.metadata, namespace },
});
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
    memo: () => NEW_MEMO,
    onStretch: (factors) => told.push(factors),
  });
  return { pace: made, told, lists: () => lists };
}

describe('Pace', () => {
  it.each([
    {
      reason: 'a small fleet is not slowed',
      objects: many(100, ready),
      timing: { pollMs: 60_000, pollShareMs: 0, resyncMs: 600_000 },
    },
    {
      reason: 'polls of 36 tasks leave room for other calls if each waits 6 seconds',
      objects: many(36, creating),
      timing: { pollMs: 60_000, pollShareMs: 6_000, resyncMs: 600_000 },
    },
    {
      reason: 'reads of 2,400 Ready servers take twice as long at 2 a second',
      objects: many(2_400, ready),
      timing: { pollMs: 60_000, pollShareMs: 0, resyncMs: 1_200_000 },
    },
    {
      reason: 'polls of 720 tasks take twice as long at 6 a second',
      objects: many(720, creating),
      timing: { pollMs: 120_000, pollShareMs: 120_000, resyncMs: 600_000 },
    },
  ])('stretches intervals to what the bucket allows: $reason', ({ objects, timing }) => {
    const { pace: made, told } = pace(objects);
    // How long another process may be sending a create does not depend on the bucket.
    expect(made.timing('default', 0)).toEqual({ ...timing, takeoverMs: 180_000, absenceMs: 300_000 });
    expect(told).toHaveLength(objects.length <= 100 ? 0 : 1);
  });

  it('counts at intervals instead of at every visit, and reports a change once', () => {
    const objects = many(2_400, ready);
    const { pace: made, told, lists } = pace(objects);
    for (let now = 0; now < 5_000; now += 100) made.timing('default', now);
    expect(lists()).toBe(1);
    made.timing('default', 5_000);
    expect(lists()).toBe(2);
    expect(told).toHaveLength(1);
    objects.length = 100;
    expect(made.timing('default', 10_000).resyncMs).toBe(600_000);
    expect(told).toHaveLength(2);
  });

  it('does not count objects that make no calls', () => {
    const { pace: made } = pace([...many(1_200, ready), ...many(10_000, paused)]);
    expect(made.timing('default', 0)).toMatchObject({ pollMs: 60_000, resyncMs: 600_000 });
    expect(made.factors(0)).toEqual({ poll: 1, resync: 1 });
  });

  it('stretches the intervals of a namespace with many objects, but not those of others', () => {
    // 1,200 reads fit in an interval: the small namespace gets 100, each of the large ones 550.
    const objects = [
      ...many(100, of('small', ready)),
      ...many(1_100, of('large', ready)),
      ...many(5_500, of('larger', ready)),
    ];
    const { pace: made, told } = pace(objects);
    expect(made.timing('small', 0).resyncMs).toBe(600_000);
    expect(made.timing('large', 0).resyncMs).toBe(1_200_000);
    expect(made.timing('larger', 0)).toMatchObject({ pollMs: 60_000, resyncMs: 6_000_000 });
    expect(made.timing('empty', 0).resyncMs).toBe(600_000);
    expect(told).toEqual([{ poll: 1, resync: 10 }]);
    expect(made.factors(0)).toEqual({ poll: 1, resync: 10 });
  });
});
