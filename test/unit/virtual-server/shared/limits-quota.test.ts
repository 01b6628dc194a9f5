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
});
