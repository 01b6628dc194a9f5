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
  // A set takes no identifier.
  const { identifier: _chosen, ...all } = ONE;
  const { sshKeysFrom: _none, ...alone } = all;
  expect([all, alone].map((spec) => shortName(revisionOf(spec)))).toEqual(['dd5d70ff', '99859d62']);
});
