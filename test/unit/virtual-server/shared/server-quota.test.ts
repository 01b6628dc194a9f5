import { describe, expect, it } from 'vitest';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';

describe('ServerQuota', () => {
  it('gives each namespace as many places as the limit allows', () => {
    const quota = new ServerQuota(2);
    quota.set('ns', 'u1', true);
    expect(quota.reserve('ns', 'u2')).toBe(true);
    expect(quota.reserve('ns', 'u3')).toBe(false);
    expect(quota.reserve('other', 'u3')).toBe(true);
  });

  it('counts an object once, however often it asks', () => {
    const quota = new ServerQuota(1);
    expect(quota.reserve('ns', 'u1')).toBe(true);
    expect(quota.reserve('ns', 'u1')).toBe(true);
    quota.set('ns', 'u1', true);
    expect(quota.reserve('ns', 'u1')).toBe(true);
    expect(quota.reserve('ns', 'u2')).toBe(false);
  });

  it('returns the place of a visit that ended without an order', () => {
    const quota = new ServerQuota(1);
    quota.reserve('ns', 'u1');
    quota.endReservation('u1');
    expect(quota.reserve('ns', 'u2')).toBe(true);
  });

  it('keeps the place of an ordered server until it is released', () => {
    const quota = new ServerQuota(1);
    quota.reserve('ns', 'u1');
    quota.set('ns', 'u1', true);
    quota.endReservation('u1');
    expect(quota.reserve('ns', 'u2')).toBe(false);
    quota.set('ns', 'u1', false);
    expect(quota.reserve('ns', 'u2')).toBe(true);
  });

  it('has no limit at 0', () => {
    const quota = new ServerQuota(0);
    quota.set('ns', 'u1', true);
    expect(quota.reserve('ns', 'u2')).toBe(true);
  });

  it('keeps the place of a server that was left behind, until an object holds it', () => {
    const quota = new ServerQuota(1);
    quota.set('ns', 'u1', true);
    quota.left('ns', 'srv1');
    quota.set('ns', 'u1', false);
    expect(quota.reserve('ns', 'u2')).toBe(false);
    expect(quota.reserve('other', 'u2')).toBe(true);
    quota.held('srv1');
    expect(quota.reserve('ns', 'u3')).toBe(true);
  });

  it('counts a server once, however often it was left behind', () => {
    const quota = new ServerQuota(2);
    quota.left('ns', 'srv1');
    quota.left('ns', 'srv1');
    expect(quota.reserve('ns', 'u1')).toBe(true);
  });
});
