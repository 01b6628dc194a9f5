import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Deadline, until } from '../../../src/base/deadline.ts';

const LATE = new Error('late');
const STOPPED = new Error('stopped');

describe('a deadline', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('ends after its time, and tells everybody who still listens', () => {
    const deadline = new Deadline(1_000, () => LATE);
    const heard: string[] = [];
    deadline.listen(({ message }) => heard.push(`first: ${message}`));
    deadline.listen(({ message }) => heard.push(`second: ${message}`))();
    vi.advanceTimersByTime(999);
    expect([deadline.reason, heard]).toEqual([undefined, []]);
    vi.advanceTimersByTime(1);
    expect([deadline.reason, heard]).toEqual([LATE, ['first: late']]);
  });

  it('ends only once', () => {
    const deadline = new Deadline(1_000, () => LATE);
    const heard: Error[] = [];
    deadline.listen((reason) => heard.push(reason));
    deadline.end(STOPPED);
    vi.advanceTimersByTime(1_000);
    expect([deadline.reason, heard]).toEqual([STOPPED, [STOPPED]]);
  });

  it('ends with an outer signal, also with one that has fired before', () => {
    const outer = new AbortController();
    const deadline = new Deadline(1_000, () => LATE, outer.signal);
    outer.abort(STOPPED);
    expect(deadline.reason).toBe(STOPPED);
    expect(new Deadline(1_000, () => LATE, outer.signal).reason).toBe(STOPPED);
  });

  it('does not end after the work', () => {
    const outer = new AbortController();
    const deadline = new Deadline(1_000, () => LATE, outer.signal);
    deadline.clear();
    outer.abort(STOPPED);
    vi.advanceTimersByTime(1_000);
    expect(deadline.reason).toBeUndefined();
  });

  it('is a signal too, before the end and after it', () => {
    const deadline = new Deadline(1_000, () => LATE);
    const { signal } = deadline;
    expect(deadline.signal).toBe(signal);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(signal.reason).toBe(LATE);
    const ended = new Deadline(1_000, () => LATE);
    ended.end(STOPPED);
    expect(ended.signal.reason).toBe(STOPPED);
  });

  it.each(['a deadline', 'a signal'])('bounds the wait for a promise (%s)', async (what) => {
    const deadline = new Deadline(1_000, () => LATE);
    const end = what === 'a signal' ? deadline.signal : deadline;
    expect(await until(end, Promise.resolve(1))).toBe(1);
    const never = until(end, new Promise(() => undefined));
    vi.advanceTimersByTime(1_000);
    await expect(never).rejects.toBe(LATE);
    await expect(until(end, new Promise(() => undefined))).rejects.toBe(LATE);
  });
});

it('ends at once if its time has passed, and Node warns of nothing', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error): unknown => warnings.push(warning);
  process.on('warning', warned);
  const deadline = new Deadline(-1_000, () => LATE);
  await expect(until(deadline, new Promise(() => undefined))).rejects.toBe(LATE);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});
