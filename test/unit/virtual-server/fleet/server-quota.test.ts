import { describe, expect, it } from 'vitest';
import { Places } from '../../../../src/virtual-server/fleet/server-quota.ts';

describe('Places', () => {
  it('gives each namespace as many places as the limit says', () => {
    const places = new Places(2);
    places.set('ns', 'u1', true);
    expect(places.reserve('ns', 'u2')).toBe(true);
    expect(places.reserve('ns', 'u3')).toBe(false);
    expect(places.reserve('other', 'u3')).toBe(true);
  });

  it('counts an object once, however often it asks', () => {
    const places = new Places(1);
    expect(places.reserve('ns', 'u1')).toBe(true);
    expect(places.reserve('ns', 'u1')).toBe(true);
    places.set('ns', 'u1', true);
    expect(places.reserve('ns', 'u1')).toBe(true);
    expect(places.reserve('ns', 'u2')).toBe(false);
  });

  it('gives back the place of a visit that ended without an order', () => {
    const places = new Places(1);
    places.reserve('ns', 'u1');
    places.endReservation('u1');
    expect(places.reserve('ns', 'u2')).toBe(true);
  });

  it('keeps the place of what was ordered, until it is let go', () => {
    const places = new Places(1);
    places.reserve('ns', 'u1');
    places.set('ns', 'u1', true);
    places.endReservation('u1');
    expect(places.reserve('ns', 'u2')).toBe(false);
    places.set('ns', 'u1', false);
    expect(places.reserve('ns', 'u2')).toBe(true);
  });

  it('has no limit at 0', () => {
    const places = new Places(0);
    places.set('ns', 'u1', true);
    expect(places.reserve('ns', 'u2')).toBe(true);
  });

  it('keeps the place of a server that was left behind, until an object holds it', () => {
    const places = new Places(1);
    places.set('ns', 'u1', true);
    places.left('ns', 'srv1');
    places.set('ns', 'u1', false);
    expect(places.reserve('ns', 'u2')).toBe(false);
    expect(places.reserve('other', 'u2')).toBe(true);
    places.held('srv1');
    expect(places.reserve('ns', 'u3')).toBe(true);
  });

  it('counts a server once, however often it was left behind', () => {
    const places = new Places(2);
    places.left('ns', 'srv1');
    places.left('ns', 'srv1');
    expect(places.reserve('ns', 'u1')).toBe(true);
  });
});
