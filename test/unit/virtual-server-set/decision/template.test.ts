import { expect, it } from 'vitest';
import { revisionOf, shortName } from '../../../../src/virtual-server-set/decision/template.ts';
import { ONE } from '../../../fixtures/ordered-values.ts';
import { SSH_KEY } from '../../../fixtures/virtual-server.ts';

it.each(['\n', '\r\n', '\n \n\n'])('is the same revision with a line end after a key: %j', (end) => {
  expect(revisionOf({ ...ONE, sshKeys: [`${SSH_KEY}${end}`] })).toBe(revisionOf({ ...ONE, sshKeys: [SSH_KEY] }));
});

it('is the same revision as for an earlier version, which compared spaces too', () => {
  expect(revisionOf({ ...ONE, sshKeys: [`${SSH_KEY} `] })).not.toBe(revisionOf({ ...ONE, sshKeys: [SSH_KEY] }));
});

it('has the hash of earlier versions, which members have stored', () => {
  const { product, image, diskSize, sshKeys, sshKeysFrom } = ONE;
  const alone = { product, image, diskSize, sshKeys };
  expect([{ ...alone, sshKeysFrom }, alone].map((spec) => shortName(revisionOf(spec)))).toEqual([
    'dd5d70ff',
    '99859d62',
  ]);
});
