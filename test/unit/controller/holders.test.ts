import { describe, expect, it } from 'vitest';
import { Holders } from '../../../src/controller/holders.ts';

describe('Holders', () => {
  it('names every other object that holds an identifier, sorted', () => {
    const holders = new Holders();
    holders.set('u1', 'ns/b', 'srv1');
    holders.set('u2', 'ns/a', 'srv1');
    holders.set('u3', 'ns/c', 'srv2');
    expect(holders.others('srv1', 'u3')).toEqual(['ns/a', 'ns/b']);
    expect(holders.others('srv1', 'u1')).toEqual(['ns/a']);
    expect(holders.others('srv2', 'u3')).toEqual([]);
    expect(holders.others('srv3', 'u1')).toEqual([]);
  });

  it('follows an object to another identifier, and to none', () => {
    const holders = new Holders();
    holders.set('u1', 'ns/a', 'srv1');
    holders.set('u1', 'ns/a', 'srv2');
    expect(holders.others('srv1', 'u2')).toEqual([]);
    expect(holders.others('srv2', 'u2')).toEqual(['ns/a']);
    holders.set('u1', 'ns/a', undefined);
    expect(holders.others('srv2', 'u2')).toEqual([]);
  });

  it('lets only the first of two adopters in', () => {
    const holders = new Holders();
    holders.reserve('u1', 'ns/a', 'srv1');
    expect(holders.others('srv1', 'u2')).toEqual(['ns/a']);
    expect(holders.others('srv1', 'u1')).toEqual([]);
  });

  it('keeps a reservation when an older version without the identifier arrives', () => {
    const holders = new Holders();
    holders.reserve('u1', 'ns/a', 'srv1');
    holders.set('u1', 'ns/a', undefined);
    expect(holders.others('srv1', 'u2')).toEqual(['ns/a']);
  });

  it('ends a reservation that became nothing, and not one that became a hold', () => {
    const holders = new Holders();
    holders.reserve('u1', 'ns/a', 'srv1');
    holders.endReservation('u1', 'ns/a');
    expect(holders.others('srv1', 'u2')).toEqual([]);
    holders.reserve('u1', 'ns/a', 'srv1');
    holders.set('u1', 'ns/a', 'srv1');
    holders.endReservation('u1', 'ns/a');
    expect(holders.others('srv1', 'u2')).toEqual(['ns/a']);
  });
});
