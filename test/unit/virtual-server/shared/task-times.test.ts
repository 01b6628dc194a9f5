import { expect, it } from 'vitest';
import { TaskTimes } from '../../../../src/virtual-server/shared/task-times.ts';

it('keeps the last times of a product, in ascending order', () => {
  const times = new TaskTimes();
  expect(times.of('small')).toEqual([]);
  expect(times.usual('small')).toBeUndefined();
  for (const ms of [30, 10, 20]) times.add('small', ms);
  times.add('large', 99);
  expect(times.of('small')).toEqual([10, 20, 30]);
  expect(times.usual('small')).toBe(20);
  for (let ms = 100; ms < 116; ms += 1) times.add('small', ms);
  expect(times.of('small')).toEqual(Array.from({ length: 16 }, (_, index) => 100 + index));
});
