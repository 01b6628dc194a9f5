import { describe, expect, it } from 'vitest';
import { NEW_MEMO, type Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { FLOOR_MS, nextPoll, type NextPoll } from '../../../../src/virtual-server/decision/next-poll.ts';
import { NOW, TASKED, facts } from '../../../fixtures/decision.ts';

const POLL_MS = 60_000;
type Text = (elapsedMs: number) => string | undefined;

/** The times of all polls of a task that takes `durationMs`, if it says `text`. */
function polls(durationMs: number, text: Text, options: { taskTimes?: number[]; pollShareMs?: number } = {}): number[] {
  const { taskTimes = [], pollShareMs = 0 } = options;
  const record = { ...TASKED, attemptedAt: new Date(NOW).toISOString() };
  const at: number[] = [];
  let memo: Memo = NEW_MEMO;
  for (let elapsed = 100; ;) {
    at.push(elapsed);
    if (elapsed >= durationMs) return at;
    const now = facts({ now: NOW + elapsed });
    const next = nextPoll(record, text(elapsed), {
      ...now,
      memo,
      taskTimes,
      timing: { ...now.timing, pollMs: POLL_MS, pollShareMs },
      jitter: 0.5,
    });
    expect(next.afterMs).toBeGreaterThanOrEqual(Math.min(FLOOR_MS, POLL_MS) * 0.9);
    expect(next.afterMs).toBeLessThanOrEqual(POLL_MS);
    memo = { ...memo, polled: next.polled };
    elapsed += next.afterMs;
  }
}

/** As documented: a wait with its seconds, then an installation with its percentage. */
const twoSteps =
  (durationMs: number): Text =>
  (elapsed) => {
    const wait = durationMs / 3;
    if (elapsed < wait)
      return `Waiting for DNS and DHCP updates, ${Math.ceil((wait - elapsed) / 1000)} seconds remaining`;
    return `Installing OS, ${Math.min(99, Math.floor((100 * (elapsed - wait)) / (durationMs - wait)))}% complete`;
  };
const late = (durationMs: number, times: number[]): number => (times.at(-1) ?? Infinity) - durationMs;

describe('a task that tells how far it is', () => {
  it.each([4, 9, 20, 37, 60, 90, 130, 300])('is polled right after its end, with few polls (%i s)', (seconds) => {
    const durationMs = seconds * 1000;
    const times = polls(durationMs, twoSteps(durationMs));
    expect(late(durationMs, times)).toBeLessThan(2_500);
    expect(times.length).toBeLessThanOrEqual(seconds > 200 ? 9 : 6);
  });

  it.each([9, 30, 60, 130])('by one percentage from the start (%i s)', (seconds) => {
    const durationMs = seconds * 1000;
    const times = polls(durationMs, (elapsed) => `${Math.floor((100 * elapsed) / durationMs)} %`);
    expect(late(durationMs, times)).toBeLessThan(7_000);
    expect(times.length).toBeLessThanOrEqual(7);
  });

  it('is polled again soon if it needs a little longer than it said', () => {
    const times = polls(12_000, (elapsed) => `${Math.max(1, Math.round((10_000 - elapsed) / 1000))} seconds remaining`);
    expect(times).toHaveLength(3);
    expect(late(12_000, times)).toBeLessThan(1_000);
  });
});

describe('a text that lies', () => {
  const HOUR = 60 * 60_000;
  const honest = HOUR / POLL_MS;
  const alternately = (one: string, other: string): Text => {
    let polled = 0;
    return () => (polled++ % 2 === 0 ? one : other);
  };
  it.each<[string, Text, number]>([
    ['always 0 seconds', () => '0 seconds remaining', 8],
    ['always 99 %', () => '99 % complete', 8],
    ['a billion seconds', () => '999999999 seconds remaining', 8],
    ['always 100 %', () => '100%', 8],
    ['a percentage that falls', (elapsed) => `${99 - Math.floor(elapsed / 60_000)}%`, 8],
    ['seconds that grow', (elapsed) => `${Math.floor(elapsed / 1000)} seconds remaining`, 8],
    ['now seconds, now a percentage', alternately('1 second remaining', '99 %'), 24],
    ['a percentage that jumps up and down', (elapsed) => `${elapsed % 7 === 0 ? 10 : 90}%`, 8],
  ])('costs few polls more than the interval: %s', (_what, text, more) => {
    expect(polls(HOUR, text).length).toBeLessThanOrEqual(honest * 1.1 + more);
  });
});

describe('a task without a useful text', () => {
  it('is polled after as long again as it has run, if nothing is known', () => {
    const times = polls(130_000, () => 'Working');
    expect(times.length).toBeLessThanOrEqual(9);
    expect(times[1]).toBeLessThan(2_200);
  });

  it('is polled when tasks of its product have ended before', () => {
    const taskTimes = [58_000, 59_000, 60_000, 60_500, 61_000];
    expect(polls(60_200, () => undefined, { taskTimes })).toHaveLength(3);
    const wide = Array.from({ length: 16 }, (_, index) => 9_000 + index * 8_000);
    expect(polls(100_000, () => undefined, { taskTimes: wide })).toEqual([
      100, 25_500, 49_500, 73_500, 97_500, 121_500,
    ]);
  });

  it('is polled on if it takes longer than any before', () => {
    const times = polls(130_000, () => undefined, { taskTimes: [5_000, 6_000] });
    expect(times.length).toBeLessThanOrEqual(14);
  });
});

it('leaves room for other calls: polls of one task are as far apart as all tasks together need', () => {
  const times = polls(130_000, twoSteps(130_000), { pollShareMs: 30_000 });
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0.9 * 30_000);
});

describe('when the task is expected to end', () => {
  const record = { ...TASKED, attemptedAt: new Date(NOW - 10_000).toISOString() };
  const ends = (text: string, taskTimes: number[] = [], memo = NEW_MEMO): NextPoll['endsInMs'] =>
    nextPoll(record, text, facts({ taskTimes, memo })).endsInMs;

  it.each([
    ['20 seconds remaining', [], 20_000],
    ['20 seconds remaining', [60_000], 50_000],
    ['Working', [], undefined],
    ['Working', [60_000], 50_000],
    ['Working', [5_000], undefined],
    ['7 %', [60_000], 50_000],
    ['999999999 seconds remaining', [], undefined],
  ])('"%s", with %j ms before', (text, taskTimes, expected) => {
    expect(ends(text, taskTimes)).toBe(expected);
  });

  it('follows from two percentages', () => {
    const progress = { percent: 10 };
    const polled = { task: 7, since: -10_000, at: -10_000, progress, base: { percent: 10, at: -10_000 }, stale: 0 };
    expect(ends('20 %', [], { ...NEW_MEMO, polled })).toBe(80_000);
    // The answers of another task do not count.
    expect(ends('20 %', [], { ...NEW_MEMO, polled: { ...polled, task: 8 } })).toBeUndefined();
    // A percentage that stands still keeps its first measurement.
    expect(ends('20 %', [], { ...NEW_MEMO, polled: { ...polled, progress: { percent: 20 } } })).toBe(80_000);
    expect(ends('19 %', [], { ...NEW_MEMO, polled: { ...polled, progress: { percent: 20 } } })).toBeUndefined();
  });

  it('is the median of the times that are still possible', () => {
    expect(ends('Working', [5_000, 20_000, 40_000, 60_000, 80_000])).toBe(30_000);
  });
});

describe('the pause before the next poll', () => {
  const after = (text: string, changes: Parameters<typeof facts>[0], attemptedAt?: string): number =>
    nextPoll({ ...TASKED, attemptedAt }, text, facts({ jitter: 1, ...changes })).afterMs;
  const ago = (ms: number): string => new Date(NOW - ms).toISOString();

  it('ends half a second after the end that two percentages foretell', () => {
    const polled = { task: 7, since: -10_000, at: -10_000, progress: {}, base: { percent: 10, at: -10_000 }, stale: 0 };
    const memo = { ...NEW_MEMO, polled: { ...polled, progress: { percent: 10 } } };
    expect(after('80 %', { memo }, ago(10_000))).toBe(Math.round(20_000 / 7 + 1_000 / 14 + 500));
  });

  it('is a third of the time so far once the task takes longer than any before', () => {
    expect(after('Working', { taskTimes: [5_000] }, ago(30_000))).toBe(10_000);
    expect(after('Working', {}, ago(30_000))).toBe(30_000);
  });

  it('counts from the first answer if the clock was set back, or the record has no time', () => {
    const memo = { ...NEW_MEMO, polled: { task: 7, since: -20_000, at: -20_000, progress: {}, stale: 0 } };
    expect(after('Working', { memo }, ago(-3_600_000))).toBe(20_000);
    expect(after('Working', { memo })).toBe(20_000);
  });
});
