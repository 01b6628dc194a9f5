import { describe, expect, it } from 'vitest';
import type { VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { currentReason } from '../../../../src/api/conditions.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { KeepsFailing } from '../../../../src/kube/failing-reads.ts';
import type { ReadSecret } from '../../../../src/kube/kinds.ts';
import { readSshKeys } from '../../../../src/virtual-server/operations/ssh-keys.ts';
import { TASKED, web, webWith } from '../../../fixtures/decision.ts';
import { CERTIFICATE, P256, PRIVATE_KEYS, SECRET } from '../../../fixtures/public-keys.ts';
import { SSH_KEY } from '../../../fixtures/virtual-server.ts';
import { visit } from '../../../fixtures/visits.ts';

const OTHER_KEY = P256;
const PRIVATE = `${OTHER_KEY}\n${PRIVATE_KEYS.OpenSSH ?? ''}`;

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
  it('are read from every key of a Secret that spec names', async () => {
    const secret = { one: `${OTHER_KEY}\n`, two: `# mine\n${OTHER_KEY}\n${OTHER_KEY}` };
    expect(await readFrom(secret, 'one', 'two')).toEqual({ ok: true, value: [OTHER_KEY, OTHER_KEY, OTHER_KEY] });
  });

  it('are sent with it, after those in spec', async () => {
    const answers = { order: { kind: 'created', task: 7 }, task: { state: 'pending' } } as const;
    const { requests } = await visit(web({ spec: from('keys') }), { answers, sshKeys: { keys: OTHER_KEY } });
    expect(requests.map((body) => body['ssh_keys'])).toEqual([[SSH_KEY, OTHER_KEY].join('\n')]);
  });

  it.each<{ reason: string; secret: ReadSecret['data'] | KubeError | undefined; words: string }>([
    { reason: 'SSHKeyNotFound', secret: undefined, words: 'does not exist' },
    { reason: 'SSHKeyNotFound', secret: { two: OTHER_KEY }, words: 'has no key "one"' },
    { reason: 'SSHKeyNotFound', secret: { one: ' \n' }, words: 'has no key "one"' },
    { reason: 'SSHKeyNotFound', secret: { one: 'hello' }, words: 'line 1 is not an SSH public key' },
    { reason: 'SSHKeyNotFound', secret: { one: `# mine\n${CERTIFICATE}` }, words: 'line 2 is a certificate' },
    { reason: 'SecretForbidden', secret: new KubeError('Forbidden', 'not allowed'), words: 'cannot be read' },
    {
      reason: 'SecretForbidden',
      secret: new KeepsFailing('ServerError', 'The API server answers 500 since 2026.', { status: 500 }),
      words: 'cannot be read: The API server answers 500',
    },
  ])('are not complete: $words', async ({ reason, secret, words }) => {
    const sshKeys = await readFrom(secret, 'one');
    expect(sshKeys).toMatchObject({ ok: false, error: { reason } });
    expect(sshKeys.ok ? '' : sshKeys.error.message).toContain(words);
  });

  it('are no private key, which is neither sent nor shown', async () => {
    const { calls, requests, object } = await visit(web({ spec: from('keys') }), { sshKeys: { keys: PRIVATE } });
    expect(calls).toEqual(['write']);
    expect(requests).toEqual([]);
    expect(currentReason(object?.status?.conditions)).toBe('SSHKeyNotFound');
    expect(JSON.stringify(object)).not.toContain(SECRET);
  });

  it.each([
    ['a certificate', [SSH_KEY, CERTIFICATE], 'spec.sshKeys[1] is a certificate, '],
    ['a key that is cut off', [SSH_KEY.slice(0, 60)], 'spec.sshKeys[0] is cut off'],
    ['a private key', [SSH_KEY, SSH_KEY, PRIVATE], 'spec.sshKeys[2] contains a private key'],
  ])('are refused in spec before the order: %s', async (_what, sshKeys, problem) => {
    const { requests, object } = await visit(web({ spec: { sshKeys } }), {});
    expect(requests).toEqual([]);
    expect(object?.status?.conditions).toContainEqual(
      expect.objectContaining({ reason: 'InvalidSpec', message: expect.stringContaining(problem) as string }),
    );
    expect(JSON.stringify(object?.status)).not.toContain(SECRET);
  });

  it('do not matter once the server is ordered', async () => {
    const answers = { task: { state: 'pending' } } as const;
    const { calls, object } = await visit(webWith(TASKED, { spec: { sshKeys: [CERTIFICATE] } }), { answers });
    expect(calls).toEqual(['poll', 'write']);
    expect(currentReason(object?.status?.conditions)).toBe('Creating');
  });

  it('are left to the next visit if the API server cannot be reached', async () => {
    await expect(readFrom(new KubeError('Unreachable', 'no answer'), 'one')).rejects.toThrow('no answer');
  });
});
