import { describe, expect, it } from 'vitest';
import { FairPlaces } from '../../../src/base/fair-line.ts';

function fill<T>(line: FairPlaces<T>): T[] {
  const taken: T[] = [];
  for (let next = line.take(); next !== undefined; next = line.take()) taken.push(next.item);
  return taken;
}

describe('FairPlaces', () => {
  it.each([
    { places: 1, share: 1 },
    { places: 2, share: 1 },
    { places: 3, share: 2 },
    { places: 4, share: 3 },
    { places: 16, share: 13 },
    { places: 32, share: 26 },
    { places: 1_000, share: 800 },
  ])('gives a single namespace $share of $places places', ({ places, share }) => {
    const line = new FairPlaces<number>(places);
    for (let item = 0; item < 2_000; item++) line.join('a', item);
    expect(fill(line)).toHaveLength(share);
    expect(line.length).toBe(2_000 - share);
  });

  it('gives a new namespace a place immediately, however many places the others hold', () => {
    const line = new FairPlaces<string>(32);
    for (let item = 0; item < 1_000; item++) line.join('a', `a${item}`);
    fill(line);
    for (const namespace of ['b', 'c', 'd']) {
      line.join(namespace, `${namespace}1`);
      expect(line.take()?.item).toBe(`${namespace}1`);
    }
  });

  it('gives the next released place to a namespace that is waiting for its share', () => {
    const line = new FairPlaces<string>(4);
    for (const item of ['a1', 'a2', 'a3', 'a4']) line.join('a', item);
    expect(fill(line)).toEqual(['a1', 'a2', 'a3']);
    line.release('a');
    expect(fill(line)).toEqual(['a4']);
  });

  it('rejects a release of a place that it has not given', () => {
    expect(() => new FairPlaces<string>(10).release('a')).toThrow('has no place');
  });

  it('serves every namespace, even if there are more namespaces than places', () => {
    const line = new FairPlaces<string>(3);
    for (let round = 0; round < 2; round++) for (const item of ['a', 'b', 'c', 'd', 'e']) line.join(item, item);
    const served: string[] = [];
    for (let turn = 0; turn < 10; turn++) {
      served.push(...fill(line));
      line.release(served[turn] ?? '');
    }
    expect(served).toEqual(['a', 'b', 'c', 'd', 'e', 'a', 'b', 'c', 'd', 'e']);
  });
});
