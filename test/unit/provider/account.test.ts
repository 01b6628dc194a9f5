import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { accountName } from '../../../src/provider/account.ts';

const BASE = 'https://api.example.org/x';
const own = accountName(BASE, 'key-1');
const otherKey = accountName(BASE, 'key-2');
const elsewhere = accountName('https://api.example.org/y', 'key-1');
/** The name as written by versions that did not put the hash of the base URL first. */
const legacy = createHash('sha256').update(`${BASE}\0key-1`).digest('hex').slice(0, 16);

describe('the name of an account', () => {
  it('is the hash of the base URL plus the name from earlier versions', () => {
    expect(own).toMatch(/^[0-9a-f]{16}-[0-9a-f]{16}$/);
    expect(own.split('-')[1]).toBe(legacy);
  });

  it('shares its first part only with keys at the same base URL', () => {
    expect(otherKey.split('-')[0]).toBe(own.split('-')[0]);
    expect(elsewhere.split('-')[0]).not.toBe(own.split('-')[0]);
  });
});
