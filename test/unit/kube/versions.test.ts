import { expect, it } from 'vitest';
import { isOlder } from '../../../src/kube/versions.ts';

it.each([
  ['9', '10', true],
  ['10', '9', false],
  ['10', '10', false],
  ['18446744073709551614', '18446744073709551615', true],
])('compares versions as numbers: whether %s is older than %s is %s', (version, other, older) => {
  expect(isOlder(version, other)).toBe(older);
});
