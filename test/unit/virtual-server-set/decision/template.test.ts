import { expect, it } from 'vitest';
import { ORDERED_FIELDS } from '../../../../src/api/virtual-server.ts';
import { orderedOf, revisionOf } from '../../../../src/virtual-server-set/decision/template.ts';

const SPEC = {
  product: 'VPSX4',
  image: 'cloudinit-debian-trixie.raw.gz',
  diskSize: 10240,
  sshKeys: ['ssh-ed25519 AAAA a'],
  sshKeysFrom: [{ name: 'team', key: 'keys' }],
};
const OTHER = {
  product: 'VPSX8',
  image: 'cloudinit-debian-bookworm.raw.gz',
  diskSize: 20480,
  sshKeys: ['ssh-ed25519 AAAA b'],
  sshKeysFrom: [{ name: 'team', key: 'others' }],
};

it.each(ORDERED_FIELDS)('is another revision with another %s', (field) => {
  const changed = { ...SPEC, [field]: OTHER[field] };
  expect(revisionOf(changed)).not.toBe(revisionOf(SPEC));
  expect(orderedOf(changed)[field]).toEqual(OTHER[field]);
});
