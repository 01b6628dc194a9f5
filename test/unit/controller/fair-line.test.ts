import { describe, expect, it } from 'vitest';
import { FairLine } from '../../../src/controller/fair-line.ts';

function fill<T>(line: FairLine<T>): T[] {
  const taken: T[] = [];
  for (let item = line.take(); item !== undefined; item = line.take()) taken.push(item);
  return taken;
}

describe('FairLine', () => {
  it('lets namespaces take turns, first in, first out within each', () => {
    const line = new FairLine<string>(Infinity);
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) line.join(item.charAt(0), item);
    expect(fill(line)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  it.each([
    { places: 1, share: 1 },
    { places: 2, share: 1 },
    { places: 3, share: 2 },
    { places: 4, share: 3 },
    { places: 16, share: 13 },
    { places: 32, share: 26 },
    { places: 1_000, share: 800 },
  ])('gives a single namespace $share of $places places', ({ places, share }) => {
    const line = new FairLine<number>(places);
    for (let item = 0; item < 2_000; item++) line.join('a', item);
    expect(fill(line)).toHaveLength(share);
    expect(line.length).toBe(2_000 - share);
  });

  it('gives a new namespace a place immediately, however many places the others hold', () => {
    const line = new FairLine<string>(32);
    for (let item = 0; item < 1_000; item++) line.join('a', `a${item}`);
    fill(line);
    for (const namespace of ['b', 'c', 'd']) {
      line.join(namespace, `${namespace}1`);
      expect(line.take()).toBe(`${namespace}1`);
    }
  });

  it('gives the next released place to a namespace that is waiting for its share', () => {
    const line = new FairLine<string>(4);
    for (const item of ['a1', 'a2', 'a3', 'a4']) line.join('a', item);
    expect(fill(line)).toEqual(['a1', 'a2', 'a3']);
    line.release('a');
    expect(fill(line)).toEqual(['a4']);
  });

  it('takes the most urgent items of a namespace first, first in, first out among equals', () => {
    const line = new FairLine<string>(Infinity);
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

  it('gives one of sixteen turns of a namespace to the item that has waited longest, of any priority', () => {
    const line = new FairLine<string>(Infinity);
    for (const [item, priority] of [
      ['resync', 3],
      ['order', 2],
      ['later', 3],
    ] as const)
      line.join('a', item, priority);
    for (let item = 0; item < 60; item++) line.join('a', 'urgent');
    const taken = Array.from({ length: 50 }, () => line.take());
    const others = taken.flatMap((item, index) => (item === 'urgent' ? [] : [[index, item]]));
    expect(others).toEqual([
      [15, 'resync'],
      [31, 'order'],
      [47, 'later'],
    ]);
  });

  it.each([0, 1, 2])('lets item %i of three of one priority leave, and keeps the others in order', (index) => {
    const line = new FairLine<string>(Infinity);
    const waiting = ['a1', 'a2', 'a3'].map((item) => line.join('a', item, 1));
    line.join('a', 'a4', 2);
    const [left] = waiting.splice(index, 1);
    if (left !== undefined) line.leave(left);
    expect(fill(line)).toEqual([...waiting.map(({ item }) => item), 'a4']);
    expect(line.namespaces).toBe(1);
  });

  it('skips an item that has left', () => {
    const line = new FairLine<string>(Infinity);
    const [a1, a2, a3] = ['a1', 'a2', 'a3'].map((item) => line.join('a', item));
    line.join('b', 'b1');
    if (a1 === undefined || a2 === undefined || a3 === undefined) throw new Error('nothing joined');
    line.leave(a2);
    expect(fill(line)).toEqual(['a1', 'b1', 'a3']);
    expect(line.length).toBe(0);
  });

  it('frees the memory of a namespace without items and places', () => {
    const line = new FairLine<string>(10);
    const left = line.join('left', 'x');
    line.leave(left);
    expect(line.namespaces).toBe(0);
    line.join('a', 'a1');
    line.join('a', 'a2');
    line.take();
    line.take();
    line.release('a');
    expect(line.namespaces).toBe(1);
    line.release('a');
    expect(line.namespaces).toBe(0);
  });

  it('rejects a release of a place that it has not given', () => {
    expect(() => new FairLine<string>(10).release('a')).toThrow('has no place');
  });

  it('serves every namespace, even if there are more namespaces than places', () => {
    const line = new FairLine<string>(3);
    for (let round = 0; round < 2; round++) for (const item of ['a', 'b', 'c', 'd', 'e']) line.join(item, item);
    const served: string[] = [];
    for (let turn = 0; turn < 10; turn++) {
      served.push(...fill(line));
      line.release(served[turn] ?? '');
    }
    expect(served).toEqual(['a', 'b', 'c', 'd', 'e', 'a', 'b', 'c', 'd', 'e']);
  });
});
