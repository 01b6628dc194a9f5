/** The connection Secret: its content, its owner, and what to write. */
import { describe, expect, it } from 'vitest';
import { untilVisit } from '../../../../src/virtual-server/decision/next.ts';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import {
  CONNECTION_KEYS,
  connectionData,
  connectionWrite,
  type ConnectionData,
  type ConnectionSecretState,
} from '../../../../src/virtual-server/decision/connection.ts';
import type { Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import type { Secret, SecretChanges } from '../../../../src/kube/kinds.ts';
import type { Server } from '../../../../src/provider/types.ts';
import {
  KNOWN,
  PRICED,
  SERVER,
  TIMING,
  UID,
  conditionsOf,
  denied,
  facts,
  shown,
  webWith,
} from '../../../fixtures/decision.ts';
import { afterLook } from '../../../fixtures/looks.ts';
import { fakeSecrets } from '../../../fixtures/doubles.ts';
import { visit } from '../../../fixtures/visits.ts';

const NAME = 'web-connection';
const VNC = { mode: 'disabled', password: 'pa55', display: 1, port: 5901, ipv4: '192.0.2.9', ipv6: '2001:db8::9' };
const FULL: Server = { ...SERVER, ipv4: ['192.0.2.1'], ipv6: ['2001:db8::1', '2001:db8::2'], vnc: VNC };

const asking = (spec: Partial<VirtualServerSpec> = {}): VirtualServer =>
  webWith(PRICED, { spec: { connectionSecretName: NAME, ...spec } });
const reference = { apiVersion: 'vps-operator.dev/v1alpha1', kind: 'VirtualServer', name: 'web', uid: UID };
const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'uid-of-x' };

/** The Secret that the operator created for `web`. */
function own(data: ConnectionData, metadata: Partial<Secret['metadata']> = {}): Secret {
  return {
    metadata: {
      namespace: 'default',
      name: NAME,
      uid: 'uid-of-secret',
      resourceVersion: '7',
      annotations: { [OWNER_ANNOTATION]: UID },
      ownerReferences: [reference],
      ...metadata,
    },
    type: CONNECTION_SECRET_TYPE,
    data: { ...data },
  };
}

const HOST_KEY = { type: 'ssh-ed25519', fingerprint: 'SHA256:x', key: 'AAAA', firstSeen: '2026-01-01T00:00:00Z' };

describe('the connection data', () => {
  it('has identifier, addresses, SSH through the proxy, admin console and VNC', () => {
    const data = connectionData(FULL, [HOST_KEY]);
    expect(data).toEqual({
      identifier: 'srv1',
      ipv6: '2001:db8::1,2001:db8::2',
      ipv4: '192.0.2.1',
      sshHost: 'proxy.example.com',
      sshPort: '20001',
      sshUser: 'root',
      adminConsoleHost: 'admin.srv1.vs.example.com',
      adminConsoleUser: 'srv1',
      vncMode: 'disabled',
      vncPassword: 'pa55',
      vncDisplay: '1',
      vncPort: '5901',
      vncIPv4: '192.0.2.9',
      vncIPv6: '2001:db8::9',
      known_hosts: ['[proxy.example.com]:20001', '2001:db8::1', '2001:db8::2', '192.0.2.1']
        .map((host) => `${host} ssh-ed25519 AAAA\n`)
        .join(''),
    });
    expect(Object.keys(data)).toEqual([...CONNECTION_KEYS]);
  });

  it.each<[string, Partial<Server>, string[]]>([
    ['addresses', { ipv4: [], ipv6: [] }, ['ipv4', 'ipv6']],
    ['a way in', { ipv6: [], sshProxy: undefined }, ['sshHost', 'sshPort', 'sshUser']],
    ['an SSH proxy that is safe for ssh', { ipv6: [], sshProxy: { hostname: '-oX', port: 1 } }, ['sshHost']],
    ['an admin console', { adminConsole: undefined }, ['adminConsoleHost', 'adminConsoleUser']],
    ['VNC', { vnc: undefined }, ['vncMode', 'vncPassword', 'vncPort', 'vncDisplay', 'vncIPv4', 'vncIPv6']],
    ['a password of a usable length', { vnc: { password: 'x'.repeat(1025) } }, ['vncPassword']],
    ['a password that is text', { vnc: { password: '\ud800' } }, ['vncPassword']],
  ])('leaves out what the provider does not show: %s', (_what, changes, absent) => {
    const data = connectionData({ ...FULL, ...changes }, []);
    for (const key of absent) expect(data).not.toHaveProperty(key);
    expect(data.identifier).toBe('srv1');
  });

  it('keeps a password of 1024 characters unchanged', () => {
    const password = '€"\n '.repeat(256);
    expect(connectionData({ ...FULL, vnc: { password } }, []).vncPassword).toBe(password);
  });
});

describe('the write of a connection Secret', () => {
  const data = connectionData(FULL, []);

  it('creates a Secret that is deleted with its object if there is none', () => {
    expect(connectionWrite(asking(), NAME, undefined, data)).toEqual({
      create: {
        metadata: {
          namespace: 'default',
          name: NAME,
          labels: { 'app.kubernetes.io/managed-by': 'vps-operator' },
          annotations: { [OWNER_ANNOTATION]: UID },
          ownerReferences: [reference],
        },
        type: CONNECTION_SECRET_TYPE,
        data,
      },
    });
  });

  it('creates a Secret without an owner reference for Retain', () => {
    const write = connectionWrite(asking({ deletionPolicy: 'Retain' }), NAME, undefined, data);
    expect(write).toMatchObject({ create: { metadata: { annotations: { [OWNER_ANNOTATION]: UID } } } });
    expect(JSON.stringify(write)).not.toContain('ownerReferences');
  });

  it('patches only the keys that differ, and no keys of others', () => {
    const present = own(data);
    present.data = { ...present.data, vncPassword: 'old', vncIPv4: '', mine: 'kept' };
    expect(connectionWrite(asking(), NAME, present, connectionData({ ...FULL, adminConsole: undefined }, []))).toEqual({
      patch: { data: { adminConsoleHost: null, adminConsoleUser: null, vncPassword: 'pa55', vncIPv4: '192.0.2.9' } },
    });
  });

  it.each([
    { policy: 'Delete', before: [], after: [reference] },
    { policy: 'Delete', before: [other], after: [other, reference] },
    { policy: 'Retain', before: [reference], after: [] },
    { policy: 'Retain', before: [reference, other], after: [other] },
  ] as const)('sets the owner references for $policy and keeps those of others: $after.length', (given) => {
    const object = asking({ deletionPolicy: given.policy });
    const bound = own(data, { ownerReferences: [...given.before] });
    for (const wanted of [data, undefined]) {
      expect(connectionWrite(object, NAME, bound, wanted)).toEqual({
        patch: { metadata: { ownerReferences: given.after } },
      });
      expect(connectionWrite(object, NAME, own(data, { ownerReferences: [...given.after] }), wanted)).toBe('same');
    }
  });

  it('creates no Secret if there is no data', () => {
    for (const none of [undefined, {}]) expect(connectionWrite(asking(), NAME, undefined, none)).toBe('same');
  });

  it.each<[string, Secret]>([
    ['of another type', { ...own(data), type: 'Opaque' }],
    ['of another object', own(data, { annotations: { [OWNER_ANNOTATION]: 'uid-of-another' } })],
    ['that only refers to the object', { ...own(data), metadata: { ...own(data).metadata, annotations: {} } }],
  ])('never touches a Secret %s', (_what, present) => {
    for (const wanted of [data, {}, undefined]) expect(connectionWrite(asking(), NAME, present, wanted)).toBe('taken');
  });
});

describe('a server that is read with connectionSecretName', () => {
  const seen = (object: VirtualServer, connection?: ConnectionSecretState): Outcome =>
    afterLook(viewOf(object, facts()), PRICED, { ...shown(FULL), ...(connection && { connection }) });
  const after = (object: VirtualServer, { status }: Outcome): VirtualServer => ({
    ...object,
    ...(status && { status }),
  });
  const found = (next: Outcome) => next.status?.conditions?.find(({ type }) => type === 'ConnectionSecret');

  it.each<{
    connection: ConnectionSecretState;
    status: string;
    reason: string;
    words: string;
    event: string;
    again: number;
  }>([
    {
      connection: { state: 'written' },
      status: 'True',
      reason: 'ConnectionSecretWritten',
      words: 'Secret web-connection holds',
      event: 'Normal',
      again: TIMING.resyncMs,
    },
    {
      connection: { state: 'disabled' },
      status: 'False',
      reason: 'ConnectionSecretsDisabled',
      words: 'runs without --connection-secrets',
      event: 'Warning',
      again: TIMING.resyncMs,
    },
    {
      connection: { state: 'taken' },
      status: 'False',
      reason: 'ConnectionSecretTaken',
      words: 'does not belong to this object, so the operator does not change it',
      event: 'Warning',
      again: TIMING.resyncMs,
    },
    {
      connection: { state: 'failed', why: 'secrets is forbidden' },
      status: 'False',
      reason: 'ConnectionSecretFailed',
      words: 'is not up to date: secrets is forbidden',
      event: 'Warning',
      again: TIMING.pollMs,
    },
  ])('is Ready regardless, and reports $reason', ({ connection, status, reason, words, event, again }) => {
    const next = seen(asking(), connection);
    expect(conditionsOf(next)).toMatchObject({ Ready: 'True Available' });
    expect(found(next)).toMatchObject({ status, reason });
    expect(found(next)?.message).toContain(words);
    expect(next.events.filter((note) => note.reason === reason)).toMatchObject([{ type: event }]);
    expect(untilVisit(next.when)).toBeLessThanOrEqual(again);
    expect(untilVisit(next.when)).toBeGreaterThanOrEqual(again * 0.9);
    expect(JSON.stringify(next)).not.toContain(VNC.password);
    // The second read changes nothing.
    const second = seen(after(asking(), next), connection);
    expect(second.status).toEqual(next.status);
    expect(second.events).toEqual([]);
  });

  it('keeps the condition while the server cannot be read', () => {
    const before = after(asking(), seen(asking(), { state: 'written' }));
    const missing = afterLook(viewOf(before, facts()), PRICED, denied(true));
    expect(found(missing)).toMatchObject({ status: 'True' });
  });
});

describe('a server that has expired', () => {
  const EXPIRED = { ...KNOWN, expiredAt: '2026-01-01T00:00:00Z' };
  const expired = webWith(EXPIRED, { spec: { connectionSecretName: NAME } });

  it('has its Secret emptied at every visit', async () => {
    const { adminConsoleHost: _host, ...rest } = Object.fromEntries(CONNECTION_KEYS.map((key) => [key, null]));
    const { adminConsoleHost: _kept, ...data } = connectionData(FULL, [HOST_KEY]);
    const patches: SecretChanges[] = [];
    const secrets = fakeSecrets({
      get: () => Promise.resolve(own(data)),
      patch: (_version, changes) => {
        patches.push(changes);
        return Promise.resolve();
      },
    });
    const first = await visit(expired, { secrets });
    const second = await visit(first.object ?? expired, { secrets, memo: first.memo });
    expect(patches).toEqual([{ data: rest }, { data: rest }]);
    expect(second.calls).toEqual(['live']);
    for (const { object, requeueAfterMs } of [first, second]) {
      expect(conditionsOf(object ?? {})).toEqual({ Ready: 'False Expired', Stalled: 'True Expired' });
      expect(requeueAfterMs).toBeUndefined();
    }
  });
});
