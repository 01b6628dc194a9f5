import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { isSameAccount, isSameProvider } from '../../../../src/virtual-server/decision/identity.ts';
import { accountName } from '../../../../src/provider/account.ts';

const BASE = 'https://api.example.org/x';
const own = accountName(BASE, 'key-1');
const otherKey = accountName(BASE, 'key-2');
const elsewhere = accountName('https://api.example.org/y', 'key-1');
/** The format of versions that did not yet put the hash of the base URL first. */
const legacy = createHash('sha256').update(`${BASE}\0key-1`).digest('hex').slice(0, 16);

it.each([
  { what: 'the same name', a: own, b: own, account: true, provider: true },
  { what: 'another key ID', a: own, b: otherKey, account: false, provider: true },
  { what: 'another base URL', a: own, b: elsewhere, account: false, provider: false },
  { what: 'its legacy name', a: own, b: legacy, account: true, provider: true },
  { what: 'two equal legacy names', a: legacy, b: legacy, account: true, provider: true },
  { what: 'the legacy name of another key', a: otherKey, b: legacy, account: false, provider: false },
  { what: 'two legacy names', a: '0123456789abcdef', b: legacy, account: false, provider: false },
  { what: 'an unknown account', a: own, b: undefined, account: false, provider: false },
  { what: 'two unknown accounts', a: undefined, b: undefined, account: false, provider: false },
  {
    what: 'names that differ in the first part only',
    a: `0-${legacy}`,
    b: `1-${legacy}`,
    account: false,
    provider: false,
  },
])('compares $what: account $account, provider $provider', ({ a, b, account, provider }) => {
  expect(isSameAccount(a, b)).toBe(account);
  expect(isSameAccount(b, a)).toBe(account);
  expect(isSameProvider(a, b)).toBe(provider);
  expect(isSameProvider(b, a)).toBe(provider);
});
