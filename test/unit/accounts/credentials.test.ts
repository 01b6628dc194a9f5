import { describe, expect, it } from 'vitest';
import { Credentials, type Use } from '../../../src/accounts/credentials.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { ReadSecret, SecretData } from '../../../src/kube/types.ts';
import type { ApiKey, Session } from '../../../src/provider/types.ts';
import { fakeProvider } from '../../gen/provider.ts';
import { FakeTimers } from '../../gen/timers.ts';

const KEY = { keyId: 'key-1', secret: 'first-secret' };
const OTHER = { keyId: 'key-2', secret: 'second-secret' };
const REFRESH_MS = 600_000;
const held = { held: true, deleting: false };
const deleting = { held: true, deleting: true };
const fresh = { held: false, deleting: false };

/** Secrets as the API server has them, and sessions that are their key; both are plain interfaces to this room. */
function setUp(operatorNamespace: string | undefined = 'operator') {
  const timers = new FakeTimers();
  const secrets = new Map<string, SecretData | ReadSecret | KubeError>();
  const reads: string[] = [];
  const forgotten: ApiKey[] = [];
  const changed: string[] = [];
  const tenants: (string | undefined)[] = [];
  const retried: ApiKey[] = [];
  const accepted = new Set<string>();
  let recovered: ((key: ApiKey) => void) | undefined;
  const credentials = new Credentials({
    kube: {
      getSecret: async (namespace, name) => {
        reads.push(`${namespace}/${name}`);
        await Promise.resolve();
        const found = secrets.get(`${namespace}/${name}`);
        if (found instanceof KubeError) throw found;
        return found && (isRead(found) ? found : { data: found, resourceVersion: '1' });
      },
    },
    provider: fakeProvider(
      (key, tenant) => {
        tenants.push(tenant);
        return { account: key.keyId, isAccepted: accepted.has(key.keyId) } as Session;
      },
      {
        forget: (key) => void forgotten.push(key),
        retryLogin: (key) => void retried.push(key),
        onRecovered: (listener) => (recovered = listener),
      },
    ),
    timers,
    refreshMs: REFRESH_MS,
    operatorNamespace,
    onChange: (namespace, name) => changed.push(`${namespace}/${name}`),
  });
  const account = async (use: Use, name = 'vps-api-key'): Promise<string> => {
    const found = await credentials.get('ns', name, use);
    return found.ok ? found.session.account : found.reason;
  };
  const works = (key: ApiKey): void => recovered?.(key);
  return { credentials, secrets, reads, forgotten, changed, tenants, retried, accepted, works, timers, account };
}

function isRead(secret: SecretData | ReadSecret): secret is ReadSecret {
  return typeof secret.data === 'object';
}

describe('a Secret', () => {
  it('gives a session that waits in line for the namespace of the object, with the fallback key, too', async () => {
    const { secrets, account, tenants } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('operator/ns.other', OTHER);
    expect(await account(held)).toBe('key-1');
    expect(await account(deleting, 'other')).toBe('key-2');
    expect(tenants).toEqual(['ns', 'ns']);
  });

  it('is read once by many objects, and again after the refresh interval', async () => {
    const { secrets, reads, account, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    expect(await Promise.all([account(fresh), account(held), account(deleting)])).toEqual(['key-1', 'key-1', 'key-1']);
    expect(reads).toHaveLength(1);
    timers.advance(REFRESH_MS - 1);
    await account(held);
    expect(reads).toHaveLength(1);
    timers.advance(1);
    await account(held);
    expect(reads).toHaveLength(2);
  });

  it.each<{ reason: string; data: SecretData | KubeError | undefined; words: string }>([
    { reason: 'SecretNotFound', data: undefined, words: 'Secret ns/vps-api-key with the API key does not exist' },
    { reason: 'SecretInvalid', data: { keyId: 'key-1' }, words: 'it lacks "secret"' },
    { reason: 'SecretInvalid', data: { keyId: '', secret: '\n' }, words: 'it lacks "keyId" and "secret"' },
    { reason: 'SecretForbidden', data: new KubeError('Forbidden', 'not allowed'), words: 'not allowed' },
  ])(
    'that is of no use is $reason, with words and a time for the next try: $words',
    async ({ reason, data, words }) => {
      const { credentials, secrets } = setUp();
      if (data !== undefined) secrets.set('ns/vps-api-key', data);
      const found = await credentials.get('ns', 'vps-api-key', fresh);
      expect(found).toMatchObject({ ok: false, reason, retryAfterMs: 1_000 });
      expect(found.ok ? '' : found.message).toContain(words);
    },
  );

  it('may end with the line break of an editor, and hold any other character', async () => {
    const { credentials, secrets } = setUp();
    secrets.set('ns/vps-api-key', { keyId: 'key-1\n', secret: ' a:b+%\r\n' });
    expect((await credentials.get('ns', 'vps-api-key', fresh)).ok).toBe(true);
  });

  it('never shows in words what it holds', async () => {
    const { credentials, secrets } = setUp();
    secrets.set('ns/vps-api-key', { keyId: '', secret: 'first-secret' });
    expect(JSON.stringify(await credentials.get('ns', 'vps-api-key', fresh))).not.toContain('first-secret');
  });

  it('that is missing is looked for with growing pauses, at most a minute', async () => {
    const { credentials, reads, timers } = setUp();
    const pauses: (number | undefined)[] = [];
    for (let index = 0; index < 9; index++) {
      const found = await credentials.get('ns', 'vps-api-key', fresh);
      pauses.push(found.ok ? undefined : found.retryAfterMs);
      await credentials.get('ns', 'vps-api-key', fresh);
      timers.advance((found.ok ? undefined : found.retryAfterMs) ?? 0);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(reads).toHaveLength(9);
  });

  it('that cannot be read now is a fault, not a missing Secret, and is read again at the next visit', async () => {
    const { secrets, account, reads } = setUp();
    secrets.set('ns/vps-api-key', new KubeError('Unreachable', 'no answer'));
    await expect(account(fresh)).rejects.toThrow('no answer');
    secrets.set('ns/vps-api-key', KEY);
    expect(await account(fresh)).toBe('key-1');
    expect(reads).toHaveLength(2);
  });

  it('wakes who waits for it when it is mended, and nobody when it is first read', async () => {
    const { secrets, changed, account, timers } = setUp();
    await account(fresh);
    secrets.set('ns/vps-api-key', KEY);
    timers.advance(1_000);
    expect(await account(fresh)).toBe('key-1');
    expect(changed).toEqual(['ns/vps-api-key']);
    secrets.set('ns/other', OTHER);
    expect(await account(fresh, 'other')).toBe('key-2');
    expect(changed).toHaveLength(1);
  });
});

describe('a key that the provider refused', () => {
  it('is read again at once, then with growing pauses, also after long good times', async () => {
    const { secrets, credentials, account, timers, reads } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    for (let hour = 0; hour < 20; hour++) {
      await account(held);
      timers.advance(REFRESH_MS);
    }
    const before = reads.length;
    credentials.suspect('ns', 'vps-api-key');
    await account(held);
    expect(reads).toHaveLength(before + 1);
    timers.advance(999);
    await account(held);
    expect(reads).toHaveLength(before + 1);
    timers.advance(1);
    await account(held);
    expect(reads).toHaveLength(before + 2);
  });

  it('makes room for the next one, is forgotten, and those who wait are woken', async () => {
    const { secrets, credentials, account, forgotten, changed } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    await account(held);
    credentials.suspect('ns', 'vps-api-key');
    secrets.set('ns/vps-api-key', OTHER);
    expect(await account(held)).toBe('key-2');
    expect(forgotten).toEqual([KEY]);
    expect(changed).toEqual(['ns/vps-api-key']);
  });

  it('is not forgotten while another Secret holds it, too', async () => {
    const { secrets, account, forgotten, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('ns/other', KEY);
    await account(held);
    await account(held, 'other');
    secrets.set('ns/vps-api-key', OTHER);
    timers.advance(REFRESH_MS);
    expect(await account(held)).toBe('key-2');
    expect(forgotten).toEqual([]);
  });
});

describe('a refused key that may work now', () => {
  const version = (resourceVersion: string, data: SecretData = KEY): ReadSecret => ({ data, resourceVersion });

  async function refused() {
    const world = setUp();
    world.secrets.set('ns/vps-api-key', version('1'));
    await world.account(held);
    world.credentials.suspect('ns', 'vps-api-key');
    await world.account(held);
    return world;
  }

  it('is tried again when its Secret is written with the same content, and those who wait are woken', async () => {
    const { secrets, account, timers, retried, changed, reads } = await refused();
    expect(retried).toEqual([]);
    secrets.set('ns/vps-api-key', version('2'));
    timers.advance(1_000);
    expect(await account(held)).toBe('key-1');
    expect(retried).toEqual([KEY]);
    expect(changed).toEqual(['ns/vps-api-key']);
    // The Secret is read as soon again as after the first refusal.
    timers.advance(1_000);
    await account(held);
    expect(reads).toHaveLength(4);
    expect(retried).toHaveLength(1);
  });

  it('is not tried again because its Secret was read again', async () => {
    const { account, timers, retried, changed } = await refused();
    for (let minute = 0; minute < 5; minute++) {
      timers.advance(60_000);
      await account(held);
    }
    expect(retried).toEqual([]);
    expect(changed).toEqual([]);
  });

  it('is tried again, and its Secret read, when a person changes an object that uses it', async () => {
    const { account, timers, retried, reads } = await refused();
    timers.advance(60_000);
    await account(held);
    await account(held);
    const before = reads.length;
    timers.advance(999);
    await account({ ...held, asked: true });
    expect(retried).toEqual([KEY]);
    expect(reads).toHaveLength(before);
    timers.advance(1);
    await account({ ...held, asked: true });
    expect(reads).toHaveLength(before + 1);
  });

  it('wakes all who use it, from whatever Secret, when it works again, and its Secrets are left alone', async () => {
    const { secrets, account, credentials, works, changed, reads, timers } = await refused();
    secrets.set('operator/ns.other', version('7')).set('ns/third', version('8', OTHER));
    await account(deleting, 'other');
    await account(held, 'third');
    works({ ...KEY });
    expect(changed).toEqual(['ns/vps-api-key', 'operator/ns.other', 'ns/other']);
    const before = reads.length;
    timers.advance(60_000);
    await account(held);
    expect(reads).toHaveLength(before);
    // A later refusal begins with short pauses again.
    credentials.suspect('ns', 'vps-api-key');
    await account(held);
    timers.advance(1_000);
    await account(held);
    expect(reads).toHaveLength(before + 2);
  });
});

describe('the account of a Secret', () => {
  it('is known once the provider has accepted the key', async () => {
    const { credentials, secrets, account, accepted } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    expect(credentials.acceptedAccount('ns', 'vps-api-key')).toBeUndefined();
    expect(await account(held)).toBe('key-1');
    expect(credentials.acceptedAccount('ns', 'vps-api-key')).toBeUndefined();
    accepted.add('key-1');
    expect(credentials.acceptedAccount('ns', 'vps-api-key')).toBe('key-1');
    expect(credentials.acceptedAccount('elsewhere', 'vps-api-key')).toBeUndefined();
  });
});

describe('when the Secret is gone', () => {
  it('the last good key serves objects that hold something, and no others', async () => {
    const { secrets, account, credentials, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    await account(held);
    secrets.delete('ns/vps-api-key');
    timers.advance(REFRESH_MS);
    expect(await account(fresh)).toBe('SecretNotFound');
    expect(await account(held)).toBe('key-1');
    expect(await credentials.get('ns', 'vps-api-key', held)).toMatchObject({
      note: expect.stringContaining('last key') as string,
    });
  });

  it('the fallback serves deleted objects alone', async () => {
    const { secrets, account } = setUp();
    secrets.set('operator/ns.vps-api-key', OTHER);
    expect(await account(held)).toBe('SecretNotFound');
    expect(await account(deleting)).toBe('key-2');
  });

  it('the fallback takes the place of a last key that was refused', async () => {
    const { secrets, account, credentials, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('operator/ns.vps-api-key', OTHER);
    await account(deleting);
    secrets.delete('ns/vps-api-key');
    timers.advance(REFRESH_MS);
    expect(await account(deleting)).toBe('key-1');
    credentials.suspect('ns', 'vps-api-key');
    expect(await account(deleting)).toBe('key-2');
    expect(await account(held)).toBe('key-1');
  });

  it('a refused key of the fallback is read again as soon as that of a Secret', async () => {
    const { secrets, account, credentials, timers } = setUp();
    secrets.set('operator/ns.vps-api-key', KEY);
    expect(await account(deleting)).toBe('key-1');
    secrets.set('operator/ns.vps-api-key', OTHER);
    credentials.suspect('ns', 'vps-api-key');
    timers.advance(1_000);
    expect(await account(deleting)).toBe('key-2');
  });

  it('the words say where a fallback may be put', async () => {
    const { credentials } = setUp();
    const found = await credentials.get('ns', 'vps-api-key', deleting);
    expect(found.ok ? '' : found.message).toContain('create Secret ns.vps-api-key in operator');
  });
});

describe('keepOnly', () => {
  it('forgets keys that no object needs', async () => {
    const { secrets, account, credentials, forgotten, reads } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('ns/other', OTHER);
    await account(held);
    await account(held, 'other');
    credentials.keepOnly(new Set(['ns/other']));
    expect(forgotten).toEqual([KEY]);
    await account(held);
    await account(held, 'other');
    expect(reads).toHaveLength(3);
  });
});
