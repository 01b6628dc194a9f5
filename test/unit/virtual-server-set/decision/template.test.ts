import { expect, it } from 'vitest';
import { ORDERED_FIELDS } from '../../../../src/api/virtual-server.ts';
import { orderedOf, revisionOf } from '../../../../src/virtual-server-set/decision/template.ts';

const SPEC = {
  product: 'vps-1gb',
  image: 'debian-13.qcow2/minimal',
  diskSize: 20,
  sshKeys: ['ssh-ed25519 AAAA a'],
  sshKeysFrom: [{ name: 'team', key: 'keys' }],
};
const OTHER = {
  product: 'vps-2gb',
  image: 'debian-12.qcow2/minimal',
  diskSize: 21,
  sshKeys: ['ssh-ed25519 AAAA b'],
  sshKeysFrom: [{ name: 'team', key: 'others' }],
};

it.each(ORDERED_FIELDS)('is another revision with another %s', (field) => {
  const changed = { ...SPEC, [field]: OTHER[field] };
  expect(revisionOf(changed)).not.toBe(revisionOf(SPEC));
  expect(orderedOf(changed)[field]).toEqual(OTHER[field]);
});
