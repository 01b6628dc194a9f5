import { timestamp } from '../../../src/base/duration.ts';
import { describe, expect, it } from 'vitest';
import { Accounts, type Use } from '../../../src/accounts/accounts.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { KeepsFailing } from '../../../src/kube/failing-reads.ts';
import type { ReadSecret } from '../../../src/kube/kinds.ts';
import type { ApiKey, OrdersGo, OrdersTold, Session } from '../../../src/provider/types.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

type World = ReturnType<typeof setUp>;

const KEY = { keyId: 'key-1', secret: 'first-secret' };
const OTHER = { keyId: 'key-2', secret: 'second-secret' };
const REFRESH_MS = 600_000;
const held = { held: true, deleting: false };
const deleting = { held: true, deleting: true };
const fresh = { held: false, deleting: false };

/** Fake Secrets and sessions; each session is its key. This module only sees their interfaces. */
function setUp(operatorNamespace: string | undefined = 'operator') {
  const timers = new FakeTimers();
  const secrets = new Map<string, ReadSecret['data'] | ReadSecret | KubeError>();
  const reads: string[] = [];
  /** The keys for which there is an account, in order of creation. */
  const created: ApiKey[] = [];
  const changed: string[] = [];
  const redirected: string[] = [];
  const told: OrdersTold[] = [];
  let way: OrdersGo | undefined;
  const lines: { level: string; msg: string; secrets?: string[] }[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as (typeof lines)[number]);
  const log = createLogger({ level: 'info', destination: { write } });
  const tenants: (string | undefined)[] = [];
  const retried: ApiKey[] = [];
  const accepted = new Set<string>();
  const refused = new Set<string>();
  let recoveries = 0;
  const accounts = new Accounts({
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
        return { account: key.keyId } as Session;
      },
      (key, tell) => {
        created.push(key);
        if (tell !== undefined) told.push(tell);
        return {
          ordersGo: () => way ?? 'unknown',
          isAccepted: () => accepted.has(key.keyId),
          isRefused: () => refused.has(key.keyId),
          recoveries: () => (key.keyId === KEY.keyId ? recoveries : 0),
          retryLogin: () => void retried.push(key),
        };
      },
    ),
    timers,
    log,
    refreshMs: REFRESH_MS,
    operatorNamespace,
    onChange: (namespace, name) => changed.push(`${namespace}/${name}`),
    onOrders: (namespace, name) => redirected.push(`${namespace}/${name}`),
  });
  const account = async (use: Use, name = 'vps-api-key'): Promise<string> => {
    const found = await accounts.get('ns', name, use);
    return found.ok ? found.value.session.account : found.error.reason;
  };
  /** The provider accepts KEY after refusing it. */
  const recover = (): void => {
    refused.delete(KEY.keyId);
    recoveries += 1;
  };
  /** The orders of the first account go another way. */
  const redirect = (next: OrdersGo): void => {
    told[0]?.(next, way);
    way = next;
  };
  return {
    accounts,
    secrets,
    reads,
    created,
    changed,
    tenants,
    retried,
    accepted,
    refused,
    recover,
    timers,
    account,
    redirect,
    redirected,
    lines,
  };
}

function isRead(secret: ReadSecret['data'] | ReadSecret): secret is ReadSecret {
  return typeof secret.data === 'object';
}

describe('a Secret', () => {
  it('gives a session whose tenant is the namespace of the object, even with the fallback key', async () => {
    const { secrets, account, tenants } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('operator/ns.other', OTHER);
    expect(await account(held)).toBe('key-1');
    expect(await account(deleting, 'other')).toBe('key-2');
    expect(tenants).toEqual(['ns', 'ns']);
  });

  it('is read once for many objects, and again after the refresh interval', async () => {
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

  it.each<{ reason: string; data: ReadSecret['data'] | KubeError | undefined; words: string }>([
    {
      reason: 'SecretNotFound',
      data: undefined,
      words: 'Secret ns/vps-api-key, which should hold the API key, does not exist',
    },
    { reason: 'SecretInvalid', data: { keyId: 'key-1' }, words: 'it lacks "secret"' },
    { reason: 'SecretInvalid', data: { keyId: '', secret: '\n' }, words: 'it lacks "keyId" and "secret"' },
    {
      reason: 'SecretForbidden',
      data: new KubeError('Forbidden', 'not allowed'),
      words: 'not allowed. Grant the operator',
    },
    {
      reason: 'SecretForbidden',
      data: new KeepsFailing('ServerError', 'The API server answers 500 since 2026.', { status: 500 }),
      words: 'answers 500 since 2026. Repair the API server',
    },
  ])(
    'without a usable key is $reason, with a message and a delay until the next try: $words',
    async ({ reason, data, words }) => {
      const { accounts, secrets } = setUp();
      if (data !== undefined) secrets.set('ns/vps-api-key', data);
      const found = await accounts.get('ns', 'vps-api-key', fresh);
      expect(found).toMatchObject({ ok: false, error: { reason, retryAfterMs: 1_000 } });
      expect(found.ok ? '' : found.error.message).toContain(words);
    },
  );

  it('never reveals its contents in a message', async () => {
    const { accounts, secrets } = setUp();
    secrets.set('ns/vps-api-key', { keyId: '', secret: 'first-secret' });
    expect(JSON.stringify(await accounts.get('ns', 'vps-api-key', fresh))).not.toContain('first-secret');
  });

  it('is read again with growing delays, at most one minute, while it is missing', async () => {
    const { accounts, reads, timers } = setUp();
    const pauses: (number | undefined)[] = [];
    for (let index = 0; index < 9; index++) {
      const found = await accounts.get('ns', 'vps-api-key', fresh);
      pauses.push(found.ok ? undefined : found.error.retryAfterMs);
      await accounts.get('ns', 'vps-api-key', fresh);
      timers.advance((found.ok ? undefined : found.error.retryAfterMs) ?? 0);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(reads).toHaveLength(9);
  });

  it('causes an error if it cannot be read, does not count as missing, and is read again at the next visit', async () => {
    const { secrets, account, reads } = setUp();
    secrets.set('ns/vps-api-key', new KubeError('Unreachable', 'no answer'));
    await expect(account(fresh)).rejects.toThrow('no answer');
    secrets.set('ns/vps-api-key', KEY);
    expect(await account(fresh)).toBe('key-1');
    expect(reads).toHaveLength(2);
  });

  it('wakes waiting objects when it is fixed, but not when it is first read', async () => {
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

describe('a refused key', () => {
  it.each([
    { why: 'the provider refuses it', fail: ({ refused }: World) => void refused.add(KEY.keyId) },
    {
      why: 'it does not see what an object holds',
      fail: ({ accounts }: World) => accounts.suspect('ns', 'vps-api-key'),
    },
  ])('is read again at once if $why, then with growing delays, even after it worked for long', async ({ fail }) => {
    const world = setUp();
    const { secrets, account, timers, reads } = world;
    secrets.set('ns/vps-api-key', KEY);
    for (let hour = 0; hour < 20; hour++) {
      await account(held);
      timers.advance(REFRESH_MS);
    }
    const before = reads.length;
    fail(world);
    await account(held);
    expect(reads).toHaveLength(before + 1);
    timers.advance(999);
    await account(held);
    expect(reads).toHaveLength(before + 1);
    timers.advance(1);
    await account(held);
    expect(reads).toHaveLength(before + 2);
  });

  it('is replaced as soon as its Secret has another, and waiting objects are woken', async () => {
    const { secrets, account, refused, changed } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    await account(held);
    refused.add(KEY.keyId);
    secrets.set('ns/vps-api-key', OTHER);
    expect(await account(held)).toBe('key-2');
    expect(changed).toEqual(['ns/vps-api-key']);
  });

  it('has one account for all Secrets that contain it, until none does', async () => {
    const { secrets, account, created, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('ns/other', KEY);
    await account(held);
    await account(held, 'other');
    secrets.set('ns/vps-api-key', OTHER);
    timers.advance(REFRESH_MS);
    expect(await account(held)).toBe('key-2');
    secrets.set('ns/vps-api-key', KEY);
    timers.advance(REFRESH_MS);
    expect(await account(held)).toBe('key-1');
    expect(created).toEqual([KEY, OTHER]);
    for (const name of ['vps-api-key', 'other']) {
      secrets.set(`ns/${name}`, OTHER);
      timers.advance(REFRESH_MS);
      expect(await account(held, name)).toBe('key-2');
    }
    secrets.set('ns/vps-api-key', KEY);
    timers.advance(REFRESH_MS);
    expect(await account(held)).toBe('key-1');
    expect(created).toEqual([KEY, OTHER, OTHER, KEY]);
  });
});

describe('a refused key that may work now', () => {
  const version = (resourceVersion: string, data: ReadSecret['data'] = KEY): ReadSecret => ({ data, resourceVersion });

  async function refused() {
    const world = setUp();
    world.secrets.set('ns/vps-api-key', version('1'));
    await world.account(held);
    world.refused.add(KEY.keyId);
    await world.account(held);
    return world;
  }

  it('is tried again when its Secret is rewritten with the same content, and waiting objects are woken', async () => {
    const { secrets, account, timers, retried, changed, reads } = await refused();
    expect(retried).toEqual([]);
    secrets.set('ns/vps-api-key', version('2'));
    timers.advance(1_000);
    expect(await account(held)).toBe('key-1');
    expect(retried).toEqual([KEY]);
    expect(changed).toEqual(['ns/vps-api-key']);
    // The next read comes as soon as after the first refusal.
    timers.advance(1_000);
    await account(held);
    expect(reads).toHaveLength(4);
    expect(retried).toHaveLength(1);
  });

  it('is tried again, and its Secret is read, when a user changes an object that uses it', async () => {
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

  it('is read again though it works, at most once a second, for an object that you change and that holds nothing', async () => {
    const { secrets, account, timers, reads } = setUp();
    secrets.set('ns/vps-api-key', version('1'));
    const asked = { held: false, deleting: false, asked: true };
    await account(asked);
    await account(asked);
    expect(reads).toHaveLength(1);
    timers.advance(1_000);
    await account({ ...held, asked: true });
    expect(reads).toHaveLength(1);
    await account(asked);
    expect(reads).toHaveLength(2);
  });

  it('wakes all objects that use it from any Secret when it works again, without reading the Secrets', async () => {
    const world = await refused();
    const { secrets, account, recover, changed, reads, timers } = world;
    secrets.set('operator/ns.other', version('7')).set('ns/third', version('8', OTHER));
    await account(deleting, 'other');
    await account(held, 'third');
    recover();
    await account(held, 'third');
    expect(changed).toEqual([]);
    const before = reads.length;
    timers.advance(60_000);
    for (let visit = 0; visit < 2; visit++) await account(held);
    expect(changed).toEqual(['ns/vps-api-key', 'operator/ns.other', 'ns/other']);
    expect(reads).toHaveLength(before);
    // A later refusal starts with short delays again.
    world.refused.add(KEY.keyId);
    await account(held);
    timers.advance(1_000);
    await account(held);
    expect(reads).toHaveLength(before + 2);
  });
});

describe('the account of a Secret', () => {
  it('is known once the provider has accepted the key', async () => {
    const { accounts, secrets, account, accepted } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    expect(accounts.acceptedAccount('ns', 'vps-api-key')).toBeUndefined();
    expect(await account(held)).toBe('key-1');
    expect(accounts.acceptedAccount('ns', 'vps-api-key')).toBeUndefined();
    accepted.add('key-1');
    expect(accounts.acceptedAccount('ns', 'vps-api-key')).toBe('key-1');
    expect(accounts.acceptedAccount('elsewhere', 'vps-api-key')).toBeUndefined();
  });
});

describe('after the Secret is gone', () => {
  it('the last good key serves only objects that have a server or an attempt', async () => {
    const { secrets, account, accounts, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    await account(held);
    secrets.delete('ns/vps-api-key');
    timers.advance(REFRESH_MS);
    expect(await account(fresh)).toBe('SecretNotFound');
    expect(await account(held)).toBe('key-1');
    expect(await accounts.get('ns', 'vps-api-key', held)).toMatchObject({
      value: { note: expect.stringContaining('last key') as string },
    });
  });

  it('the note says since when, which does not change with each read, and ends with the Secret', async () => {
    const { secrets, account, accounts, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    await account(held);
    secrets.delete('ns/vps-api-key');
    timers.advance(REFRESH_MS);
    const noted = async (): Promise<unknown> => await accounts.get('ns', 'vps-api-key', held);
    const since = timestamp(timers.now());
    const first = await noted();
    expect(first).toMatchObject({
      value: {
        note: expect.stringMatching(
          new RegExp(
            `last key .*, since ${since}\\. The server runs on; once the operator restarts .* neither read nor cancel`,
          ),
        ) as string,
      },
    });
    timers.advance(REFRESH_MS * 10);
    expect(await noted()).toMatchObject({ value: { note: (first as { value: { note: string } }).value.note } });
    secrets.set('ns/vps-api-key', KEY);
    timers.advance(REFRESH_MS);
    expect(await noted()).toMatchObject({ value: { note: undefined } });
  });

  it('the fallback replaces a last key that was refused', async () => {
    const { secrets, account, refused, timers } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('operator/ns.vps-api-key', OTHER);
    await account(deleting);
    secrets.delete('ns/vps-api-key');
    timers.advance(REFRESH_MS);
    expect(await account(deleting)).toBe('key-1');
    refused.add(KEY.keyId);
    expect(await account(deleting)).toBe('key-2');
    expect(await account(held)).toBe('key-1');
  });

  it('the message says where to create a fallback', async () => {
    const { accounts } = setUp();
    const found = await accounts.get('ns', 'vps-api-key', deleting);
    expect(found.ok ? '' : found.error.message).toContain('create Secret ns.vps-api-key in operator');
  });
});

describe('once a minute', () => {
  it('keys that no object uses are forgotten', async () => {
    const { secrets, account, accounts, created, timers, reads } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('operator/ns.other', OTHER);
    await account(held);
    await account(deleting, 'other');
    accounts.start(() => [{ namespace: 'ns', name: 'other' }]);
    timers.advance(59_999);
    const before = reads.length;
    await account(held);
    expect(reads).toHaveLength(before);
    timers.advance(1);
    await account(held);
    await account(deleting, 'other');
    expect(reads.slice(before)).toEqual(['ns/vps-api-key', 'ns/other']);
    expect(created).toEqual([KEY, OTHER, KEY]);
  });

  it('the objects are woken whose key works again, even if none of them is visited', async () => {
    const { secrets, account, accounts, changed, timers, refused, recover } = setUp();
    secrets.set('ns/vps-api-key', KEY);
    accounts.start(() => [{ namespace: 'ns', name: 'vps-api-key' }]);
    await account(held);
    refused.add(KEY.keyId);
    recover();
    timers.advance(60_000);
    expect(changed).toEqual(['ns/vps-api-key']);
    timers.advance(60_000);
    expect(changed).toHaveLength(1);
    accounts.stop();
    recover();
    timers.advance(60_000);
    expect(changed).toHaveLength(1);
  });
});

describe('which way orders go', () => {
  it('is logged once for all Secrets with the key, and counted by account', async () => {
    const { accounts, secrets, account, redirect, redirected, lines } = setUp();
    secrets.set('ns/vps-api-key', KEY).set('ns/same', KEY);
    for (const name of ['vps-api-key', 'same']) await account(fresh, name);
    expect(accounts.ordersGo()).toEqual({ named: 0, anonymous: 0, refused: 0, unknown: 1 });
    redirect('named');
    expect(lines).toMatchObject([{ level: 'info', msg: 'orders go under an identifier' }]);
    // Nothing was shown before.
    expect(redirected).toEqual([]);
    redirect('refused');
    expect(lines.slice(1)).toMatchObject([
      { level: 'warn', msg: expect.stringContaining('go without an identifier') as string, secrets: redirected },
    ]);
    expect(redirected).toEqual(['ns/vps-api-key', 'ns/same']);
    expect(accounts.ordersGo()).toEqual({ named: 0, anonymous: 0, refused: 1, unknown: 0 });
    expect(JSON.stringify(lines)).not.toContain(KEY.secret);
  });
});
