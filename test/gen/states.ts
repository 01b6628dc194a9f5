/** Every observable state of a VirtualServer, produced by the decision room itself. */
import type { EventNote } from '../../src/controller/conditions.ts';
import type { Reason } from '../../src/api/conditions.ts';
import {
  ADOPT_ANNOTATION,
  FINALIZER,
  NOT_CREATED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
} from '../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { Secrets } from '../../src/kube/kinds.ts';
import { parseApiKey, secretForbidden } from '../../src/accounts/accounts.ts';
import { ProviderError, ResponseError } from '../../src/provider/error.ts';
import type { Server, TaskState } from '../../src/provider/types.ts';
import {
  ATTEMPTED,
  ELSEWHERE,
  HELD,
  KNOWN,
  NOW,
  SERVER,
  TASKED,
  denials,
  memo,
  record,
  web,
  webWith,
  type Shape,
} from './decision.ts';
import { fakeSecrets } from './doubles.ts';
import { DENIED, visit, type Answers, type Given, type Visited } from './visits.ts';

export interface State {
  /** The reason that the state shows in a condition, a message or an Event; undefined before the first reconcile. */
  reason: Reason | undefined;
  object: VirtualServer;
  events: EventNote[];
}

const server = (changes: Partial<Server> = {}): Server => ({ ...SERVER, ...changes });
const pending: TaskState = { state: 'pending', status: 'Installing, 40 %, 30 seconds remaining' };
const refusal = new ResponseError(422, 'Ordering the server failed: the provider answered 422: no such product');

/** This process polled the task to its end, and remembers it. */
const OVER = { task: { state: 'over', identifier: 'srv1' } } as const;
const ready = reached(await visit(webWith(HELD), { memo: memo(OVER), answers: { server: SERVER } }));
const lost = reached(
  await visit(web(), {
    answers: { order: { kind: 'unknown', error: new ProviderError('PROVIDER_TIMEOUT', 'no answer within 60s') } },
  }),
);

/** The object that remains after a reconcile. */
function reached({ object }: Visited): VirtualServer {
  if (object === undefined) throw new Error('the object is gone');
  return object;
}

const seen = async (reason: Reason, object: VirtualServer, given?: Given): Promise<State> => {
  const result = await visit(object, given);
  return { reason, object: reached(result), events: result.events };
};

/** The object after an edit or a deletion by a user, before the operator has reconciled it. */
function edited(object: VirtualServer, { spec, annotations, deleting, annotated }: Shape): VirtualServer {
  const { metadata } = object;
  const changed = spec !== undefined || deleting === true;
  return {
    ...object,
    metadata: {
      ...metadata,
      generation: metadata.generation + (changed ? 1 : 0),
      annotations: {
        ...metadata.annotations,
        ...annotations,
        ...(typeof annotated === 'string' && { [RECORD_ANNOTATION]: annotated }),
      },
      ...(deleting === true && { deletionTimestamp: '2026-01-02T00:00:00Z', deletionGracePeriodSeconds: 0 }),
    },
    spec: { ...object.spec, ...spec },
  };
}

/** A visit that finds a problem with the API key. */
const key = (found: ReturnType<typeof parseApiKey>): Given => ('ok' in found ? { key: found } : {});
const KEY_PROBLEMS = {
  SecretNotFound: key(parseApiKey(undefined, 'default', 'vps-api-key')),
  SecretInvalid: key(parseApiKey({ data: { keyId: 'id' }, resourceVersion: '1' }, 'default', 'vps-api-key')),
  SecretForbidden: key(secretForbidden('default', 'vps-api-key', 'secrets "vps-api-key" is forbidden')),
} as const;
const CALL_PROBLEMS = {
  InvalidCredentials: new ProviderError(
    'PROVIDER_INVALID_CREDENTIALS',
    'the provider refuses the API key. Next try in 1 minute (at 2026-01-02T00:01:00Z), or within a minute after the Secret changes',
  ),
  Unauthorized: new ProviderError('PROVIDER_UNAUTHORIZED', 'the provider refuses a token that it has just issued'),
  ProviderUnavailable: new ProviderError('PROVIDER_UNREACHABLE', 'connection refused'),
  ProviderRateLimited: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', { retryAfterMs: 90_000 }),
  ProviderProtocolError: new ProviderError('PROVIDER_PROTOCOL', 'the answer is not JSON'),
} as const;

/** Each problem of a key or a call, before there is a server and with a Ready server. */
async function troubles(): Promise<Record<string, State>> {
  const found: Record<string, State> = {};
  for (const [reason, given] of Object.entries(KEY_PROBLEMS)) {
    found[reason] = await seen(reason as Reason, web(), given);
    found[`${reason}_ready`] = await seen(reason as Reason, ready, given);
  }
  for (const [reason, error] of Object.entries(CALL_PROBLEMS)) {
    found[reason] = await seen(reason as Reason, web(), { answers: { order: { kind: 'notCreated', error } } });
    found[`${reason}_ready`] = await seen(reason as Reason, ready, { answers: { server: error } });
  }
  return found;
}

const forbidden = (message: string): KubeError => new KubeError('Forbidden', message, { status: 403 });

/** States of a Ready server's connection Secret. */
async function connections(): Promise<Record<string, State>> {
  const asking = edited(ready, { spec: { connectionSecretName: 'web-connection' } });
  const strange = {
    metadata: { namespace: 'default', name: 'web-connection', uid: 'u', resourceVersion: '1' },
    type: 'Opaque',
    data: {},
  };
  const secrets: [Reason, Secrets | undefined][] = [
    [
      'ConnectionSecretWritten',
      fakeSecrets({ get: () => Promise.resolve(undefined), create: () => Promise.resolve(strange) }),
    ],
    ['ConnectionSecretsDisabled', undefined],
    ['ConnectionSecretTaken', fakeSecrets({ get: () => Promise.resolve(strange) })],
    ['ConnectionSecretFailed', fakeSecrets({ get: () => Promise.reject(forbidden('secrets is forbidden')) })],
  ];
  const found: Record<string, State> = {};
  for (const [reason, given] of secrets)
    found[reason] = await seen(reason, asking, { answers: { server: SERVER }, ...(given && { secrets: given }) });
  return found;
}

const unconfirmed: Answers = { server: SERVER, removed: 'The server is locked', after: SERVER };

/** The name of a state begins with the reason; a suffix after an underscore distinguishes variants. */
export async function states(): Promise<Record<string, State>> {
  const answers = { server: SERVER };
  const polled = { task: pending };
  const doomed = edited(ready, { deleting: true });
  const guarded = edited(ready, { spec: { deletionProtection: true } });
  const owned = {
    ...guarded,
    metadata: { ...guarded.metadata, ownerReferences: [{ kind: 'Shop', name: 'web', uid: 'uid-of-shop' }] },
  };
  const paused = { [PAUSED_ANNOTATION]: 'true' };
  const invalid = await seen('InvalidSpec', web({ spec: { diskSize: 15 } }));
  const orphaned: ServerRecord = {
    ...HELD,
    orphans: [{ attempt: 'a0', task: 6, attemptedAt: '2026-01-01T00:00:00Z' }],
  };
  const unresolved = edited(lost, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } });
  const later = { now: NOW + 2 * 60 * 60_000 };
  const unsaid = (object: VirtualServer): State => ({ reason: undefined, object, events: [] });
  return {
    // Not reconciled yet: a new object, an edit, a deletion, a fixed spec.
    new: unsaid(web()),
    edited: unsaid(edited(ready, { spec: { deletionPolicy: 'Retain' } })),
    fixed: unsaid(edited(invalid.object, { spec: { diskSize: 20 } })),
    terminating: unsaid(doomed),

    Available: await seen('Available', webWith(HELD), { memo: memo(OVER), answers }),
    Pending: await seen('Pending', unresolved, { notes: [{ attempt: 'a1', state: 'sending' }], dies: 'catalog' }),
    Creating: await seen('Creating', web(), { answers: { order: { kind: 'created', task: 7 }, ...polled } }),
    Creating_progress: await seen('Creating', webWith(TASKED), { answers: polled }),
    TaskOverdue: await seen('TaskOverdue', webWith(TASKED), { answers: polled, ...later }),
    TaskNotFound: await seen('TaskNotFound', webWith(TASKED), {
      memo: memo({ denials: denials('task 7') }),
      answers: { task: DENIED },
    }),
    TaskFailed: await seen('TaskFailed', webWith(TASKED), {
      answers: { task: { state: 'pending', status: 'Failed: no space left' } },
    }),
    TaskInUse: await seen('TaskInUse', webWith(TASKED), { others: { withTask: () => ['default/other'] } }),
    ServerNotRunning: await seen('ServerNotRunning', ready, { answers: { server: server({ status: 'stopped' }) } }),
    AddressPending: await seen('AddressPending', webWith(HELD), {
      memo: memo(OVER),
      answers: { server: server({ ipv6: [], sshProxy: undefined }) },
    }),
    Reachable: await seen('Reachable', edited(ready, { spec: { sshCheck: 'Proxy' } }), {
      answers,
      probe: { ok: true, banner: 'SSH-2.0-OpenSSH_10.0' },
    }),
    Booting: await seen('Booting', webWith(HELD, { spec: { sshCheck: 'Proxy' } }), {
      memo: memo(OVER),
      answers,
      probe: { ok: false, why: 'connection refused' },
    }),
    Unreachable: await seen('Unreachable', edited(ready, { spec: { sshCheck: 'Proxy' } }), {
      answers,
      probe: { ok: false, why: 'connection refused' },
    }),
    ...(await connections()),
    AbsenceUnproven: await seen('AbsenceUnproven', ready, {
      answers: { server: DENIED },
    }),
    ServerMissing: await seen('ServerMissing', ready, {
      memo: memo({ ...OVER, denials: denials('server srv1') }),
      answers: { server: DENIED },
    }),
    IdentityUnproven: await seen('IdentityUnproven', ready, {
      answers: { server: server({ macs: ['00:00:5e:00:53:ff'] }) },
    }),
    ServerNotVisible: await seen('ServerNotVisible', ready, {
      answers: { server: DENIED },
      account: ELSEWHERE,
    }),
    ServerAdopted: await seen('ServerAdopted', web({ annotations: { [ADOPT_ANNOTATION]: 'srv1' } }), {
      answers,
    }),
    Expired: await seen('Expired', edited(ready, { spec: { expiresAt: '2026-01-01T00:00:00Z' } }), {
      answers: { ...answers, removed: 'cancelled' },
    }),
    Expired_unordered: await seen('Expired', web({ spec: { expiresAt: '2026-01-01T00:00:00Z' } })),
    ExpiresSoon: await seen('ExpiresSoon', edited(ready, { spec: { expiresAt: '2026-01-02T12:00:00Z' } }), { answers }),
    ExpiryBlocked: await seen(
      'ExpiryBlocked',
      edited(ready, { spec: { expiresAt: '2026-01-01T00:00:00Z', deletionProtection: true } }),
      { answers },
    ),
    Drifted: await seen('Drifted', ready, { answers: { server: server({ product: 'vps-2gb' }) } }),

    Deleting: await seen('Deleting', webWith(TASKED, { deleting: true }), { answers: polled }),
    Deleting_unavailable: await seen('ProviderUnavailable', doomed, {
      answers: { ...answers, removed: CALL_PROBLEMS.ProviderUnavailable },
    }),
    Deleting_unconfirmed: await seen('Deleting', doomed, { answers: unconfirmed }),
    CancellationUnconfirmed: await seen('CancellationUnconfirmed', doomed, {
      memo: memo({
        ...OVER,
        end: { state: 'answered', identifier: 'srv1', said: 'The server is locked', since: -60_000, askedAt: -120_000 },
      }),
      answers: unconfirmed,
    }),
    CRDDeleting: await seen('CRDDeleting', doomed, { answers, definition: 'deleting' }),
    CRDForbidden: await seen('CRDForbidden', doomed, { answers, definition: forbidden('no right') }),
    HasOwners: await seen('HasOwners', owned, { answers }),
    DeletionProtected: await seen('DeletionProtected', edited(doomed, { spec: { deletionProtection: true } })),

    ...(await troubles()),
    SSHKeyNotFound: await seen('SSHKeyNotFound', web({ spec: { sshKeysFrom: [{ name: 'keys', key: 'keys' }] } })),
    InvalidSpec: invalid,
    CreateLimit: await seen('CreateLimit', web(), { creates: 1, ordered: true }),
    ServerLimit: await seen('ServerLimit', web(), { places: 5, taken: 5 }),
    JournalUnavailable: await seen('JournalUnavailable', web(), { journalProblem: 'no space left on device' }),
    CreateRejected: await seen('CreateRejected', web(), {
      answers: { order: { kind: 'refused', status: 422, error: refusal } },
    }),
    CreateInFlight: await seen('CreateInFlight', webWith(ATTEMPTED)),
    CreateOutcomeUnknown: { reason: 'CreateOutcomeUnknown', object: lost, events: [] },

    RecordInvalid: await seen('RecordInvalid', edited(ready, { annotated: '{' })),
    RecordTooNew: await seen('RecordTooNew', edited(ready, { annotated: formatRecord({ ...HELD, format: 2 }) })),
    RecordMissing: await seen('RecordMissing', web({ finalizers: [FINALIZER] })),
    RecordConflict: await seen('RecordConflict', web({ annotated: { ...HELD, identifier: 'srv2' }, mirror: HELD })),
    RecordMismatch: await seen('RecordMismatch', webWith(record({ owner: 'uid-of-the-original', identifier: 'srv1' }))),
    IdentifierInUse: await seen('IdentifierInUse', ready, { others: { withServer: () => ['default/other'] } }),
    AdoptInvalid: await seen('AdoptInvalid', web({ annotations: { [ADOPT_ANNOTATION]: 'two words' } })),
    UnknownAnnotation: await seen('UnknownAnnotation', web({ annotations: { 'vps-operator.dev/adoptt': 'srv1' } })),
    AdoptIgnored: await seen('AdoptIgnored', edited(ready, { annotations: { [ADOPT_ANNOTATION]: 'srv2' } }), {
      answers,
    }),
    OrphanedServer: await seen('OrphanedServer', webWith(orphaned), { memo: memo(OVER), answers }),
    OrphanedServer_deleting: await seen('OrphanedServer', webWith(orphaned, { deleting: true }), {
      memo: memo({ ...OVER, end: { state: 'confirmed', identifier: 'srv1' } }),
    }),

    Paused: await seen('Paused', web({ annotations: paused })),
    Paused_ready: await seen('Paused', edited(ready, { annotations: paused })),
    Paused_edited: await seen('Paused', edited(ready, { annotations: paused, spec: { deletionPolicy: 'Retain' } })),
    Paused_fixed: await seen('Paused', edited(invalid.object, { annotations: paused, spec: { diskSize: 20 } })),
    Paused_stalled: await seen('Paused', edited(lost, { annotations: paused })),
    Paused_deleting: await seen('Paused', edited(doomed, { annotations: paused })),
  };
}

/** Reasons that only an Event carries, because the object is gone; `null` if it still exists. */
export async function farewells(): Promise<Record<string, EventNote[] | null>> {
  const of = ({ object, events }: Visited): EventNote[] | null => (object === undefined ? events : null);
  const retained = webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } });
  return {
    ServerCancelled: of(
      await visit(webWith(HELD, { deleting: true }), {
        memo: memo(OVER),
        answers: { server: SERVER, removed: 'cancelled' },
      }),
    ),
    ServerGone: of(
      await visit(webWith(KNOWN, { deleting: true }), {
        memo: memo({ ...OVER, denials: denials('server srv1') }),
        answers: { server: DENIED },
      }),
    ),
    RetainedServer: of(await visit(retained)),
  };
}
