/** The options of a provider. */
import { describe, expect, it } from 'vitest';
import { createProvider } from '../../../src/provider/index.ts';

const URLS = { baseUrl: 'https://api.example.org', authUrl: 'https://auth.example.org' };

describe('a provider', () => {
  it.each([
    'ftp://api.example.org',
    'api.example.org',
    '',
    'https://user:hush@api.example.org',
    'https://api.example.org/?key=hush',
    'https://api.example.org/#hush',
  ])('does not take %j for a URL, and does not repeat it', (url) => {
    for (const urls of [{ baseUrl: url }, { authUrl: url }]) {
      const create = () => createProvider({ ...URLS, ...urls, qps: 5 });
      expect(create).toThrow(TypeError);
      expect(create).not.toThrow(/hush/);
    }
  });

  it.each([{ qps: 0 }, { qps: NaN }, { qps: -1 }, { qps: 5, timeoutMs: 0 }, { qps: 5, createTimeoutMs: -1 }])(
    'does not take %j',
    (options) => {
      expect(() => createProvider({ ...URLS, ...options })).toThrow(RangeError);
    },
  );
});
