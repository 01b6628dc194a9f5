import { expect, it } from 'vitest';
import { Turns } from '../../../src/provider/turns.ts';

it('takes one item of each tenant in turn, and the items of a tenant in order', () => {
  const turns = new Turns<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) turns.push(item.charAt(0), item);
  const taken = Array.from({ length: 7 }, () => turns.take());
  expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', undefined]);
});

it('frees the memory of a tenant without items', () => {
  const turns = new Turns<number>();
  for (let tenant = 0; tenant < 1000; tenant++) turns.push(`${tenant}`, tenant);
  expect(turns.isEmpty).toBe(false);
  while (turns.take() !== undefined);
  expect(turns.isEmpty).toBe(true);
});
