/** The API server refuses writes of metadata, and the status reports it. */
import { describe, expect, it } from 'vitest';
import { currentReason } from '../../../src/api/conditions.ts';
import {
  CONNECTION_SECRET_TYPE,
  FINALIZER,
  OWNER_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
} from '../../../src/api/names.ts';
import { formatRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { without } from '../../../src/base/without.ts';
import { KubeError } from '../../../src/kube/error.ts';
import {
  ATTEMPTED,
  HELD,
  KNOWN,
  PRICED,
  SERVER,
  TASKED,
  denials,
  memo,
  web,
  webWith,
} from '../../fixtures/decision.ts';
import type { ServerRecord } from '../../../src/api/record.ts';
import type { Memo } from '../../../src/virtual-server/decision/memo.ts';
import { fakeSecrets } from '../../fixtures/doubles.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../fixtures/visits.ts';

const POLICY = new KubeError(
  'Invalid',
  "ValidatingAdmissionPolicy 'no-finalizers' with binding 'no-finalizers' denied request: no finalizers here",
  { status: 422 },
);
const WEBHOOK = new KubeError(
  'ServerError',
  'Internal error occurred: failed calling webhook "check.example.com": connect: connection refused',
  { status: 500 },
);
const TOO_LONG = new KubeError(
  'Invalid',
  'VirtualServer "web" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes',
  { status: 422 },
);
const FORBIDDEN = new KubeError('Forbidden', 'virtualservers "web" is forbidden: User "vps" cannot patch', {
  status: 403,
});
const BUSY = new KubeError('TooManyRequests', 'too many requests', { status: 429 });

const OVER = { task: { state: 'over', identifier: 'srv1' } } as const;
const CONFIRMED = { end: { state: 'confirmed', identifier: 'srv1' } } as const;
/** A Ready server that is not read again for some minutes. */
const looked = async (
  record: ServerRecord = PRICED,
  server = SERVER,
): Promise<{ object: VirtualServer; memo: Memo }> => {
  const { object, memo: held } = await visit(webWith(record), { memo: memo(OVER), answers: { server } });
  if (object === undefined) throw new Error('the object is gone');
  return { object, memo: held };
};
const ready = async (): Promise<VirtualServer> => (await looked()).object;
const deleted = ({ metadata, ...rest }: VirtualServer): VirtualServer => ({
  ...rest,
  metadata: { ...metadata, deletionTimestamp: '2026-01-02T00:00:00Z' },
});
const refusing = (object: VirtualServer, given: Given): Promise<Visited> =>
  visit(object, { refusesMetadata: POLICY, ...given, fails: true });
const readyOf = ({ object }: Visited) => object?.status?.conditions?.find(({ type }) => type === 'Ready');

describe('a new object whose claim the API server refuses', () => {
  it.each([
    { what: 'a policy', error: POLICY, remedy: 'Change that rule' },
    { what: 'a webhook that is down', error: WEBHOOK, remedy: 'Repair or remove that webhook' },
    { what: 'annotations that are full', error: TOO_LONG, remedy: 'Remove large annotations from the object' },
    { what: 'a missing right', error: FORBIDDEN, remedy: 'Give the operator the rights of its ClusterRole' },
    { what: 'a quota', error: BUSY, remedy: 'Fix what the API server names' },
  ])('quotes the API server, and orders nothing ($what)', async ({ error, remedy }) => {
    const seen = await refusing(web(), { refusesMetadata: error });
    expect(seen.requests).toEqual([]);
    expect(seen.error).toBe(error);
    const { reason, message } = shownBy(seen);
    expect(reason).toBe('WriteRefused');
    expect(message).toContain(
      `The API server refuses to add the finalizer ${FINALIZER} and the annotation ${RECORD_ANNOTATION}: ${error.message}`,
    );
    expect(message).toContain('orders nothing before the order is stored');
    expect(message).toContain(remedy);
    expect(seen.object?.status?.record).toBeUndefined();
    expect(seen.events.map(({ type, reason: of, note }) => [type, of, note])).toEqual([
      ['Warning', 'WriteRefused', message],
    ]);
  });

  it('leaves one note in the journal, however often it is refused, and claims the same attempt at last', async () => {
    const seen = await refusing(web(), { notes: [{ attempt: 'a9', state: 'minted' }] });
    expect(seen.journal.entries(web().metadata.uid)).toMatchObject([{ attempt: 'a9', state: 'minted' }]);
    const answers = { order: { kind: 'created', task: 7 }, task: { state: 'pending' } } as const;
    const later = await visit(seen.object ?? web(), { notes: [{ attempt: 'a9', state: 'minted' }], answers });
    expect(later.requests).toHaveLength(1);
    expect(later.object?.status?.record).toMatchObject({ attempt: 'a9', task: 7 });
    expect(later.journal.entries(web().metadata.uid)).toMatchObject([{ attempt: 'a9', state: 'task' }]);
  });

  it('claims no attempt again that was minted for another account', async () => {
    const seen = await refusing(web(), { notes: [{ attempt: 'a9', state: 'minted', account: 'another' }] });
    const noted = seen.journal.entries(web().metadata.uid).map(({ attempt }) => attempt);
    expect(noted).toEqual(['a9', ATTEMPTED.attempt]);
  });

  it('writes the status once, and orders once the write is accepted', async () => {
    const first = await refusing(web(), {});
    const again = await refusing(first.object ?? web(), { memo: first.memo });
    expect(again.calls.filter((call) => call === 'write')).toEqual([]);
    expect(shownBy(again).reason).toBe('WriteRefused');
    const answers = { order: { kind: 'created', task: 7 }, task: { state: 'pending' } } as const;
    const later = await visit(again.object ?? web(), { memo: again.memo, answers });
    expect(later.requests).toHaveLength(1);
    expect(shownBy(later).reason).toBe('Creating');
  });

  it.each([
    { what: 'another version', error: new KubeError('Conflict', 'modified', { status: 409 }) },
    { what: 'no such object', error: new KubeError('NotFound', 'gone', { status: 404 }) },
    { what: 'no credentials', error: new KubeError('Forbidden', 'Unauthorized', { status: 401 }) },
    { what: 'no answer', error: new KubeError('Unreachable', 'no answer') },
  ])('writes no status after an answer that is no refusal ($what)', async ({ error }) => {
    const seen = await refusing(web(), { refusesMetadata: error });
    expect(seen.error).toBe(error);
    expect(seen.calls).not.toContain('write');
    expect(seen.events).toEqual([]);
  });
});

describe('an object whose record may not be written', () => {
  it('names the task of an order that the provider has accepted', async () => {
    const notes = [{ attempt: 'a1', state: 'task', task: 7 }] as const;
    const seen = await refusing(webWith(ATTEMPTED), { notes });
    expect(shownBy(seen).message).toContain('has accepted the order as task 7, and its server may cost money');
    expect(seen.calls).toEqual(['refused', 'write']);
    // The status is not ahead of a record that was not stored.
    expect(seen.object?.status?.record).toEqual(webWith(ATTEMPTED).status?.record);
  });

  it('stays Ready while its server runs, and says Available once the write is accepted', async () => {
    const { object, memo: held } = await looked();
    const behind = { ...object.metadata.annotations, [RECORD_ANNOTATION]: formatRecord(TASKED) };
    const seen = await refusing({ ...object, metadata: { ...object.metadata, annotations: behind } }, { memo: held });
    expect(shownBy(seen).reason).toBe('WriteRefused');
    expect(readyOf(seen)).toMatchObject({ status: 'True', reason: 'Available' });
    const later = await visit(seen.object ?? object, { memo: seen.memo, answers: { server: SERVER } });
    expect(shownBy(later).reason).toBe('Available');
  });

  it('reads its server at once when the write is accepted, although that was planned for later', async () => {
    const stopped = { ...SERVER, status: 'stopped' };
    const { object, memo: held } = await looked(KNOWN, stopped);
    const behind = { ...object.metadata.annotations, [RECORD_ANNOTATION]: formatRecord(TASKED) };
    const seen = await refusing({ ...object, metadata: { ...object.metadata, annotations: behind } }, { memo: held });
    expect(shownBy(seen).reason).toBe('WriteRefused');
    const later = await visit(seen.object ?? object, { memo: seen.memo, answers: { server: stopped } });
    expect(later.calls).toContain('read');
    expect(shownBy(later).reason).toBe('ServerNotRunning');
  });

  it.each([
    { what: 'a Ready server', status: true, says: 'Available' },
    { what: 'no status before', status: false, says: 'Pending' },
  ])('no longer mentions the refusal once the write is accepted, even if it is paused ($what)', async (given) => {
    const notes = [{ attempt: 'a1', state: 'task', task: 7 }] as const;
    const annotations = { [PAUSED_ANNOTATION]: 'true' };
    const status = given.status ? ((await ready()).status ?? {}) : {};
    const seen = await refusing(webWith(ATTEMPTED, { annotations, status }), { notes });
    expect(shownBy(seen).reason).toBe('WriteRefused');
    const later = await visit(seen.object ?? web(), { notes });
    expect(later.object?.metadata.annotations?.[RECORD_ANNOTATION]).toContain('"task":7');
    expect(shownBy(later).reason).toBe(given.says);
  });

  it('says what stays open behind the refusal', async () => {
    const doubtful = await visit(await ready(), {
      answers: { server: { ...SERVER, macs: ['00:00:5e:00:53:ff'], ipv6: ['2001:db8::ff'] } },
    });
    expect(shownBy(doubtful).reason).toBe('IdentityUnproven');
    const notes = [{ attempt: 'a0', state: 'task', task: 6 }] as const;
    const seen = await refusing(doubtful.object ?? web(), { notes });
    expect(shownBy(seen).reason).toBe('WriteRefused');
    expect(shownBy(seen).message).toContain('The API server refuses to write the annotation');
    expect(shownBy(seen).message).toContain('it is unproven that the provider has server srv1 of this object');
    expect(seen.events.map(({ reason }) => reason)).toEqual(['WriteRefused']);
  });
});

describe('a deleted object whose finalizer may not go', () => {
  it.each([
    { what: 'was cancelled', given: { memo: memo({ ...OVER, ...CONFIRMED }) } },
    {
      what: 'no longer exists at the provider',
      given: { memo: memo({ ...OVER, denials: denials('server srv1') }), answers: { server: DENIED } },
    },
  ])('says that its server $what, and not that it runs', async ({ what, given }) => {
    const seen = await refusing(deleted(await ready()), given);
    const { reason, message } = shownBy(seen);
    expect(reason).toBe('ReleaseRefused');
    expect(message).toContain(`The API server refuses to remove the finalizer ${FINALIZER}`);
    expect(message).toContain(`Server srv1 ${what}, and only this object is left`);
    expect(readyOf(seen)).toMatchObject({ status: 'False', reason: 'ReleaseRefused' });
    const { serverStatus, ipv6, ssh, price, identifier } = seen.object?.status ?? {};
    expect({ serverStatus, ipv6, ssh, price, identifier }).toEqual({ identifier: 'srv1' });
    expect(seen.object?.status?.record).toMatchObject({ identifier: 'srv1', fingerprint: KNOWN.fingerprint });
  });

  it('goes once the write is accepted', async () => {
    const seen = await refusing(deleted(await ready()), { memo: memo({ ...OVER, ...CONFIRMED }) });
    const later = await visit(seen.object ?? web(), { memo: seen.memo });
    expect(later.object).toBeUndefined();
    expect(later.events.map(({ reason }) => reason)).toEqual(['ServerCancelled']);
  });

  it.each([
    ['the copy of the record', false],
    ['its reason alone, if the status was wiped before', true],
  ])('has a doubt for the next process, by %s', async (_where, isWiped) => {
    const { object } = await looked({ ...HELD, fingerprint: {} });
    const bare = webWith({ ...HELD, fingerprint: {} }, { deleting: true, status: { ...object.status } });
    const wiped = { ...bare, status: without(bare.status ?? {}, 'record') };
    const seen = await refusing(isWiped ? wiped : bare, { memo: memo({ ...OVER, ...CONFIRMED }) });
    expect(shownBy(seen).reason).toBe('ReleaseRefused');
    // The provider has given the identifier to another server.
    const restarted = await visit(seen.object ?? web(), { answers: { server: SERVER } });
    expect(restarted.calls).not.toContain('delete');
    expect(shownBy(restarted).reason).toBe('IdentityUnproven');
  });

  it('reports that a retained server keeps running', async () => {
    const object = deleted(await ready());
    const seen = await refusing({ ...object, spec: { ...object.spec, deletionPolicy: 'Retain' } }, {});
    expect(shownBy(seen).reason).toBe('WriteRefused');
    expect(shownBy(seen).message).toContain('Server srv1 keeps running and costs money');
    expect(readyOf(seen)).toMatchObject({ status: 'True' });
  });

  it('reports that another finalizer keeps it once its own is gone', async () => {
    const object = deleted(await ready());
    const finalizers = [...(object.metadata.finalizers ?? []), 'example.com/other'];
    const shared = { ...object, metadata: { ...object.metadata, finalizers } };
    const seen = await refusing(shared, { memo: memo({ ...OVER, ...CONFIRMED }) });
    const later = await visit(seen.object ?? shared, { memo: seen.memo });
    expect(later.object?.metadata.finalizers).toEqual(['example.com/other']);
    expect(shownBy(later)).toMatchObject({ reason: 'Deleting' });
    expect(shownBy(later).message).toContain('Other finalizers keep it');
  });

  it.each([
    { what: 'stays', status: 500, code: 'ServerError', stays: true },
    { what: 'tells it at its end', status: 403, code: 'Forbidden', stays: false },
  ] as const)('names the connection Secret whose write is refused, without its data, and $what', async (given) => {
    const object = deleted(await ready());
    const quoting = new KubeError(given.code, 'failed calling webhook "w": secret c2VjcmV0', { status: given.status });
    const present = {
      metadata: {
        namespace: 'default',
        name: 'web-connection',
        uid: 'u',
        resourceVersion: '1',
        annotations: { [OWNER_ANNOTATION]: object.metadata.uid },
      },
      type: CONNECTION_SECRET_TYPE,
      data: { host: '192.0.2.1' },
    };
    const secrets = fakeSecrets({ get: () => Promise.resolve(present), patch: () => Promise.reject(quoting) });
    const spec = { ...object.spec, connectionSecretName: 'web-connection', deletionPolicy: 'Delete' } as const;
    const seen = await visit({ ...object, spec }, { memo: memo({ ...OVER, ...CONFIRMED }), secrets, fails: true });
    const [{ reason, note } = {}] = seen.events;
    expect(note).toContain('connection Secret web-connection');
    expect(note).toContain(`the API server answered ${given.status}`);
    expect(JSON.stringify([seen.object, seen.events])).not.toContain('c2VjcmV0');
    expect(reason).toBe(given.stays ? 'ReleaseRefused' : 'ConnectionSecretFailed');
    if (given.stays) expect(shownBy(seen)).toEqual({ reason, message: note });
    else expect(seen.object).toBeUndefined();
  });
});

describe('an object of which the API server refuses the status as well', () => {
  it('is reported in an Event', async () => {
    const seen = await refusing(web(), { refusesStatus: FORBIDDEN });
    expect(seen.error).toBe(POLICY);
    expect(currentReason(seen.object?.status?.conditions)).toBeUndefined();
    expect(seen.events.map(({ reason, note }) => [reason, note.includes(POLICY.message)])).toEqual([
      ['WriteRefused', true],
    ]);
  });
});
