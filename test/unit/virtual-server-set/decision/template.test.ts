import { expect, it } from 'vitest';
import { ORDERED_FIELDS } from '../../../../src/api/virtual-server.ts';
import { orderedOf, revisionOf } from '../../../../src/virtual-server-set/decision/template.ts';
import { SSH_KEY } from '../../../fixtures/virtual-server.ts';

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

it.each(['\n', '\r\n', '\n \n\n'])('is the same revision with a line end after a key: %j', (end) => {
  expect(revisionOf({ ...SPEC, sshKeys: [`${SSH_KEY}${end}`] })).toBe(revisionOf({ ...SPEC, sshKeys: [SSH_KEY] }));
});

it('is the same revision as for an earlier version, which compared spaces too', () => {
  expect(revisionOf({ ...SPEC, sshKeys: [`${SSH_KEY} `] })).not.toBe(revisionOf({ ...SPEC, sshKeys: [SSH_KEY] }));
});

it.each(ORDERED_FIELDS)('is another revision with another %s', (field) => {
  const changed = { ...SPEC, [field]: OTHER[field] };
  expect(revisionOf(changed)).not.toBe(revisionOf(SPEC));
  expect(orderedOf(changed)[field]).toEqual(OTHER[field]);
});
