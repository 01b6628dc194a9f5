import { describe, expect, it } from 'vitest';
import type { VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { RECONCILE_AT_ANNOTATION } from '../../../../src/api/names.ts';
import { CreateLimit, ServerQuota } from '../../../../src/virtual-server/fleet/limits.ts';
import { Credentials } from '../../../../src/accounts/accounts.ts';
import { gather, type VisitFacts } from '../../../../src/virtual-server/visit/gather.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import type { GatherKind, Memo } from '../../../../src/virtual-server/decision/types.ts';
import { lookAt } from '../../../../src/virtual-server/decision/view.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import type { ReadSecret } from '../../../../src/kube/kinds.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import type { Session } from '../../../../src/provider/types.ts';
import { CATALOG, HELD, facts, web, webWith } from '../../../gen/decision.ts';
import { fakeProvider } from '../../../gen/provider.ts';
import { FakeTimers } from '../../../gen/timers.ts';
import { SSH_KEY } from '../../../gen/virtual-server.ts';

const OTHER_KEY = 'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBCHh other@example.org';

function setUp(session: Partial<Session> = {}) {
  const secrets = new Map<string, ReadSecret['data'] | KubeError>([['vps-api-key', { keyId: 'k', secret: 's' }]]);
  const timers = new FakeTimers();
  const kube = {
    getSecret: (_namespace: string, name: string): Promise<ReadSecret | undefined> => {
      const found = secrets.get(name);
      if (found instanceof KubeError) return Promise.reject(found);
      return Promise.resolve(found && { data: found, resourceVersion: '1' });
    },
  };
  const whole = { account: 'acc', ensureToken: () => Promise.resolve(), ...session } as Session;
  const retried: string[] = [];
  const provider = fakeProvider(() => whole, { retryLogin: ({ keyId }) => void retried.push(keyId) });
  const onChange = (): void => undefined;
  const credentials = new Credentials({
    kube,
    provider,
    timers,
    refreshMs: 1_000,
    operatorNamespace: undefined,
    onChange,
  });
  const none = (): Promise<never> => Promise.reject(new Error('nothing is cancelled here'));
  const room = {
    kube: { ...kube, getVirtualServer: none, getDefinition: none, getSetDefinition: none },
    credentials,
    limit: new CreateLimit(1),
    quota: new ServerQuota(0),
    timers,
    objects: { saw: () => undefined },
  };
  const run = async (kinds: GatherKind[], object = web(), memo: Memo = { failures: 0 }): Promise<VisitFacts> => {
    const into: VisitFacts = {};
    for (const kind of kinds) await gather(kind, lookAt(object, facts({ memo })), into, room);
    return into;
  };
  return { secrets, timers, retried, run };
}

describe('gathering credentials', () => {
  const planned = (inputs: string): Memo => ({
    failures: 1,
    next: { action: 'gather', from: 0, at: Infinity, inputs },
  });

  it('requests another login if you have changed the object since its next visit was planned', async () => {
    const { run, retried } = setUp();
    const before = web();
    const memo = planned(inputsOf(before));
    await run(['credentials'], before, memo);
    await run(['credentials'], web({ annotations: { 'example.org/note': 'a' } }), memo);
    expect(retried).toEqual([]);
    await run(['credentials'], web({ annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } }), memo);
    expect(retried).toEqual(['k']);
  });

  it('requests none at the first visit of a process, which may come long after the change', async () => {
    const { run, retried } = setUp();
    await run(['credentials'], web({ annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } }));
    expect(retried).toEqual([]);
  });
});

describe('gathering SSH keys', () => {
  const from = (...keys: string[]): Partial<VirtualServerSpec> => ({
    sshKeysFrom: keys.map((key) => ({ name: 'keys', key })),
  });

  it('puts inline keys first, then keys from Secrets, one per line', async () => {
    const { secrets, run } = setUp();
    secrets.set('keys', { one: `${OTHER_KEY}\n`, two: `# mine\n${OTHER_KEY}\n${OTHER_KEY}` });
    const { sshKeys } = await run(['sshKeys'], web({ spec: from('one', 'two') }));
    expect(sshKeys).toEqual({ ok: true, text: [SSH_KEY, OTHER_KEY, OTHER_KEY, OTHER_KEY].join('\n') });
  });

  it.each<{ reason: string; data: ReadSecret['data'] | KubeError | undefined; words: string }>([
    { reason: 'SSHKeyNotFound', data: undefined, words: 'does not exist' },
    { reason: 'SSHKeyNotFound', data: { two: OTHER_KEY }, words: 'has no key "one"' },
    { reason: 'SSHKeyNotFound', data: { one: ' \n' }, words: 'has no key "one"' },
    { reason: 'SSHKeyNotFound', data: { one: 'hello' }, words: 'line 1 is not an SSH public key' },
    { reason: 'SecretForbidden', data: new KubeError('Forbidden', 'not allowed'), words: 'cannot be read' },
  ])('reports what is wrong with a Secret: $words', async ({ reason, data, words }) => {
    const { secrets, run } = setUp();
    if (data !== undefined) secrets.set('keys', data);
    const { sshKeys } = await run(['sshKeys'], web({ spec: from('one') }));
    expect(sshKeys).toMatchObject({ ok: false, reason });
    expect(sshKeys?.ok === false ? sshKeys.message : '').toContain(words);
  });

  it('never sends or shows a private key', async () => {
    const { secrets, run } = setUp();
    const text = `${OTHER_KEY}\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk`;
    secrets.set('keys', { one: text });
    const { sshKeys } = await run(['sshKeys'], web({ spec: from('one') }));
    expect(sshKeys).toMatchObject({ ok: false, reason: 'SSHKeyNotFound' });
    expect(JSON.stringify(sshKeys)).not.toContain('b3BlbnNzaC1rZXk');
  });

  it('leaves a Secret that cannot be read now to the next visit', async () => {
    const { secrets, run } = setUp();
    secrets.set('keys', new KubeError('Unreachable', 'no answer'));
    await expect(run(['sshKeys'], web({ spec: from('one') }))).rejects.toThrow('no answer');
  });
});

describe('gathering the lists of the provider', () => {
  it('reads them once it has a token', async () => {
    const { run } = setUp({ catalog: () => Promise.resolve(CATALOG) });
    expect((await run(['credentials', 'catalog'])).catalog).toEqual({ ok: true, catalog: CATALOG });
  });

  it('reports which fault prevents it', async () => {
    const down = setUp({
      catalog: () => Promise.reject(new ProviderError('PROVIDER_UNREACHABLE', 'down', { retryAfterMs: 7 })),
    });
    expect((await down.run(['credentials', 'catalog'])).catalog).toEqual({
      ok: false,
      reason: 'ProviderUnavailable',
      message:
        'Down. The operator retries automatically. If this persists, check --base-url, the network and the provider.',
      retryAfterMs: 7,
    });
    const refused = setUp({
      ensureToken: () => Promise.reject(new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'refused')),
    });
    expect((await refused.run(['credentials', 'catalog'])).catalog).toMatchObject({ reason: 'InvalidCredentials' });
  });

  it('rethrows a bug instead of treating it as a fault of the provider', async () => {
    const { run } = setUp({ catalog: () => Promise.reject(new RangeError('a bug')) });
    await expect(run(['credentials', 'catalog'])).rejects.toThrow('a bug');
    await expect(run(['catalog'])).rejects.toThrow('before the credentials');
  });
});

describe('gathering credentials', () => {
  it('names the account that the key belongs to', async () => {
    expect(await setUp().run(['credentials'])).toMatchObject({ credentials: { ok: true, account: 'acc' } });
  });

  it('uses the last good key for an object that holds a server, and for no other', async () => {
    const { secrets, timers, run } = setUp();
    await run(['credentials']);
    secrets.delete('vps-api-key');
    timers.advance(1_000);
    expect((await run(['credentials'])).credentials).toMatchObject({ ok: false, reason: 'SecretNotFound' });
    expect((await run(['credentials'], webWith(HELD))).credentials).toMatchObject({ ok: true });
  });
});

describe('gathering the delay of a create', () => {
  it('reserves one create of the hour, on a clock that does not jump', async () => {
    const { timers, run } = setUp();
    const other = web();
    other.metadata.uid = 'another';
    expect((await run(['createDelay'])).createDelayMs).toBe(0);
    timers.advance(1_000);
    expect((await run(['createDelay'], other)).createDelayMs).toBe(3_599_000);
  });
});
