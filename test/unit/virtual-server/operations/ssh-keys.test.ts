import { describe, expect, it } from 'vitest';
import type { VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { currentReason } from '../../../../src/api/conditions.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import type { ReadSecret } from '../../../../src/kube/kinds.ts';
import { readSshKeys } from '../../../../src/virtual-server/operations/ssh-keys.ts';
import { web } from '../../../fixtures/decision.ts';
import { SSH_KEY } from '../../../fixtures/virtual-server.ts';
import { visit } from '../../../fixtures/visits.ts';

const OTHER_KEY = 'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBCHh other@example.org';
const PRIVATE = `${OTHER_KEY}\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk`;

const from = (...keys: string[]): Partial<VirtualServerSpec> => ({
  sshKeysFrom: keys.map((key) => ({ name: 'keys', key })),
});

/** Reads the keys of an object that names these keys of a Secret. */
const readFrom = (secret: ReadSecret['data'] | KubeError | undefined, ...keys: string[]) =>
  readSshKeys(web({ spec: from(...keys) }), {
    getSecret: () =>
      secret instanceof KubeError
        ? Promise.reject(secret)
        : Promise.resolve(secret && { data: secret, resourceVersion: '1' }),
  });

describe('the SSH keys of an order', () => {
  it('are the inline keys first, then keys from Secrets, one per line', async () => {
    const secret = { one: `${OTHER_KEY}\n`, two: `# mine\n${OTHER_KEY}\n${OTHER_KEY}` };
    expect(await readFrom(secret, 'one', 'two')).toEqual({
      ok: true,
      text: [SSH_KEY, OTHER_KEY, OTHER_KEY, OTHER_KEY].join('\n'),
    });
  });

  it('are sent with it', async () => {
    const answers = { order: { kind: 'created', task: 7 }, task: { state: 'pending' } } as const;
    const { requests } = await visit(web({ spec: from('keys') }), { answers, sshKeys: { keys: OTHER_KEY } });
    expect(requests.map(({ sshKeys }) => sshKeys)).toEqual([[SSH_KEY, OTHER_KEY].join('\n')]);
  });

  it.each<{ reason: string; secret: ReadSecret['data'] | KubeError | undefined; words: string }>([
    { reason: 'SSHKeyNotFound', secret: undefined, words: 'does not exist' },
    { reason: 'SSHKeyNotFound', secret: { two: OTHER_KEY }, words: 'has no key "one"' },
    { reason: 'SSHKeyNotFound', secret: { one: ' \n' }, words: 'has no key "one"' },
    { reason: 'SSHKeyNotFound', secret: { one: 'hello' }, words: 'line 1 is not an SSH public key' },
    { reason: 'SecretForbidden', secret: new KubeError('Forbidden', 'not allowed'), words: 'cannot be read' },
  ])('are not complete: $words', async ({ reason, secret, words }) => {
    const sshKeys = await readFrom(secret, 'one');
    expect(sshKeys).toMatchObject({ ok: false, reason });
    expect(sshKeys.ok ? '' : sshKeys.message).toContain(words);
  });

  it('are no private key, which is neither sent nor shown', async () => {
    const { calls, requests, object } = await visit(web({ spec: from('keys') }), { sshKeys: { keys: PRIVATE } });
    expect(calls).toEqual(['write']);
    expect(requests).toEqual([]);
    expect(currentReason(object?.status?.conditions)).toBe('SSHKeyNotFound');
    expect(JSON.stringify(object)).not.toContain('b3BlbnNzaC1rZXk');
  });

  it('are left to the next visit if the API server cannot be reached', async () => {
    await expect(readFrom(new KubeError('Unreachable', 'no answer'), 'one')).rejects.toThrow('no answer');
  });
});
