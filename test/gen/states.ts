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
import type { ConnectionSecretState } from '../../src/virtual-server/decision/connection.ts';
import type { ProbeResult } from '../../src/virtual-server/decision/reach.ts';
import type { Facts, Outcome } from '../../src/virtual-server/decision/types.ts';
import { OTHER_KEY } from '../../src/virtual-server/decision/words.ts';
import { parseApiKey, secretForbidden } from '../../src/accounts/api-key.ts';
import { ProviderError, ResponseError } from '../../src/provider/error.ts';
import type { CreateOutcome, Server } from '../../src/provider/types.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  denials,
  HELD,
  KNOWN,
  NOW,
  others,
  record,
  SERVER,
  TASKED,
  web,
  webWith,
  type Shape,
} from './decision.ts';
import { visit, type Visited } from './visits.ts';

export interface State {
  /** The reason that the state shows in a condition, a message or an Event; undefined before the first reconcile. */
  reason: Reason | undefined;
  object: VirtualServer;
  events: EventNote[];
}

type Given = Parameters<typeof visit>[1];

const server = (changes: Partial<Server> = {}): Outcome => ({
  type: 'server',
  server: { ...SERVER, ...changes },
  account: ACCOUNT,
});
const probed = (result: ProbeResult): Outcome => ({ type: 'server', server: SERVER, account: ACCOUNT, probed: result });
const connected = (connection: ConnectionSecretState): Outcome => ({
  type: 'server',
  server: SERVER,
  account: ACCOUNT,
  connection,
});
const heldBack = (definition: 'deleting' | 'forbidden'): Outcome => ({ type: 'heldBack', of: 'servers', definition });
const failed = (error: ProviderError): Outcome => ({ type: 'failed', error });
const sent = (result: CreateOutcome): Outcome => ({ type: 'sent', result });
const pending: Outcome = { type: 'pending', status: 'Installing, 40 %, 30 seconds remaining' };
const refusal = new ResponseError(422, 'Ordering the server failed: the provider answered 422: no such product');

/** This process polled the task to its end, and remembers it. */
const OVER = { failures: 0, taskComplete: 'srv1' };
const ready = reached(visit(webWith(HELD), { memo: OVER, answers: { readServer: server() } }));
const lost = reached(
  visit(web(), {
    answers: {
      create: sent({ kind: 'unknown', error: new ProviderError('PROVIDER_TIMEOUT', 'no answer within 60s') }),
    },
  }),
);

/** The object that remains after a reconcile. */
function reached({ object }: Visited): VirtualServer {
  if (object === undefined) throw new Error('the object is gone');
  return object;
}

const seen = (reason: Reason, object: VirtualServer, given?: Given): State => {
  const result = visit(object, given);
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

/** Facts of a reconcile that finds a problem with the API key. */
const key = (found: ReturnType<typeof parseApiKey>): Partial<Facts> => ({
  credentials: 'ok' in found ? found : { ok: true, account: ACCOUNT },
});
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
function troubles(): [string, State][] {
  const ofKeys = Object.entries(KEY_PROBLEMS).flatMap(([reason, facts]): [string, State][] => [
    [reason, seen(reason as Reason, web(), facts)],
    [`${reason}_ready`, seen(reason as Reason, ready, facts)],
  ]);
  const ofCalls = Object.entries(CALL_PROBLEMS).flatMap(([reason, error]): [string, State][] => [
    [reason, seen(reason as Reason, web(), { answers: { create: sent({ kind: 'notCreated', error }) } })],
    [`${reason}_ready`, seen(reason as Reason, ready, { answers: { readServer: failed(error) } })],
  ]);
  return [...ofKeys, ...ofCalls];
}

/** States of a Ready server's connection Secret. */
function connections(): [string, State][] {
  const asking = edited(ready, { spec: { connectionSecretName: 'web-connection' } });
  const results: [Reason, ConnectionSecretState][] = [
    ['ConnectionSecretWritten', { state: 'written' }],
    ['ConnectionSecretsDisabled', { state: 'disabled' }],
    ['ConnectionSecretTaken', { state: 'taken' }],
    ['ConnectionSecretFailed', { state: 'failed', why: 'secrets is forbidden' }],
  ];
  return results.map(([reason, connection]) => [
    reason,
    seen(reason, asking, { answers: { readServer: connected(connection) } }),
  ]);
}

const unconfirmed = {
  type: 'unconfirmed',
  said: 'The server is locked',
  shown: { type: 'server', server: SERVER, account: ACCOUNT },
} as const;

/** The name of a state begins with the reason; a suffix after an underscore distinguishes variants. */
export function states(): Record<string, State> {
  const answers = { readServer: server() };
  const polled = { pollTask: pending };
  const doomed = edited(ready, { deleting: true });
  const guarded = edited(ready, { spec: { deletionProtection: true } });
  const owned = {
    ...guarded,
    metadata: { ...guarded.metadata, ownerReferences: [{ kind: 'Shop', name: 'web', uid: 'uid-of-shop' }] },
  };
  const paused = { [PAUSED_ANNOTATION]: 'true' };
  const invalid = seen('InvalidSpec', web({ spec: { diskSize: 15 } }));
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

    Available: seen('Available', webWith(HELD), { memo: OVER, answers }),
    Pending: seen('Pending', unresolved, { notes: [{ attempt: 'a1', state: 'sending' }], steps: 1 }),
    Creating: seen('Creating', web(), { answers: { create: sent({ kind: 'created', task: 7 }), ...polled } }),
    Creating_progress: seen('Creating', webWith(TASKED), { answers: polled }),
    TaskOverdue: seen('TaskOverdue', webWith(TASKED), { answers: polled, ...later }),
    TaskNotFound: seen('TaskNotFound', webWith(TASKED), {
      memo: { failures: 0, denials: denials('task 7') },
      answers: { pollTask: { type: 'taskNotFound', counts: true, detail: '' } },
    }),
    TaskFailed: seen('TaskFailed', webWith(TASKED), {
      answers: { pollTask: { type: 'pending', status: 'Failed: no space left' } },
    }),
    TaskInUse: seen('TaskInUse', webWith(TASKED), { others: others({ withTask: () => ['default/other'] }) }),
    ServerNotRunning: seen('ServerNotRunning', ready, { answers: { readServer: server({ status: 'stopped' }) } }),
    AddressPending: seen('AddressPending', webWith(HELD), {
      memo: OVER,
      answers: { readServer: server({ ipv6: [], sshProxy: undefined }) },
    }),
    Reachable: seen('Reachable', edited(ready, { spec: { sshCheck: 'Proxy' } }), {
      answers: { readServer: probed({ ok: true, banner: 'SSH-2.0-OpenSSH_10.0' }) },
    }),
    Booting: seen('Booting', webWith(HELD, { spec: { sshCheck: 'Proxy' } }), {
      memo: OVER,
      answers: { readServer: probed({ ok: false, why: 'connection refused' }) },
    }),
    Unreachable: seen('Unreachable', edited(ready, { spec: { sshCheck: 'Proxy' } }), {
      answers: { readServer: probed({ ok: false, why: 'connection refused' }) },
    }),
    ...Object.fromEntries(connections()),
    AbsenceUnproven: seen('AbsenceUnproven', ready, {
      answers: { readServer: { type: 'serverNotFound', counts: true, detail: '' } },
    }),
    ServerMissing: seen('ServerMissing', ready, {
      memo: { ...OVER, denials: denials('server srv1') },
      answers: { readServer: { type: 'serverNotFound', counts: true, detail: '' } },
    }),
    IdentityUnproven: seen('IdentityUnproven', ready, {
      answers: { readServer: server({ macs: ['00:00:5e:00:53:ff'] }) },
    }),
    ServerNotVisible: seen('ServerNotVisible', ready, {
      answers: { readServer: { type: 'serverNotFound', counts: false, detail: OTHER_KEY } },
    }),
    ServerAdopted: seen('ServerAdopted', web({ annotations: { [ADOPT_ANNOTATION]: 'srv1' } }), {
      answers: { adopt: server(), ...answers },
    }),
    Expired: seen('Expired', edited(ready, { spec: { expiresAt: '2026-01-01T00:00:00Z' } }), {
      answers: { deleteServer: { type: 'cancelled' } },
    }),
    Expired_unordered: seen('Expired', web({ spec: { expiresAt: '2026-01-01T00:00:00Z' } })),
    ExpiresSoon: seen('ExpiresSoon', edited(ready, { spec: { expiresAt: '2026-01-02T12:00:00Z' } }), { answers }),
    ExpiryBlocked: seen(
      'ExpiryBlocked',
      edited(ready, { spec: { expiresAt: '2026-01-01T00:00:00Z', deletionProtection: true } }),
      { answers },
    ),
    Drifted: seen('Drifted', ready, { answers: { readServer: server({ product: 'vps-2gb' }) } }),

    Deleting: seen('Deleting', webWith(TASKED, { deleting: true }), { answers: polled }),
    Deleting_unavailable: seen('ProviderUnavailable', doomed, {
      answers: { deleteServer: failed(CALL_PROBLEMS.ProviderUnavailable) },
    }),
    Deleting_unconfirmed: seen('Deleting', doomed, { answers: { deleteServer: unconfirmed } }),
    CancellationUnconfirmed: seen('CancellationUnconfirmed', doomed, {
      memo: {
        ...OVER,
        cancelAnswered: { identifier: 'srv1', said: unconfirmed.said, since: -60_000, askedAt: -60_000 },
      },
      answers: { deleteServer: unconfirmed },
    }),
    CRDDeleting: seen('CRDDeleting', doomed, { answers: { deleteServer: heldBack('deleting') } }),
    CRDForbidden: seen('CRDForbidden', doomed, { answers: { deleteServer: heldBack('forbidden') } }),
    HasOwners: seen('HasOwners', owned, { answers }),
    DeletionProtected: seen('DeletionProtected', edited(doomed, { spec: { deletionProtection: true } })),

    ...Object.fromEntries(troubles()),
    SSHKeyNotFound: seen('SSHKeyNotFound', web(), {
      sshKeys: {
        ok: false,
        reason: 'SSHKeyNotFound',
        message:
          'Secret default/keys, named in spec.sshKeysFrom, does not exist. The operator ordered nothing. Put SSH public keys there, or ' +
          'correct spec.sshKeysFrom; the operator retries automatically',
      },
    }),
    InvalidSpec: invalid,
    CreateLimit: seen('CreateLimit', web(), { createDelayMs: 600_000 }),
    ServerLimit: seen('ServerLimit', web(), { place: { free: false, limit: 5 } }),
    JournalUnavailable: seen('JournalUnavailable', web(), { journalProblem: 'no space left on device' }),
    CreateRejected: seen('CreateRejected', web(), {
      answers: { create: sent({ kind: 'refused', status: 422, error: refusal }) },
    }),
    CreateInFlight: seen('CreateInFlight', webWith(ATTEMPTED)),
    CreateOutcomeUnknown: { reason: 'CreateOutcomeUnknown', object: lost, events: [] },

    RecordInvalid: seen('RecordInvalid', edited(ready, { annotated: '{' })),
    RecordTooNew: seen('RecordTooNew', edited(ready, { annotated: formatRecord({ ...HELD, format: 2 }) })),
    RecordMissing: seen('RecordMissing', web({ finalizers: [FINALIZER] })),
    RecordConflict: seen('RecordConflict', web({ annotated: { ...HELD, identifier: 'srv2' }, mirror: HELD })),
    RecordMismatch: seen('RecordMismatch', webWith(record({ owner: 'uid-of-the-original', identifier: 'srv1' }))),
    IdentifierInUse: seen('IdentifierInUse', ready, { others: others({ withServer: () => ['default/other'] }) }),
    AdoptInvalid: seen('AdoptInvalid', web({ annotations: { [ADOPT_ANNOTATION]: 'two words' } })),
    UnknownAnnotation: seen('UnknownAnnotation', web({ annotations: { 'vps-operator.dev/adoptt': 'srv1' } })),
    AdoptIgnored: seen('AdoptIgnored', edited(ready, { annotations: { [ADOPT_ANNOTATION]: 'srv2' } }), { answers }),
    OrphanedServer: seen('OrphanedServer', webWith(orphaned), { memo: OVER, answers }),
    OrphanedServer_deleting: seen('OrphanedServer', webWith(orphaned, { deleting: true }), {
      memo: { ...OVER, cancelled: 'srv1' },
    }),

    Paused: seen('Paused', web({ annotations: paused })),
    Paused_ready: seen('Paused', edited(ready, { annotations: paused })),
    Paused_edited: seen('Paused', edited(ready, { annotations: paused, spec: { deletionPolicy: 'Retain' } })),
    Paused_fixed: seen('Paused', edited(invalid.object, { annotations: paused, spec: { diskSize: 20 } })),
    Paused_stalled: seen('Paused', edited(lost, { annotations: paused })),
    Paused_deleting: seen('Paused', edited(doomed, { annotations: paused })),
  };
}

/** Reasons that only an Event carries, because the object is gone; `null` if it still exists. */
export function farewells(): Record<string, EventNote[] | null> {
  const of = ({ object, events }: Visited): EventNote[] | null => (object === undefined ? events : null);
  const retained = webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } });
  return {
    ServerCancelled: of(
      visit(webWith(HELD, { deleting: true }), { memo: OVER, answers: { deleteServer: { type: 'cancelled' } } }),
    ),
    ServerGone: of(
      visit(webWith(KNOWN, { deleting: true }), {
        memo: { ...OVER, denials: denials('server srv1') },
        answers: { deleteServer: { type: 'serverNotFound', counts: true, detail: '' } },
      }),
    ),
    RetainedServer: of(visit(retained)),
  };
}
