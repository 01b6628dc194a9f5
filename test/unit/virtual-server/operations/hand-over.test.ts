/** When an object takes over the server of another one, what it then holds, and how the other one goes. */
import { describe, expect, it } from 'vitest';
import {
  CANCEL_NOW_ANNOTATION,
  FINALIZER,
  FORCE_OFF_ANNOTATION,
  HAND_OVER_ANNOTATION,
  HAND_OVER_MARK_ANNOTATION,
  PAUSED_ANNOTATION,
  REBOOT_ANNOTATION,
  RECORD_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  TAKE_OVER_ANNOTATION,
} from '../../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../../src/api/record.ts';
import { viewRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { annotatedRecordOf } from '../../../fixtures/records.ts';
import {
  ELSEWHERE,
  HELD,
  KNOWN,
  NOW,
  SERVER,
  TIMING,
  memo,
  record as unordered,
  web,
  webWith,
  type Shape,
} from '../../../fixtures/decision.ts';
import { stored, storedWith } from '../../../fixtures/virtual-server.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const OLD = 'uid-of-old';
const TIME = '2026-01-02T00:00:00Z';
/** The provider has denied the server often and long enough. */
const PROVEN = { of: 'server srv1', since: -1e6, counted: 3, countedAt: -1e6, lastAt: 0, unlisted: 'no' } as const;
const ANSWERED = { state: 'answered', identifier: 'srv1', said: 'ok', since: 0, askedAt: 0 } as const;
const FROM_WEB = { name: 'web', uid: 'uid-of-web', identifier: 'srv1' };
const record: ServerRecord = { ...KNOWN, owner: OLD, readyAt: '2026-01-01T10:00:00Z', account: 'account-1' };

interface GiverShape {
  own?: ServerRecord;
  spec?: Partial<VirtualServerSpec>;
  annotations?: Record<string, string>;
  living?: true;
  reason?: string;
  hostKeys?: (typeof HOST_KEY)[];
  cancelRequestedAt?: string;
}

const HOST_KEY = { type: 'ssh-ed25519', fingerprint: 'SHA256:abc', key: 'AAAA', firstSeen: '2026-01-01T10:00:00Z' };

/** The object `old`, which is being deleted and hands its server over to `web`. */
function giver({
  own = record,
  spec,
  annotations,
  living,
  reason,
  hostKeys,
  cancelRequestedAt,
}: GiverShape = {}): VirtualServer {
  const conditions = [
    {
      type: 'Ready',
      status: 'False' as const,
      reason: reason ?? 'HandOverPending',
      message: '',
      lastTransitionTime: TIME,
    },
  ];
  return stored(
    'old',
    storedWith({
      metadata: {
        finalizers: [FINALIZER],
        annotations: { [HAND_OVER_ANNOTATION]: 'web', [RECORD_ANNOTATION]: formatRecord(own), ...annotations },
        ...(living !== true && { deletionTimestamp: TIME }),
      },
      ...(spec && { spec }),
      status: {
        identifier: own.identifier ?? '',
        serverStatus: 'running',
        record: own,
        conditions,
        ...(hostKeys && { sshHostKeys: hostKeys }),
        ...(cancelRequestedAt !== undefined && { cancelRequestedAt }),
      },
    }),
  );
}

const take = (given: Given = {}, object = web()): Promise<Visited> =>
  visit(object, { beside: giver(), ...given, answers: { server: SERVER, ...given.answers } });

const OWNERS = [{ kind: 'ConfigMap', name: 'none', uid: 'u' }];
const ownedBy = (ownerReferences: typeof OWNERS | undefined, object: VirtualServer): VirtualServer => ({
  ...object,
  metadata: { ...object.metadata, ...(ownerReferences && { ownerReferences }) },
});
const madeAt = (creationTimestamp: string, object: VirtualServer): VirtualServer => ({
  ...object,
  metadata: { ...object.metadata, creationTimestamp },
});
const heldBy = ({ object }: Visited): string | undefined => object && annotatedRecordOf(object)?.identifier;

function expectNothing(visited: Visited): void {
  expect(heldBy(visited)).toBeUndefined();
  expect(visited.calls.filter((call) => ['order', 'delete', 'catalog'].includes(call))).toEqual([]);
}

describe('the object that a deleted one names', () => {
  it('holds the server after a live read of the giver and of the server, and orders nothing', async () => {
    const { object, calls } = await take();
    expect(calls.slice(0, 3)).toEqual(['other', 'read', 'write']);
    expect(calls).not.toContain('catalog');
    expect(object && annotatedRecordOf(object)).toMatchObject({
      owner: 'uid-of-web',
      mode: 'adopt',
      identifier: 'srv1',
      account: 'account-1',
      fingerprint: KNOWN.fingerprint,
      takenFrom: { name: 'old', uid: OLD, identifier: 'srv1' },
    });
    expect(object?.metadata.finalizers).toEqual([FINALIZER]);
  });

  it('takes no server that the provider shows as cancelled, and orders none', async () => {
    const visited = await take({ answers: { server: { ...SERVER, status: 'deleted' } } });
    expectNothing(visited);
    expect(shownBy(visited)).toMatchObject({
      reason: 'HandOverRefused',
      message: expect.stringContaining('the provider shows server srv1 as cancelled') as string,
    });
  });

  it('holds the server too if a tool has added a line end to the SSH keys, which the order did not send', async () => {
    const taker = web();
    const sshKeys = taker.spec.sshKeys?.map((key) => `${key}\n`) ?? [];
    expect(heldBy(await take({}, web({ spec: { sshKeys } })))).toBe('srv1');
  });

  it.each([
    ['no longer', { amount: 7, product: 'VPSX4', diskSize: 10240 }],
    ['another one', { amount: 9.5, product: 'VPSX4', diskSize: 10240 }, 9.5],
  ])('keeps the price that the giver knows, though the provider states %s', async (_what, price, stated?: number) => {
    const own = { ...record, price: { identifier: 'srv1', amount: 7, product: 'VPSX4', diskSize: 10240 } };
    const server = { ...SERVER, price: stated };
    const { object } = await take({ beside: giver({ own }), answers: { server } });
    expect(object && annotatedRecordOf(object)?.price).toMatchObject({ identifier: 'srv1', ...price });
  });

  it('trusts the host keys that the giver trusted, and no other', async () => {
    const { object } = await take({ beside: giver({ hostKeys: [HOST_KEY] }) });
    expect(object?.status?.sshHostKeys).toEqual([HOST_KEY]);
    expect((await take()).object?.status?.sshHostKeys).toBeUndefined();
  });

  it('keeps the time from which ttl counts, the orphans, and the failed orders, whose servers it looks for', async () => {
    const own = { ...record, orphans: [{ task: 3 }], failed: [{ attempt: 'a9', identifier: 'srv9' }] };
    const { object } = await take({ beside: giver({ own }) });
    const orphans = [{ task: 3 }, { attempt: 'a9', identifier: 'srv9' }];
    expect(object && annotatedRecordOf(object)).toMatchObject({ readyAt: record.readyAt, orphans });
  });

  it('keeps a record that can be read, however many orphans both objects have', async () => {
    const orphansOf = (name: string): { task: number }[] =>
      Array.from({ length: 16 }, (_, n) => ({ task: n + (name === 'web' ? 100 : 0) }));
    const own = { ...record, orphans: orphansOf('old') };
    const known = unordered({ orphans: orphansOf('web') });
    const { object } = await take({ beside: giver({ own }) }, webWith(known));
    expect(object && annotatedRecordOf(object)?.orphans).toHaveLength(32);
    expect(object && viewRecord(object, []).kind).toBe('own');
  });

  /** Git has the annotation for both objects. */
  const once = (value: string): Record<string, string> => ({
    [REBOOT_ANNOTATION]: value,
    [FORCE_OFF_ANNOTATION]: value,
  });
  const ASKED = '2026-01-01T12:00:00Z';
  const done = { asked: ASKED, answer: 'Accepted' } as const;

  it('repeats no restart that the giver has carried out', async () => {
    const own: ServerRecord = { ...record, reboot: done };
    const given = { beside: giver({ own }), answers: { power: 'accepted' } as const };
    const { object, calls } = await take(given, madeAt('2026-01-01T00:00:00Z', web({ annotations: once(ASKED) })));
    expect(object && annotatedRecordOf(object)?.reboot).toEqual(done);
    expect(calls).not.toContain('reboot');
  });

  it('does not switch the server off by force as the giver did before', async () => {
    const own: ServerRecord = { ...record, forceOff: done };
    const given = { beside: giver({ own }), answers: { power: 'accepted' } as const };
    const object = madeAt('2026-01-01T00:00:00Z', web({ annotations: once(ASKED), spec: { power: 'Off' } }));
    const { calls } = await take(given, object);
    expect(calls).toContain('shutdown');
    expect(calls).not.toContain('power-off');
  });

  it('restarts nothing for a time before it was created', async () => {
    const own: ServerRecord = { ...record, reboot: done };
    const annotations = { [REBOOT_ANNOTATION]: '2026-01-01T11:00:00Z' };
    const given = { beside: giver({ own }), answers: { power: 'accepted' } as const };
    const { calls } = await take(given, madeAt('2026-01-01T23:00:00Z', web({ annotations })));
    expect(calls).not.toContain('reboot');
  });

  it('restarts the server at a time that is yet to come', async () => {
    const annotations = { [REBOOT_ANNOTATION]: '2026-01-01T23:59:59Z' };
    const given = { answers: { power: 'accepted' } as const };
    const { calls } = await take(given, madeAt('2026-01-01T23:00:00Z', web({ annotations })));
    expect(calls).toContain('reboot');
  });

  it('does not begin a change again that the provider has refused', async () => {
    const change = { identifier: 'srv1', change: '{"tablet":false}', since: ASKED, refused: 'No such device' };
    const own: ServerRecord = { ...record, change };
    const spec = { changePolicy: 'AllowStop', advanced: { tablet: false } } as const;
    const given = { beside: giver({ own, spec }), answers: { server: { ...SERVER, tablet: true } } };
    const { object, calls } = await take(
      { ...given, answers: { ...given.answers, changed: 'accepted' } },
      web({ spec }),
    );
    expect(object && annotatedRecordOf(object)?.change).toEqual(change);
    expect(calls.filter((call) => ['shutdown', 'change'].includes(call))).toEqual([]);
  });

  it.each<{ what: string; given: Given; reason?: string; says: string }>([
    { what: 'is not being deleted', given: { beside: giver({ living: true }) }, says: 'orders nothing' },
    {
      what: 'names another object in the live read',
      given: { besideLive: giver({ annotations: { [HAND_OVER_ANNOTATION]: 'other' } }) },
      says: 'no longer names this one',
    },
    { what: 'is gone', given: { besideLive: null }, says: 'no longer exists' },
    {
      what: 'is not being deleted in the live read',
      given: { besideLive: giver({ living: true }) },
      says: 'not being deleted',
    },
    {
      what: 'is paused',
      given: { beside: giver({ annotations: { [PAUSED_ANNOTATION]: 'true' } }) },
      says: 'is paused',
    },
    {
      what: 'has never read its server',
      given: { beside: giver({ own: { ...HELD, owner: OLD } }) },
      says: 'not known yet',
    },
    {
      what: 'may still lose its server to an earlier process',
      given: { ageMs: TIMING.takeoverMs - 1 },
      says: 'may still be cancelling it',
    },
    {
      what: 'has an expired server',
      given: { beside: giver({ own: { ...record, expiredAt: TIME } }) },
      reason: 'HandOverRefused',
      says: 'has expired',
    },
    {
      what: 'has a server that is gone',
      given: { beside: giver({ own: { ...record, missingAt: TIME } }) },
      reason: 'HandOverRefused',
      says: 'no longer exists',
    },
    {
      what: 'has a server whose cancellation this process has asked for',
      given: { besideMemo: memo({ end: { state: 'requested', identifier: 'srv1' } }) },
      reason: 'HandOverRefused',
      says: 'already asked to cancel',
    },
    {
      what: 'has a server whose cancellation an earlier process has asked for',
      given: { beside: giver({ reason: 'ProviderUnavailable', cancelRequestedAt: TIME }) },
      reason: 'HandOverRefused',
      says: 'already asked to cancel',
    },
    {
      what: 'has a server of another account',
      given: { account: ELSEWHERE },
      reason: 'HandOverRefused',
      says: 'another API key',
    },
    {
      what: 'was ordered with other fields',
      given: { beside: giver({ spec: { product: 'VPSX8', sshKeys: ['ssh-ed25519 AAAA b'] } }) },
      reason: 'HandOverRefused',
      says: 'another product, sshKeys',
    },
    {
      what: 'has a server with other hardware addresses',
      given: { answers: { server: { ...SERVER, macs: ['00:00:5e:00:53:ff'] } } },
      reason: 'HandOverRefused',
      says: 'its hardware address is 00:00:5e:00:53:ff',
    },
    {
      what: 'has a server that no longer shows an address',
      given: { answers: { server: { ...SERVER, macs: [], ipv6: [] } } },
      reason: 'HandOverRefused',
      says: 'nothing that it shows proves',
    },
    {
      what: 'has a server that is not shown',
      given: { answers: { server: DENIED } },
      says: 'as soon as the provider shows it',
    },
    {
      what: 'has a server that another object holds',
      given: { others: { withServer: () => ['default/third'] } },
      reason: 'HandOverRefused',
      says: 'default/third holds',
    },
    { what: 'was read by a process that no longer leads', given: { leads: false }, says: 'reads both objects again' },
  ])('takes and orders nothing while the giver $what', async ({ given, reason = 'HandOverPending', says }) => {
    const visited = await take(given);
    expectNothing(visited);
    const shown = shownBy(visited);
    expect(shown.reason).toBe(reason);
    expect(shown.message).toContain(says);
  });

  it('takes the server of the next giver if the first one is refused', async () => {
    const { metadata, ...rest } = giver();
    const own = { ...record, owner: 'uid-of-second' };
    const annotations = { ...metadata.annotations, [RECORD_ANNOTATION]: formatRecord(own) };
    const status = { ...rest.status, record: own } as NonNullable<VirtualServer['status']>;
    const besideToo = { ...rest, metadata: { ...metadata, name: 'second', uid: 'uid-of-second', annotations }, status };
    const others = { withServer: () => [] };
    const { object } = await take({ beside: giver({ spec: { product: 'VPSX8' } }), besideToo, others });
    expect(object && annotatedRecordOf(object)?.takenFrom?.name).toBe('second');
    const both = await take({ beside: giver({ spec: { product: 'VPSX8' } }), besideToo, account: ELSEWHERE });
    expect(shownBy(both)).toMatchObject({
      reason: 'HandOverRefused',
      message: expect.stringContaining(
        'cannot take over the server of old, because its server was read with another API key; nor the server of second, because',
      ) as string,
    });
    expect(both.calls.filter((call) => call === 'other')).toHaveLength(2);
  });

  it('orders as usual once no object names it', async () => {
    const beside = giver({ annotations: { [HAND_OVER_ANNOTATION]: 'other' } });
    const { calls } = await take({ beside, answers: { opened: new ProviderError('PROVIDER_UNREACHABLE', 'down') } });
    expect(calls).toContain('catalog');
  });

  const in_ = (ms: number): string => new Date(NOW + ms).toISOString();
  const DAY_MS = 24 * 3_600_000;
  const aged: ServerRecord = { ...record, readyAt: in_(-DAY_MS) };
  it.each<{ what: string; from?: GiverShape; to: Shape; owners?: typeof OWNERS; says: string; given?: Given }>([
    { what: 'expiresAt is in the past', to: { spec: { expiresAt: in_(-1) } }, says: 'spec.expiresAt of this object' },
    { what: 'expiresAt is a moment ahead', to: { spec: { expiresAt: in_(59_000) } }, says: 'within a minute' },
    {
      what: "expiresAt is in the past by the API server's clock only",
      to: { spec: { expiresAt: in_(DAY_MS) } },
      says: 'spec.expiresAt of this object',
      given: { apiServerNow: NOW + 2 * DAY_MS },
    },
    {
      what: 'expiresAt is in the past, as in the giver',
      from: { spec: { expiresAt: in_(-1) } },
      to: { spec: { expiresAt: in_(-1) } },
      says: 'spec.expiresAt of this object',
    },
    {
      what: 'expiresAt is in the past, and only its protection keeps the server',
      to: { spec: { expiresAt: in_(-1), deletionProtection: true } },
      says: 'spec.expiresAt of this object',
    },
    { what: 'ttl has passed', from: { own: aged }, to: { spec: { ttl: '1h' } }, says: 'spec.ttl (1h) of this object' },
    {
      what: 'ttl has no known start',
      from: { own: { ...KNOWN, owner: OLD, account: 'account-1' } },
      to: { spec: { ttl: '72h' } },
      says: 'nothing tells since when the server has been ready',
    },
    {
      what: 'deletionPolicy would no longer keep the server',
      from: { spec: { deletionPolicy: 'Retain' } },
      to: {},
      says: 'spec.deletionPolicy of this object is Delete instead of Retain',
    },
    {
      what: 'protection would be lost',
      from: { spec: { deletionProtection: true } },
      to: {},
      says: 'spec.deletionProtection of this object is false instead of true',
    },
    {
      what: 'owner may delete it before the delay of the giver ends',
      from: { spec: { deletionDelay: '1h' } },
      to: { spec: { deletionDelay: '59m' } },
      owners: OWNERS,
      says: 'spec.deletionDelay is shorter than 1h',
    },
    {
      what: 'annotation asks for the cancellation of this server',
      to: { annotations: { [CANCEL_NOW_ANNOTATION]: 'srv1' } },
      says: `annotation ${CANCEL_NOW_ANNOTATION} of this object names the server`,
    },
    {
      what: 'annotation says that this server is gone',
      to: { annotations: { [SERVER_GONE_ANNOTATION]: 'srv1' } },
      says: `annotation ${SERVER_GONE_ANNOTATION} of this object names the server`,
    },
    {
      what: 'mark is missing',
      from: { annotations: { [HAND_OVER_MARK_ANNOTATION]: 'm1' } },
      to: {},
      says: 'this is not the object that was meant',
    },
    {
      what: 'mark is another one',
      from: { annotations: { [HAND_OVER_MARK_ANNOTATION]: 'm1' } },
      to: { annotations: { [TAKE_OVER_ANNOTATION]: 'm2' } },
      says: 'this is not the object that was meant',
    },
    {
      what: 'mark is about another object',
      to: { annotations: { [TAKE_OVER_ANNOTATION]: 'm2' } },
      says: 'this is not the object that was meant',
    },
  ])('takes, orders and cancels nothing if its $what', async ({ from, to, owners, says, given }) => {
    const visited = await take({ ...given, beside: giver(from) }, ownedBy(owners, web(to)));
    expectNothing(visited);
    expect(shownBy(visited)).toMatchObject({
      reason: 'HandOverRefused',
      message: expect.stringContaining(says) as string,
    });
    expect(shownBy(visited).message).toContain('old keeps the server');
  });

  it.each<{ what: string; from?: GiverShape; to: Shape; owners?: typeof OWNERS }>([
    { what: 'a minute is left', to: { spec: { expiresAt: in_(60_000) } } },
    { what: 'ttl is longer than the age of the server', from: { own: aged }, to: { spec: { ttl: '25h' } } },
    {
      what: 'ttl is the same as in the giver, whose server was never ready',
      from: { own: { ...KNOWN, owner: OLD, account: 'account-1' }, spec: { ttl: '1h' } },
      to: { spec: { ttl: '1h' } },
    },
    {
      what: 'it is protected, and its end was over before',
      from: { spec: { expiresAt: in_(-1), deletionProtection: true } },
      to: { spec: { expiresAt: in_(-1), deletionProtection: true } },
    },
    {
      what: 'it hands the server on, and cancels nothing',
      from: { spec: { expiresAt: in_(-1), deletionProtection: true } },
      to: { spec: { expiresAt: in_(-1) }, annotations: { [HAND_OVER_ANNOTATION]: 'next' } },
    },
    {
      what: 'Retain takes the place of the protection and of the delay',
      from: { spec: { deletionProtection: true, deletionDelay: '1h' } },
      to: { spec: { deletionPolicy: 'Retain' } },
    },
    { what: 'its delay is shorter', from: { spec: { deletionDelay: '1h' } }, to: {} },
    {
      what: 'its owner deletes it, but its delay is as long',
      from: { spec: { deletionDelay: '1h' } },
      to: { spec: { deletionDelay: '60m' } },
      owners: OWNERS,
    },
    {
      what: 'it has the mark',
      from: { annotations: { [HAND_OVER_MARK_ANNOTATION]: 'm1' } },
      to: { annotations: { [TAKE_OVER_ANNOTATION]: 'm1' } },
    },
    {
      what: 'its words are about another server',
      to: { annotations: { [CANCEL_NOW_ANNOTATION]: 'srv2', [SERVER_GONE_ANNOTATION]: 'srv2' } },
    },
  ])('takes the server if $what', async ({ from, to, owners }) => {
    const visited = await take({ beside: giver(from) }, ownedBy(owners, web(to)));
    expect(heldBy(visited)).toBe('srv1');
    expect(visited.calls).not.toContain('delete');
  });

  it('tells how to order a new server if the server of the giver is gone', async () => {
    const visited = await take({ beside: giver({ own: { ...record, missingAt: TIME } }) });
    expectNothing(visited);
    expect(shownBy(visited).message).toContain(
      `To order a new server for this object, run \`kubectl annotate vps old -n default ${HAND_OVER_ANNOTATION}-\``,
    );
    expect(shownBy(visited).message).not.toContain('keeps the server');
  });

  it('orders nothing without a giver if it has the annotation take-over, and tells how to order', async () => {
    const visited = await visit(web({ annotations: { [TAKE_OVER_ANNOTATION]: 'm1' } }));
    expectNothing(visited);
    expect(shownBy(visited).reason).toBe('HandOverRefused');
    expect(shownBy(visited).message).toContain(`kubectl annotate vps web -n default ${TAKE_OVER_ANNOTATION}-`);
  });
});

describe('an object that names another one', () => {
  const naming = { annotations: { [HAND_OVER_ANNOTATION]: 'old' } };
  const dying = webWith(KNOWN, { ...naming, deleting: true, status: { serverStatus: 'running' } });
  const visited = (object: VirtualServer, given: Given = {}): Promise<Visited> =>
    visit(object, { ...given, answers: { server: SERVER, removed: 'cancelled', after: DENIED, ...given.answers } });

  it('orders nothing', async () => {
    const seen = await visited(web(naming));
    expectNothing(seen);
    expect(shownBy(seen).reason).toBe('HandOverPending');
  });

  it.each([
    ['Delete', {}],
    ['Retain', { deletionPolicy: 'Retain' as const }],
  ])('neither cancels nor leaves its server with %s', async (_policy, spec) => {
    const { object, calls } = await visited(webWith(KNOWN, { ...naming, deleting: true, spec }));
    expect(calls).not.toContain('delete');
    expect(object?.metadata.finalizers).toHaveLength(1);
  });

  it('reports that nothing can be handed over after the provider was asked to cancel the server', async () => {
    const end = { state: 'answered', identifier: 'srv1', said: 'ok', since: 0, askedAt: 0 } as const;
    const asked = await visited(dying, { memo: memo({ end }) });
    expect(asked.calls).not.toContain('delete');
    expect(shownBy(asked).reason).toBe('CancellationUnconfirmed');
    expect(shownBy(asked).message).toContain('To hand nothing over');
    const taken = await take({ beside: giver({ reason: 'HandOverPending' }), besideMemo: asked.memo });
    expectNothing(taken);
    expect(shownBy(taken).reason).toBe('HandOverRefused');
  });

  it('keeps its server at the expiry while it is not deleted, and reports it', async () => {
    const spec = { expiresAt: '2026-01-01T00:00:00Z' };
    const object = webWith(KNOWN, { ...naming, spec, status: { serverStatus: 'running' } });
    const seen = await visited(object);
    expect(seen.calls).not.toContain('delete');
    const expiring = seen.object?.status?.conditions?.find(({ type }) => type === 'Expiring');
    expect(expiring).toMatchObject({ reason: 'ExpiryBlocked' });
    expect(expiring?.message).toContain('annotation vps-operator.dev/hand-over names old. To hand nothing over');
    expect(expiring?.message).not.toContain('To have it cancelled');
  });

  it.each([
    ['', 'names no object'],
    ['web', 'names this object itself'],
  ])('needs you if its annotation is "%s"', async (target, says) => {
    const annotations = { [HAND_OVER_ANNOTATION]: target };
    for (const object of [web({ annotations }), webWith(KNOWN, { annotations, deleting: true })]) {
      const seen = await visited(object);
      expect(seen.calls.filter((call) => ['order', 'delete'].includes(call))).toEqual([]);
      expect(shownBy(seen).reason).toBe('HandOverRefused');
      expect(shownBy(seen).message).toContain(says);
    }
  });

  it.each<[string, Given]>([
    ['does not exist', {}],
    ['is being deleted and names it in turn', { beside: giver({ own: { ...record, identifier: 'srv2' } }) }],
  ])('needs you if the other one %s for an hour, and not before', async (_what, given) => {
    const first = await visited(dying, given);
    expect(shownBy(first).reason).toBe('HandOverPending');
    const lookAt = (now: number): Promise<Visited> =>
      visited(first.object as VirtualServer, { ...given, now, memo: { ...first.memo, plan: undefined } });
    expect(shownBy(await lookAt(NOW + 3_599_999)).reason).toBe('HandOverPending');
    const later = await lookAt(NOW + 3_600_000);
    expect(later.calls).not.toContain('delete');
    expect(shownBy(later)).toMatchObject({
      reason: 'HandOverRefused',
      message: expect.stringContaining('for an hour no old has existed') as string,
    });
  });

  it('reads a server that was never read, so that the next object can recognize it', async () => {
    const { object, calls } = await visited(webWith(HELD, { ...naming, deleting: true }), {
      memo: memo({ task: { state: 'over', identifier: 'srv1' } }),
    });
    expect(calls).not.toContain('delete');
    expect(object && annotatedRecordOf(object)?.fingerprint).toEqual(KNOWN.fingerprint);
  });

  it.each<[string, Given, Shape]>([
    ['proof', { memo: memo({ denials: PROVEN }) }, {}],
    ['your word', {}, { annotations: { ...naming.annotations, [SERVER_GONE_ANNOTATION]: 'srv1' } }],
    ["the provider's word", { memo: memo({ end: { ...ANSWERED, since: -60_000 } }) }, {}],
    [
      'proof of an earlier visit',
      { memo: memo({ end: { state: 'gone', identifier: 'srv1', wasRequested: false } }) },
      {},
    ],
  ])(
    'stays when its server is gone by %s, and asks, because the next object would order one',
    async (_what, given, shape) => {
      const gone = await visited(
        webWith(KNOWN, { ...naming, deleting: true, status: { serverStatus: 'running' }, ...shape }),
        {
          ...given,
          answers: { server: DENIED },
        },
      );
      expect(gone.object?.metadata.finalizers).toEqual([FINALIZER]);
      expect(gone.object && annotatedRecordOf(gone.object)?.missingAt).toBeDefined();
      expect(shownBy(gone)).toMatchObject({
        reason: 'HandOverRefused',
        message: expect.stringContaining('cannot be handed over to old') as string,
      });
      expect(shownBy(gone).message).toContain(`kubectl annotate vps web -n default ${HAND_OVER_ANNOTATION}-`);
    },
  );

  it('stays when its server has expired', async () => {
    const gone = await visited(webWith({ ...KNOWN, expiredAt: TIME }, { ...naming, deleting: true }));
    expect(gone.object?.metadata.finalizers).toEqual([FINALIZER]);
    expect(shownBy(gone)).toMatchObject({
      reason: 'HandOverRefused',
      message: expect.stringContaining('when its time was up') as string,
    });
  });

  it('does not take your word that its server is gone while the provider cannot be asked', async () => {
    const annotations = { ...naming.annotations, [SERVER_GONE_ANNOTATION]: 'srv1' };
    const seen = await visited(webWith(KNOWN, { annotations, deleting: true }), {
      answers: { server: new ProviderError('PROVIDER_UNREACHABLE', 'down') },
    });
    expect(seen.object?.metadata.finalizers).toEqual([FINALIZER]);
    expect(shownBy(seen).reason).toBe('ProviderUnavailable');
  });

  it('cancels nothing if only the live read shows the annotation', async () => {
    const { calls, object } = await visited(webWith(KNOWN, { deleting: true }), { live: dying });
    expect(calls).toContain('live');
    expect(calls).not.toContain('delete');
    expect(object).toBeDefined();
  });

  it('goes without a cancellation when the other one holds its server, whatever it says then', async () => {
    const own = {
      ...KNOWN,
      owner: OLD,
      mode: 'adopt' as const,
      takenFrom: { name: 'web', uid: 'uid-of-web', identifier: 'srv1' },
    };
    const taker = giver({ own, living: true, annotations: { [HAND_OVER_ANNOTATION]: '' } });
    const said: Record<string, string>[] = [naming.annotations, {}, { [PAUSED_ANNOTATION]: 'true' }];
    for (const annotations of said) {
      const { object, calls, events } = await visited(webWith(KNOWN, { annotations, deleting: true }), {
        beside: taker,
      });
      expect(calls).toEqual(['other', 'write']);
      expect(object).toBeUndefined();
      expect(events).toMatchObject([{ reason: 'ServerHandedOver' }]);
    }
  });

  it('stays if a live read does not show that the other one holds its server', async () => {
    const own = {
      ...KNOWN,
      owner: OLD,
      mode: 'adopt' as const,
      takenFrom: { name: 'web', uid: 'uid-of-web', identifier: 'srv1' },
    };
    const { object, calls } = await visited(dying, { beside: giver({ own, living: true }), besideLive: null });
    expect(calls).toContain('other');
    expect(object).toBeDefined();
  });

  it('waits for no object from which it has taken another server', async () => {
    const takenFrom = { name: 'first', uid: 'uid-of-first', identifier: 'srv7' };
    const of = giver({ own: { ...record, identifier: 'srv7', owner: 'uid-of-first' } });
    const beside = { ...of, metadata: { ...of.metadata, name: 'first', uid: 'uid-of-first' } };
    const retained = { spec: { deletionPolicy: 'Retain' } as const, deleting: true };
    const { object } = await visited(webWith({ ...KNOWN, mode: 'adopt', takenFrom }, retained), { beside });
    expect(object).toBeUndefined();
  });

  it.each([
    ['is retained', { spec: { deletionPolicy: 'Retain' } as const }, undefined],
    [
      'has a taker too',
      naming,
      giver({ own: { ...KNOWN, owner: OLD, mode: 'adopt', takenFrom: FROM_WEB }, living: true }),
    ],
  ])(
    'goes only after the object from which it has taken the server itself, if it %s',
    async (_what, shape, besideToo) => {
      const takenFrom = { name: 'first', uid: 'uid-of-first', identifier: 'srv1' };
      const own: ServerRecord = { ...KNOWN, mode: 'adopt', takenFrom };
      const of = giver({ own: { ...record, owner: 'uid-of-first' }, annotations: { [HAND_OVER_ANNOTATION]: '' } });
      const first = { ...of, metadata: { ...of.metadata, name: 'first', uid: 'uid-of-first' } };
      const taken = webWith(own, { ...shape, deleting: true });
      const waits = await visited(taken, { beside: first, ...(besideToo && { besideToo }) });
      expect(waits.calls).not.toContain('delete');
      expect(waits.requeueAfterMs).toBe(5000);
      expect(shownBy(waits)).toMatchObject({
        reason: 'HandOverPending',
        message: expect.stringContaining('as soon as first is gone') as string,
      });
      // Neither an object with the same name nor a released one would hold the server.
      const gone = [
        { ...first, metadata: { ...first.metadata, uid: 'uid-of-another' } },
        { ...first, metadata: { ...first.metadata, finalizers: ['example.org/other'] } },
      ];
      for (const beside of gone)
        expect((await visited(taken, { beside, ...(besideToo && { besideToo }) })).object).toBeUndefined();
    },
  );
});
