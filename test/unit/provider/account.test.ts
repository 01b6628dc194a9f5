import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { accountOf } from '../../../src/provider/account.ts';

const BASE = 'https://api.example.org/x';
const own = accountOf(BASE, 'key-1');
const otherKey = accountOf(BASE, 'key-2');
const elsewhere = accountOf('https://api.example.org/y', 'key-1');
/** As versions before the hash of the base URL came first have written it. */
const legacy = createHash('sha256').update(`${BASE}\0key-1`).digest('hex').slice(0, 16);

describe('the name of an account', () => {
  it('is the hash of the base URL, and the name that earlier versions gave', () => {
    expect(own).toMatch(/^[0-9a-f]{16}-[0-9a-f]{16}$/);
    expect(own.split('-')[1]).toBe(legacy);
  });

  it('shares its first part with other keys at the same base URL alone', () => {
    expect(otherKey.split('-')[0]).toBe(own.split('-')[0]);
    expect(elsewhere.split('-')[0]).not.toBe(own.split('-')[0]);
  });
});
