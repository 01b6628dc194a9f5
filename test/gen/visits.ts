/**
 * Real visits to one object, with the operations as they run in the operator: a provider that answers as the test says, and
 * an API server that stores one object.
 */
import { currentReason, type EventNote } from '../../src/controller/conditions.ts';
import { statusSchema, type VirtualServer } from '../../src/api/virtual-server.ts';
import type { Accounts, Found } from '../../src/accounts/accounts.ts';
import { createLogger } from '../../src/base/logger.ts';
import type { Recorder } from '../../src/controller/event-recorder.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { Secrets } from '../../src/kube/kinds.ts';
import type { MetadataPatch } from '../../src/kube/client.ts';
import type { DefinitionState } from '../../src/virtual-server/kube.ts';
import type {
  Catalog,
  CreateOutcome,
  CreateServerRequest,
  Product,
  Server,
  TaskState,
} from '../../src/provider/types.ts';
import { ProviderError, withheldError } from '../../src/provider/error.ts';
import { ConnectionSecrets } from '../../src/virtual-server/connection-secret.ts';
import type { Memo } from '../../src/virtual-server/decision/memo.ts';
import type { ProbeResult } from '../../src/virtual-server/decision/reach.ts';
import type { AttemptNote, Others } from '../../src/virtual-server/decision/types.ts';
import { CreateLimit, ServerQuota } from '../../src/virtual-server/fleet/limits.ts';
import { Holders } from '../../src/virtual-server/fleet/holders.ts';
import { Objects } from '../../src/virtual-server/fleet/objects.ts';
import { openJournal, type Journal } from '../../src/virtual-server/journal/journal.ts';
import { Visits } from '../../src/virtual-server/reconciler.ts';
import type { VisitServices } from '../../src/virtual-server/visit.ts';
import { ACCOUNT, ATTEMPTED, CATALOG, NOW, TIMING, others as noOthers } from './decision.ts';
import { fakeKube, fakePace, fakeSession } from './doubles.ts';
import { FakeTimers } from './timers.ts';

/** A call that the provider answers with 404. */
export const DENIED = new ProviderError('PROVIDER_NOT_FOUND', '404');

/** One answer for every call, or the answers to successive calls, of which the last repeats. */
type Answer<T> = T | Error | readonly (T | Error)[];

/** The provider's answers; a call without one fails the test. */
export interface Answers {
  order?: CreateOutcome;
  task?: Answer<TaskState>;
  server?: Answer<Server>;
  /** The message of the documented answer to a DELETE. */
  removed?: Answer<string>;
  /** A read after the documented answer to a DELETE. */
  after?: Answer<Server>;
  products?: Product[] | Error;
  catalog?: Answer<Catalog>;
  /** Why an order could not be opened. */
  opened?: Error;
  /** Why the provider gives no token. */
  token?: Error;
}

export interface Given {
  answers?: Answers;
  memo?: Memo;
  /** The time (ms since the epoch). */
  now?: number;
  account?: string;
  /** What is found in place of a key. */
  key?: Found;
  /** Where the key comes from, instead. */
  accounts?: Pick<Accounts, 'get' | 'suspect'>;
  /** Added to messages while another key than the one in the Secret is used. */
  keyNote?: string;
  others?: Partial<Others>;
  holders?: Holders;
  notes?: readonly (AttemptNote & { task?: number })[];
  /** What a live read returns; null: the object is gone. Default: what was written last. */
  live?: VirtualServer | null;
  definition?: DefinitionState | Error;
  setDefinition?: DefinitionState | Error;
  probe?: ProbeResult;
  secrets?: Secrets;
  /** Whether this process leads at the moment of an order or a DELETE. */
  leads?: boolean;
  /** How long an order or a DELETE waits for its turn (ms). */
  waits?: number;
  /** The process dies at this call, which gets no answer. */
  dies?: string;
  /** The process dies after this many calls. */
  lasts?: number;
  journalProblem?: string;
  /** The disk refuses the journal's note that an order is about to be sent. */
  refusesSending?: true;
  /** Servers that the namespace may have, and has; default: any number. */
  places?: number;
  taken?: number;
  /** Orders that the namespace may send in an hour; default: any number. */
  creates?: number;
  /** Another object of the namespace has just sent an order. */
  ordered?: true;
  /** In place of a new limit with `creates`, so that a test can look at it afterwards. */
  limit?: CreateLimit;
  sshKeys?: Record<string, string>;
  /** What happens to the stored object before each write, such as a conflict. */
  beforeWrite?: (stored: VirtualServer) => VirtualServer;
  /** Called at each call, before its answer. */
  onCall?: (call: string) => void;
  /** The error of a failed visit is returned instead of thrown. */
  fails?: true;
}

export interface Visited {
  /** Undefined if the finalizer was removed and the object is gone. */
  object: VirtualServer | undefined;
  memo: Memo;
  events: EventNote[];
  /**
   * All calls, in order: `read` and others to the provider, `live`, `definition` and `write` to the API server, and `probe`
   * to the server.
   */
  calls: string[];
  /** What was ordered. */
  requests: CreateServerRequest[];
  /** Undefined: when something changes. */
  requeueAfterMs: number | undefined;
  journal: Journal;
  /** True if the key's Secret is read again before its next use. */
  isSuspect: boolean;
  /** The error of a failed visit. */
  error: unknown;
}

/** Runs one visit to its end. */
export async function visit(object: VirtualServer, given: Given = {}): Promise<Visited> {
  const { answers = {}, account = ACCOUNT, now = NOW, definition = 'kept', setDefinition = 'kept' } = given;
  const { namespace, name, uid } = object.metadata;
  const calls: string[] = [];
  const requests: CreateServerRequest[] = [];
  const events: EventNote[] = [];
  // Both clocks go on from one visit of a test to the next, as in `facts`.
  const timers = new FakeTimers(NOW);
  timers.advance(now - NOW);
  let stored = object as VirtualServer | undefined;
  let isSuspect = false;
  let isAnswered = false;

  const begin = (call: string): void => {
    if (calls.length === given.lasts) throw new Death();
    calls.push(call);
    given.onCall?.(call);
  };
  const reply = <T>(call: string, answer: Answer<T> | undefined): Promise<T> => {
    const all = Array.isArray(answer) ? (answer as readonly (T | Error)[]) : [answer as T | Error | undefined];
    const value = all[calls.filter((other) => other === call).length] ?? all.at(-1);
    begin(call);
    if (call === given.dies) return Promise.reject(new Death());
    if (value === undefined) throw new Error(`the test gives no answer to ${call}`);
    return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
  };
  const write = (change: (present: VirtualServer) => VirtualServer): Promise<VirtualServer> => {
    begin('write');
    if (stored === undefined) return Promise.reject(new KubeError('NotFound', 'gone', { status: 404 }));
    const present = given.beforeWrite?.(stored) ?? stored;
    const next = change(present);
    const resourceVersion = String(Number(present.metadata.resourceVersion) + 1);
    const written = { ...next, metadata: { ...next.metadata, resourceVersion } };
    const isGone = written.metadata.deletionTimestamp !== undefined && written.metadata.finalizers?.length === 0;
    stored = isGone ? undefined : written;
    return Promise.resolve(written);
  };
  const session = fakeSession({
    account,
    ensureToken: () => (answers.token === undefined ? Promise.resolve() : Promise.reject(answers.token)),
    catalog: () => reply('catalog', answers.catalog ?? CATALOG),
    products: () => reply<Product[]>('products', [answers.products ?? CATALOG.products]),
    pollTask: () => reply('poll', answers.task),
    readServer: () => (isAnswered ? reply<Server>('after', answers.after ?? DENIED) : reply('read', answers.server)),
    openOrder: () => {
      begin('open');
      timers.advance(given.waits ?? 0);
      if (answers.opened !== undefined) return Promise.reject(answers.opened);
      return Promise.resolve({
        close: () => undefined,
        send: async (request, gate) => {
          await gate.sending();
          if (!gate.maySend()) return { kind: 'notCreated', error: withheldError() };
          requests.push(request);
          return reply('order', answers.order);
        },
      });
    },
    deleteServer: async (_identifier, maySend = () => true) => {
      timers.advance(given.waits ?? 0);
      if (!maySend()) throw withheldError();
      const said = await reply('delete', answers.removed);
      isAnswered = true;
      return said;
    },
  });
  const kube = fakeKube({
    getSecret: (_namespace, secret) => {
      const data = given.sshKeys?.[secret];
      return Promise.resolve(data === undefined ? undefined : { data: { keys: data }, resourceVersion: '1' });
    },
    getVirtualServer: () => {
      // The first live read finds what has happened since; the later ones, what was written then.
      if (given.live !== undefined && !calls.includes('live')) stored = given.live ?? undefined;
      begin('live');
      return Promise.resolve(stored);
    },
    getDefinition: () => reply('definition', definition),
    getSetDefinition: () => reply('setDefinition', setDefinition),
    patchMetadata: (_version, patch) => write((present) => patched(present, patch)),
    writeStatus: (_version, _before, status) =>
      write((present) => ({ ...present, status: statusSchema.parse(status) })),
  });
  const holders = given.holders ?? new Holders(() => ACCOUNT);
  const { others } = given;
  if (others !== undefined) holders.others = () => noOthers(others);
  const quota = new ServerQuota(given.places ?? 0);
  for (let other = 0; other < (given.taken ?? 0); other += 1) quota.set(namespace, `uid-${other}`, true);
  const limit = given.limit ?? new CreateLimit(given.creates ?? 0);
  if (given.ordered === true) limit.reserve(namespace, 'uid-of-other', timers.monotonic());
  const objects = new Objects({ get: () => undefined }, holders, quota);
  if (given.memo !== undefined) objects.remember(uid, given.memo);
  const journal = await openJournal({ dir: undefined });
  for (const note of given.notes ?? []) await remembered(journal, { namespace, name, uid }, note);
  if (given.refusesSending === true) journal.sending = () => Promise.reject(new Error('the disk is full'));
  const found: Found = given.key ?? { ok: true, session, ...(given.keyNote !== undefined && { note: given.keyNote }) };
  const leads = (): boolean => given.leads ?? true;
  const log = createLogger({ level: 'silent' });
  const services: VisitServices = {
    kube,
    accounts: {
      get: () => Promise.resolve(found),
      suspect: () => {
        isSuspect = true;
      },
      ...given.accounts,
    } as Partial<Accounts> as Accounts,
    journal: given.journalProblem === undefined ? journal : broken(journal, given.journalProblem),
    objects,
    holders,
    quota,
    limit,
    pace: fakePace({ timing: () => TIMING }),
    probe: () => {
      begin('probe');
      return given.probe === undefined ? Promise.reject(new Error('no check')) : Promise.resolve(given.probe);
    },
    connections: new ConnectionSecrets({ secrets: given.secrets, kube, leads: () => true, log }),
    mint: () => ATTEMPTED.attempt ?? '',
    leads,
    timers,
    recorder: {
      record: (_kind: string, _object: VirtualServer, _action: string, notes: readonly EventNote[]) =>
        events.push(...notes),
    } as Partial<Recorder> as Recorder,
    log,
  };
  let failure: unknown;
  const requeueAfterMs = await new Visits(services).visit(object).catch((error: unknown) => {
    if (!(error instanceof Death) && given.fails !== true) throw error;
    failure = error;
    return undefined;
  });
  const memo = objects.memo(uid);
  return {
    object: stored && versioned(stored, object),
    memo,
    events,
    calls,
    requests,
    requeueAfterMs,
    journal,
    isSuspect,
    error: failure,
  };
}

/** The reason that the object shows after the visit, with its message. */
export function shownBy({ object }: Visited): { reason: string | undefined; message: string | undefined } {
  const { conditions } = object?.status ?? {};
  const reason = currentReason(conditions);
  return { reason, message: conditions?.find((condition) => condition.reason === reason)?.message };
}

/** States are compared and written to files, so they all have the version that the first one had. */
const versioned = (object: VirtualServer, { metadata: { resourceVersion } }: VirtualServer): VirtualServer => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion },
});

class Death extends Error {}

/** The journal, while the disk accepts nothing. */
function broken(journal: Journal, problem: string): Journal {
  return {
    ...journal,
    problem,
    entries: (uid) => journal.entries(uid),
    minted: () => Promise.reject(new Error(problem)),
  };
}

/** The steps that lead to the note. */
async function remembered(
  journal: Journal,
  of: { namespace: string; name: string; uid: string },
  { attempt, state, task, mintedAt, account = ACCOUNT }: AttemptNote & { task?: number },
): Promise<void> {
  await journal.minted({ ...of, attempt, account, ...(mintedAt !== undefined && { mintedAt }) });
  if (state !== 'minted') await journal.sending(of.uid, attempt);
  if (state === 'task' && task !== undefined) await journal.task(of.uid, attempt, task);
}

function patched(object: VirtualServer, { finalizers, annotations = {} }: MetadataPatch): VirtualServer {
  const merged = Object.entries({ ...object.metadata.annotations, ...annotations }).filter(
    ([, value]) => value !== null,
  );
  const metadata = { ...object.metadata, annotations: Object.fromEntries(merged) as Record<string, string> };
  if (finalizers !== undefined) metadata.finalizers = finalizers;
  return { ...object, metadata };
}
