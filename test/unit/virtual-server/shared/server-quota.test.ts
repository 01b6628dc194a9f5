import { describe, expect, it } from 'vitest';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';

describe('ServerQuota', () => {
  it('gives each namespace as many places as the limit allows', () => {
    const quota = new ServerQuota(2);
    quota.set('ns', 'u1', true);
    expect(quota.reserve('ns', 'u2')).toBeDefined();
    expect(quota.reserve('ns', 'u3')).toBeUndefined();
    expect(quota.reserve('other', 'u3')).toBeDefined();
  });

  it('counts an object once, however often it asks', () => {
    const quota = new ServerQuota(1);
    expect(quota.reserve('ns', 'u1')).toBeDefined();
    expect(quota.reserve('ns', 'u1')).toBeDefined();
    quota.set('ns', 'u1', true);
    expect(quota.reserve('ns', 'u1')).toBeDefined();
    expect(quota.reserve('ns', 'u2')).toBeUndefined();
  });

  it('returns the place of a visit that ended without an order', () => {
    const quota = new ServerQuota(1);
    quota.reserve('ns', 'u1')?.release();
    expect(quota.reserve('ns', 'u2')).toBeDefined();
  });

  it('keeps the place of an ordered server until it is released', () => {
    const quota = new ServerQuota(1);
    const reserved = quota.reserve('ns', 'u1');
    quota.set('ns', 'u1', true);
    reserved?.release();
    expect(quota.reserve('ns', 'u2')).toBeUndefined();
    quota.set('ns', 'u1', false);
    expect(quota.reserve('ns', 'u2')).toBeDefined();
  });

  it('has no limit at 0', () => {
    const quota = new ServerQuota(0);
    quota.set('ns', 'u1', true);
    expect(quota.reserve('ns', 'u2')).toBeDefined();
  });

  it('keeps the place of a server that was left behind, until an object holds it', () => {
    const quota = new ServerQuota(1);
    quota.set('ns', 'u1', true);
    quota.left('ns', 'srv1');
    quota.set('ns', 'u1', false);
    expect(quota.reserve('ns', 'u2')).toBeUndefined();
    expect(quota.reserve('other', 'u2')).toBeDefined();
    quota.held('srv1');
    expect(quota.reserve('ns', 'u3')).toBeDefined();
  });

  it('counts a server once, however often it was left behind', () => {
    const quota = new ServerQuota(2);
    quota.left('ns', 'srv1');
    quota.left('ns', 'srv1');
    expect(quota.reserve('ns', 'u1')).toBeDefined();
  });
});
