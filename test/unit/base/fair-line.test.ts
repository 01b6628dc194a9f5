import { describe, expect, it } from 'vitest';
import { FairLine } from '../../../src/base/fair-line.ts';

function fill<T>(line: FairLine<T>): T[] {
  const taken: T[] = [];
  for (let next = line.take(); next !== undefined; next = line.take()) taken.push(next.item);
  return taken;
}

describe('FairLine', () => {
  it('lets namespaces take turns, first in, first out within each', () => {
    const line = new FairLine<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) line.join(item.charAt(0), item);
    expect(fill(line)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  it('takes the most urgent items of a namespace first, first in, first out among equals', () => {
    const line = new FairLine<string>();
    for (const [item, priority] of [
      ['a3', 2],
      ['a1', 0],
      ['a4', 2],
      ['b9', 9],
      ['a2', 0],
    ] as const)
      line.join(item.charAt(0), item, priority);
    expect(fill(line)).toEqual(['a1', 'b9', 'a2', 'a3', 'a4']);
  });

  it('gives every fourth turn of a namespace to the oldest item of the other priorities', () => {
    const line = new FairLine<string>();
    for (const [item, priority] of [
      ['resync', 3],
      ['order', 2],
      ['later', 3],
    ] as const)
      line.join('a', item, priority);
    for (let item = 0; item < 60; item++) line.join('a', 'urgent');
    const taken = Array.from({ length: 20 }, () => line.take()?.item);
    const others = taken.flatMap((item, index) => (item === 'urgent' ? [] : [[index, item]]));
    expect(others).toEqual([
      [3, 'resync'],
      [7, 'order'],
      [11, 'later'],
    ]);
  });

  it.each([0, 1, 2])('lets item %i of three of one priority leave, and keeps the others in order', (index) => {
    const line = new FairLine<string>();
    const waiting = ['a1', 'a2', 'a3'].map((item) => line.join('a', item, 1));
    line.join('a', 'a4', 2);
    const [left] = waiting.splice(index, 1);
    if (left !== undefined) line.leave(left);
    expect(fill(line)).toEqual([...waiting.map(({ item }) => item), 'a4']);
    expect(line.namespaces).toBe(0);
  });

  it('skips an item that has left', () => {
    const line = new FairLine<string>();
    const [a1, a2, a3] = ['a1', 'a2', 'a3'].map((item) => line.join('a', item));
    line.join('b', 'b1');
    if (a1 === undefined || a2 === undefined || a3 === undefined) throw new Error('nothing joined');
    line.leave(a2);
    expect(fill(line)).toEqual(['a1', 'b1', 'a3']);
    expect(line.length).toBe(0);
  });

  it('passes over a namespace whose next item may not go, which keeps its turn', () => {
    const line = new FairLine<string>();
    for (const item of ['a1', 'b1', 'b2', 'c1']) line.join(item.charAt(0), item);
    const held = new Set(['a1', 'b1']);
    expect(line.take(({ item }) => !held.has(item))?.item).toBe('c1');
    expect(line.take(({ item }) => !held.has(item))).toBeUndefined();
    expect(fill(line)).toEqual(['a1', 'b1', 'b2']);
  });

  it('frees the memory of a namespace without items', () => {
    const line = new FairLine<string>();
    const left = line.join('left', 'x');
    line.join('a', 'a1');
    line.join('a', 'a2');
    line.leave(left);
    line.take();
    expect(line.namespaces).toBe(1);
    line.take();
    expect(line.namespaces).toBe(0);
  });
});
