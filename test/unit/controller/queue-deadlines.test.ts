import { describe, expect, it } from 'vitest';
import { Deadlines } from '../../../src/controller/deadlines.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

describe('Deadlines', () => {
  it('free the memory of keys that are deleted or brought forward', () => {
    const timers = new FakeTimers();
    const due: string[] = [];
    const deadlines = new Deadlines(timers, (key) => due.push(key));
    for (let index = 0; index < 100; index++) deadlines.set(`k${index}`, 1_000_000 + index);
    for (let visit = 0; visit < 10_000; visit++) {
      deadlines.delete(`k${visit % 100}`);
      deadlines.set(`k${visit % 100}`, 500_000 - visit);
    }
    expect(deadlines.size).toBe(100);
    expect(deadlines.held).toBeLessThanOrEqual(200);
    timers.advance(500_000);
    expect(due).toEqual(Array.from({ length: 100 }, (_, index) => `k${99 - index}`));
    expect(deadlines).toMatchObject({ size: 0, held: 0 });
  });

  it('fire in order even if a callback sets a new one', () => {
    const timers = new FakeTimers();
    const due: string[] = [];
    const deadlines = new Deadlines(timers, (key) => {
      due.push(`${key} at ${timers.monotonic()}`);
      if (key === 'a') deadlines.set('c', 5);
    });
    deadlines.set('b', 20);
    deadlines.set('a', 10);
    timers.advance(30);
    expect(due).toEqual(['a at 10', 'c at 15', 'b at 20']);
    expect(timers.pending).toBe(0);
  });
});
