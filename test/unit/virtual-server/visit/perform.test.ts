import { describe, expect, it } from 'vitest';
import { ACCEPT_SERVER_ANNOTATION, CONNECTION_SECRET_TYPE, OWNER_ANNOTATION, RECONCILE_AT_ANNOTATION, SET_KIND } from '../../../../src/api/names.ts';
import type { Secrets } from '../../../../src/kube/secrets.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import { ConnectionSecrets } from '../../../../src/virtual-server/connection-secret/connection-secrets.ts';
import { CreateLimit, ServerQuota } from '../../../../src/virtual-server/fleet/limits.ts';
import { Holders } from '../../../../src/virtual-server/fleet/holders.ts';
import { openJournal } from '../../../../src/virtual-server/journal/journal.ts';
import { choose } from '../../../../src/virtual-server/visit/choose.ts';
import type { VisitFacts } from '../../../../src/virtual-server/visit/gather.ts';
import { lookAt } from '../../../../src/virtual-server/decision/view.ts';
import { perform } from '../../../../src/virtual-server/visit/perform.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Condition } from '../../../../src/api/meta.ts';
import type { Action, CancellationFacts, Facts, Memo, Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import type { DefinitionState } from '../../../../src/virtual-server/kube.ts';
import { createLogger } from '../../../../src/base/logger.ts';
import { ProviderError, withheldError, ResponseError } from '../../../../src/provider/error.ts';
import type { Product, Server, TaskState } from '../../../../src/provider/types.ts';
import { ACCOUNT, ELSEWHERE, HELD, KNOWN, LEAVE, OTHER_KEY, SERVER, TASKED, UID, denials, gathered, memo, webWith } from '../../../gen/decision.ts';
import { fakeKube, fakeRooms, fakeSecrets, fakeSession } from '../../../gen/doubles.ts';
import { FakeTimers } from '../../../gen/timers.ts';

const denied: Error = new ProviderError('PROVIDER_NOT_FOUND', '404');
const READY = { serverStatus: 'running' };
const PRODUCTS: Product[] = [{ code: 'vps-1gb' }];

interface Answers {
  /** The answers to successive calls; the last one repeats. */
  servers?: (Server | Error)[];
  tasks?: Error[];
  products?: Product[] | Error;
  account?: string;
  /** The answer to a DELETE. */
  removed?: Error | 'cancelled';
  /** What a read after the documented answer to a DELETE finds; by default nothing. */
  after?: Server | Error;
  /** The object that holds the server, as the cache knows it and as a live read returns it. */
  object?: VirtualServer;
  live?: VirtualServer;
  /** The states of the CustomResourceDefinitions. */
  definition?: DefinitionState | Error;
  setDefinition?: DefinitionState | Error;
  held?: Partial<Memo>;
  /** How long a DELETE waits for its turn (ms), and whether this process still leads by then. */
  waits?: number;
  leads?: boolean;
  secrets?: Secrets;
}

/** Performs an action with a provider that answers like this; `calls`: the calls to the provider, in order. */
async function run(action: Action, answers: Answers, holders = new Holders(() => ACCOUNT)) {
  const { servers = [denied], tasks = [denied], products = PRODUCTS, account = ACCOUNT, removed = denied } = answers;
  const deleting = action.type === 'deleteServer';
  const known = deleting ? action.record : KNOWN;
  const { object = webWith(known, { deleting, status: READY }), held = {} } = answers;
  const { live = object, definition = 'kept', setDefinition = 'kept' } = answers;
  const calls: string[] = [];
  let isAnswered = false;
  const timers = new FakeTimers();
  const answer = <T>(call: string, values: (T | Error)[]): Promise<T> => {
    const value = values[calls.filter((other) => other === call).length] ?? values.at(-1);
    calls.push(call);
    return value instanceof Error ? Promise.reject(value) : Promise.resolve(value as T);
  };
  const session = fakeSession({
    account,
    products: () => answer('products', [products]),
    readServer: () => answer('read', isAnswered ? [answers.after ?? denied] : servers),
    pollTask: () => answer<TaskState>('poll', tasks),
    deleteServer: async (_identifier: string, maySend: () => boolean) => {
      timers.advance(answers.waits ?? 0);
      if (!maySend()) throw withheldError();
      const said = await answer('delete', [removed]);
      isAnswered = true;
      return said;
    },
  });
  const kube = fakeKube({
    getVirtualServer: () => answer('live', [live]),
    getDefinition: () => answer('definition', [definition]),
    getSetDefinition: () => answer('setDefinition', [setDefinition]),
  });
  const room = fakeRooms({
    kube,
    objects: { saw: () => undefined },
    quota: new ServerQuota(0),
    journal: await openJournal({ dir: undefined }),
    holders,
    limit: new CreateLimit(0),
    mint: () => 'a1',
    leads: () => answers.leads ?? true,
    timers,
    probe: () => Promise.reject(new Error('nothing asks for an SSH server here')),
    connections: new ConnectionSecrets({
      secrets: answers.secrets,
      kube,
      leads: () => true,
      log: createLogger({ level: 'silent' }),
    }),
  });
  const credentials = { ok: true, account } as const;
  const facts = (cancellation?: CancellationFacts): Facts =>
    gathered({ memo: memo(held), credentials, ...(cancellation && { cancellation }) });
  // Gather what a DELETE needs first, as in a visit.
  const into: VisitFacts = { session };
  const choice = deleting
    ? await choose(object, into, () => facts(into.cancellation), room)
    : { view: lookAt(object, facts()), action };
  if (choice === undefined) throw new Error('the object is gone');
  const outcome: Outcome = await perform(choice.action, { view: choice.view, session }, room);
  return { outcome, calls, holders, action: choice.action };
}

const read: Action = { type: 'readServer', record: KNOWN, identifier: 'srv1' };
const of = (record: ServerRecord): Action => ({ type: 'deleteServer', record, identifier: 'srv1', leave: LEAVE });
const cancel = of(KNOWN);
const unseen = of(HELD);
const TIME = '2026-01-01T00:00:00Z';
const SEALED = { ...KNOWN, missingAt: TIME };
const DENIALS = denials('server srv1');
const VOUCHED = { identifier: 'srv1', account: OTHER_KEY };
const UNPROVEN = 'IdentityUnproven' as const;
const poll: Action = { type: 'pollTask', record: TASKED, task: 7 };

describe('a 404', () => {
  it.each([
    { action: read, what: 'server', calls: ['read', 'products', 'read'], type: 'serverNotFound' },
    { action: poll, what: 'task', calls: ['poll', 'products', 'poll'], type: 'taskNotFound' },
    {
      action: unseen,
      what: 'DELETE',
      calls: ['read', 'products', 'read', 'live', 'definition', 'delete'],
      type: 'serverNotFound',
    },
  ])('for a $what is checked by a second call, after reading the lists', async ({ action, calls: asked, type }) => {
    const { outcome, calls } = await run(action, {});
    expect(outcome).toMatchObject({ type, counts: true });
    expect(calls).toEqual(asked);
  });

  it.each([
    { reason: 'the list of products is empty', products: [] },
    { reason: 'the list of products is answered with 404', products: new ResponseError(404, 'no such path') },
    { reason: 'the list of products is answered with 403', products: new ResponseError(403, 'no right to it') },
  ])('does not count if $reason', async ({ products }) => {
    expect((await run(read, { products })).outcome).toMatchObject({ type: 'serverNotFound', counts: false });
    expect((await run(poll, { products })).outcome).toMatchObject({ type: 'taskNotFound', counts: false });
  });

  it.each([OTHER_KEY, ELSEWHERE])('does not count under another account (%s)', async (account) => {
    expect((await run(read, { account })).outcome).toMatchObject({ type: 'serverNotFound', counts: false });
    expect((await run(poll, { account })).outcome).toMatchObject({ type: 'taskNotFound', counts: false });
  });

  it('does not count if the provider cannot be asked for its lists', async () => {
    const { outcome } = await run(read, { products: new ResponseError(503, 'down') });
    expect(outcome).toMatchObject({ type: 'failed' });
  });

  it('counts as a fault if the second answer shows the server', async () => {
    const { outcome } = await run(read, { servers: [denied, SERVER] });
    expect(outcome).toMatchObject({ type: 'server', server: SERVER, account: ACCOUNT });
  });

  it('of a DELETE counts as a fault if a read shows the server', async () => {
    const { outcome } = await run(cancel, { servers: [SERVER] });
    expect(outcome).toMatchObject({ type: 'failed' });
  });
});

describe('a cancellation', () => {
  const blank = { ...SERVER, macs: [], ipv6: [] };
  const stranger = { ...SERVER, macs: ['00:00:5e:00:53:ff'] };
  const bare = { ...HELD, fingerprint: {} };
  const zero = { ...HELD, fingerprint: { macs: ['00:00:00:00:00:00'] } };
  const sent = ['read', 'live', 'definition', 'delete', 'read'];
  const doomed = (own: ServerRecord, reason?: Condition['reason'], annotations: Record<string, string> = {}) => {
    const conditions: Condition[] = [
      { type: 'Stalled', status: 'True', reason: reason ?? 'Available', message: '', lastTransitionTime: TIME },
    ];
    const status = { ...READY, ...(reason !== undefined && { conditions }) };
    return webWith(own, { deleting: true, status, annotations });
  };

  it('reads the server, then the object, and cancels what it recognizes', async () => {
    const { outcome, calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled' });
    expect(outcome).toEqual({ type: 'cancelled' });
    expect(calls).toEqual(sent);
  });

  it.each([
    { reason: 'nothing known about it, since it was never read', own: HELD },
    { reason: 'nothing known about it, since its first read showed nothing', own: bare },
    { reason: 'the same hardware address under another key', own: KNOWN, account: OTHER_KEY, server: SERVER },
    { reason: 'the same hardware address at another base URL', own: KNOWN, account: ELSEWHERE, server: SERVER },
    { reason: 'the same hardware address after the server had counted as gone', own: SEALED, server: SERVER },
    { reason: 'the same hardware address after denials', own: KNOWN, held: { denials: DENIALS }, server: SERVER },
    { reason: 'doubts that this process has settled', own: bare, said: UNPROVEN, held: { taskComplete: 'srv1' } },
    { reason: 'a task that names it under another key', own: HELD, account: OTHER_KEY, held: { vouched: VOUCHED } },
    { reason: 'your annotation that accepts it', own: KNOWN, server: stranger, accepts: 'srv1@00:00:5e:00:53:ff' },
  ])('cancels a server with $reason', async ({ own, account, server = blank, held, said, accepts }) => {
    const words = accepts === undefined ? {} : { [ACCEPT_SERVER_ANNOTATION]: accepts };
    const object = doomed(own, said, words);
    const answers = {
      servers: [server],
      removed: 'cancelled',
      object,
      ...(account && { account }),
      ...(held && { held }),
    };
    const { outcome, calls } = await run(of(own), answers as Answers);
    expect(outcome).toEqual({ type: 'cancelled' });
    expect(calls).toEqual(sent);
  });

  it.each([
    { reason: 'shows another hardware address', own: KNOWN, server: stranger },
    { reason: 'shows none of its known addresses', own: KNOWN, server: blank },
    { reason: 'shows and showed only zeros', own: zero, server: { ...blank, macs: zero.fingerprint.macs } },
    { reason: 'shows no addresses under another key', own: KNOWN, account: OTHER_KEY, server: blank },
    { reason: 'was never read, under another key', own: HELD, account: OTHER_KEY, server: SERVER },
    {
      reason: 'its task named under a third key',
      own: HELD,
      account: ELSEWHERE,
      server: SERVER,
      held: { vouched: VOUCHED },
    },
    { reason: 'was never read, at another base URL', own: HELD, account: ELSEWHERE, server: SERVER },
    { reason: 'had counted as gone and was never compared', own: { ...HELD, missingAt: TIME }, server: SERVER },
    { reason: 'was denied and never showed an address', own: bare, server: SERVER, held: { denials: DENIALS } },
    { reason: 'was not recognized by this process', own: bare, server: SERVER, held: { unrecognized: 'srv1' } },
    { reason: 'was not recognized by an earlier process', own: bare, server: SERVER, said: UNPROVEN },
    { reason: 'was denied to an earlier process', own: bare, server: SERVER, said: 'AbsenceUnproven' as const },
    { reason: 'was missing for an earlier process', own: bare, server: SERVER, said: 'ServerMissing' as const },
  ])('sends no DELETE for a server that $reason', async ({ own, account, server, held, said }) => {
    const answers = { servers: [server], removed: 'cancelled', object: doomed(own, said), ...(account && { account }) };
    const { outcome, calls } = await run(of(own), { ...answers, ...(held && { held }) } as Answers);
    expect(outcome).toMatchObject({ type: 'server', server, account: account ?? ACCOUNT });
    expect(calls).toEqual(['read']);
  });

  it.each([
    { definition: 'deleting' as const, why: 'deleting' },
    { definition: new KubeError('Forbidden', 'no right', { status: 403 }), why: 'forbidden' },
  ])('sends no DELETE while all objects may be being deleted by mistake ($why)', async ({ definition, why }) => {
    const { outcome, calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled', definition });
    expect(outcome).toEqual({ type: 'heldBack', of: 'servers', definition: why });
    expect(calls).toEqual(['read', 'live', 'definition']);
  });

  it('sends a DELETE if the deletion of all objects is allowed', async () => {
    const { outcome } = await run(cancel, { servers: [SERVER], removed: 'cancelled', definition: 'deletionAllowed' });
    expect(outcome).toEqual({ type: 'cancelled' });
  });

  describe('of a member of a set', () => {
    const cancelled: Answers = { servers: [SERVER], removed: 'cancelled' };
    const owned = (kind: string): VirtualServer => {
      const object = doomed(KNOWN);
      const ownerReferences = [{ kind, name: 'web', uid: 'uid-of-web' }];
      return { ...object, metadata: { ...object.metadata, ownerReferences } };
    };
    const object = owned(SET_KIND);

    it('is sent if the definition of sets is kept too', async () => {
      const { outcome, calls } = await run(cancel, { ...cancelled, object });
      expect(outcome).toEqual({ type: 'cancelled' });
      expect(calls).toEqual(['read', 'live', 'definition', 'setDefinition', 'delete', 'read']);
    });

    it.each([
      { setDefinition: 'deleting' as const, why: 'deleting' },
      { setDefinition: 'missing' as const, why: 'missing' },
      { setDefinition: new KubeError('Forbidden', 'no right', { status: 403 }), why: 'forbidden' },
    ])('is not sent while the definition of sets is $why', async ({ setDefinition, why }) => {
      const { outcome, calls } = await run(cancel, { ...cancelled, object, setDefinition });
      expect(outcome).toEqual({ type: 'heldBack', of: 'sets', definition: why });
      expect(calls).toEqual(['read', 'live', 'definition', 'setDefinition']);
    });

    it.each([
      ['the deletion of the definition of sets is allowed', { object, setDefinition: 'deletionAllowed' as const }],
      [
        'that of VirtualServers is',
        { object, definition: 'deletionAllowed' as const, setDefinition: 'missing' as const },
      ],
      ['the owner is no set', { object: owned('Deployment'), setDefinition: 'missing' as const }],
    ])('is sent if %s', async (_why, answers) => {
      const { outcome } = await run(cancel, { ...cancelled, ...answers });
      expect(outcome).toEqual({ type: 'cancelled' });
    });
  });

  it('sends no DELETE if the definition cannot be read', async () => {
    const definition = new KubeError('ServerError', 'down', { status: 503 });
    await expect(run(cancel, { servers: [SERVER], removed: 'cancelled', definition })).rejects.toThrow('down');
  });

  it('asks to cancel a server that reads do not show yet, whose absence then proves nothing', async () => {
    const object = doomed(HELD);
    const { outcome, calls } = await run(of(HELD), { removed: 'cancelled', object });
    expect(outcome).toMatchObject({ type: 'unconfirmed', said: 'cancelled', shown: { type: 'serverNotFound' } });
    expect(calls).toEqual(['read', 'products', 'read', 'live', 'definition', 'delete']);
  });

  it.each([
    { reason: 'the key is another one', own: HELD, account: OTHER_KEY },
    { reason: 'the base URL is another one', own: HELD, account: ELSEWHERE },
    { reason: 'it was read before', own: KNOWN },
    { reason: 'it was adopted', own: { ...HELD, mode: 'adopt' as const } },
    { reason: 'the denial does not count', own: HELD, products: [] },
    { reason: 'it had counted as gone', own: { ...HELD, missingAt: TIME } },
    { reason: 'it was denied before', own: HELD, held: { denials: DENIALS } },
    { reason: 'it was not recognized before', own: HELD, held: { unrecognized: 'srv1' } },
    { reason: 'an earlier process has not recognized it', own: HELD, said: UNPROVEN },
    { reason: 'an earlier process was denied it', own: HELD, said: 'AbsenceUnproven' as const },
    { reason: 'it was missing for an earlier process', own: HELD, said: 'ServerMissing' as const },
  ])('sends no DELETE for a server that is not shown if $reason', async ({ own, account, held, said, products }) => {
    const answers = {
      removed: 'cancelled',
      ...(products && { products }),
      object: doomed(own, said),
      ...(account && { account }),
      ...(held && { held }),
    };
    const { outcome, calls } = await run(of(own), answers as Answers);
    expect(outcome).toMatchObject({ type: 'serverNotFound' });
    expect(calls).not.toContain('delete');
  });

  it('sends no DELETE if the object is no longer being deleted', async () => {
    const live = webWith(KNOWN, { status: READY });
    const { action, calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled', live });
    expect(action.type).toBe('readServer');
    expect(calls).toEqual(['read', 'live', 'read']);
  });

  it('starts over with the server if you have changed the object since', async () => {
    const live = doomed(KNOWN, undefined, { [RECONCILE_AT_ANNOTATION]: 'now' });
    const { outcome, calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled', live });
    expect(outcome).toEqual({ type: 'cancelled' });
    expect(calls).toEqual(['read', 'live', ...sent]);
  });

  it('sends no DELETE for a server that is not in the live record', async () => {
    const live = doomed({ ...HELD, fingerprint: { macs: stranger.macs } });
    const { outcome, calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled', live });
    expect(outcome).toMatchObject({ type: 'server', server: SERVER });
    expect(calls).toEqual(['read', 'live']);
  });

  it('sends no DELETE for a server that is not shown if the live record has another account', async () => {
    const live = doomed({ ...HELD, account: OTHER_KEY });
    const { outcome, calls } = await run(unseen, { object: doomed(HELD), removed: 'cancelled', live });
    expect(outcome).toMatchObject({ type: 'serverNotFound', counts: true });
    expect(calls).toEqual(['read', 'products', 'read', 'live']);
  });

  it('reads the server again if the live record names another one', async () => {
    const live = doomed({ ...KNOWN, identifier: 'srv2' });
    const { calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled', live });
    expect(calls).toEqual(['read', 'live', ...sent]);
  });

  it.each([
    { reason: 'the live read is 30 seconds old', changes: { waits: 30_000 } },
    { reason: 'another process may be the leader', changes: { leads: false } },
  ])('sends no DELETE if $reason by the time it would be sent', async ({ changes }) => {
    const { outcome, calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled', ...changes });
    expect(outcome).toEqual({ type: 'failed', error: withheldError() });
    expect(calls).toEqual(['read', 'live', 'definition']);
    const { outcome: timely } = await run(cancel, { servers: [SERVER], removed: 'cancelled', waits: 29_999 });
    expect(timely).toEqual({ type: 'cancelled' });
  });

  it.each([
    { error: new ProviderError('PROVIDER_TIMEOUT', '60 s'), asked: true },
    { error: new ProviderError('PROVIDER_UNREACHABLE', 'reset'), asked: true },
    { error: new ResponseError(503, 'down'), asked: true },
    { error: new ResponseError(400, 'no'), asked: false },
    { error: withheldError(), asked: false },
    { error: new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'refused'), asked: false },
    { error: new ProviderError('PROVIDER_UNAUTHORIZED', 'refused'), asked: false },
    { error: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', {}), asked: false },
  ])('may have been carried out when its DELETE fails with $error.message: $asked', async ({ error, asked }) => {
    const { outcome } = await run(cancel, { servers: [SERVER], removed: error });
    expect(outcome).toEqual({ type: 'failed', error, ...(asked && { cancelAsked: true }) });
  });

  it.each([
    { what: 'nothing', after: denied },
    { what: 'the server, which no longer runs', after: { ...SERVER, status: 'cancelled' } },
    { what: 'another server', after: stranger },
  ])('has cancelled the server if a read after the documented answer shows $what', async ({ after }) => {
    const { outcome } = await run(cancel, { servers: [SERVER], removed: 'cancelled', after });
    expect(outcome).toEqual({ type: 'cancelled' });
  });

  it.each([
    { what: 'the running server', before: SERVER, after: SERVER },
    { what: 'a running server without addresses', before: SERVER, after: blank },
    { what: 'no status', before: SERVER, after: { ...SERVER, status: undefined } },
    {
      what: 'a server that did not run before either',
      before: { ...SERVER, status: 'stopped' },
      after: { ...SERVER, status: 'stopped' },
    },
  ])('proves nothing if a read after the documented answer shows $what', async ({ before, after }) => {
    const { outcome } = await run(cancel, { servers: [before], removed: 'cancelled', after });
    expect(outcome).toMatchObject({ type: 'unconfirmed', said: 'cancelled', shown: { type: 'server', server: after } });
  });

  it('remembers the documented answer if the read after it fails', async () => {
    const after = new ResponseError(503, 'down');
    const { outcome, calls } = await run(cancel, { servers: [SERVER], removed: 'cancelled', after });
    expect(outcome).toEqual({ type: 'failed', error: after, said: 'cancelled' });
    expect(calls).toEqual(sent);
  });

  it('asks again without a DELETE while the last documented answer is recent', async () => {
    const cancelAnswered = { identifier: 'srv1', said: 'locked', since: 0, askedAt: 0 };
    const { outcome, calls } = await run(cancel, { servers: [SERVER], held: { cancelAnswered } });
    expect(outcome).toMatchObject({ type: 'server', server: SERVER });
    expect(calls).toEqual(['read']);
  });

  it('sends no DELETE if the server cannot be read', async () => {
    const { outcome, calls } = await run(cancel, {
      servers: [new ProviderError('PROVIDER_UNREACHABLE', 'reset')],
      removed: 'cancelled',
    });
    expect(outcome).toMatchObject({ type: 'failed' });
    expect(outcome).not.toHaveProperty('cancelAsked');
    expect(calls).toEqual(['read']);
  });
});

describe('an adoption', () => {
  const adopt: Action = { type: 'adopt', record: undefined, identifier: 'srv1' };

  it('reserves the server before reading it', async () => {
    const { outcome, holders } = await run(adopt, { servers: [SERVER] });
    expect(outcome).toMatchObject({ type: 'server' });
    expect(holders.others('another').withServer('srv1', { account: ACCOUNT })).toEqual(['default/web']);
    expect(holders.others(UID).withServer('srv1', { account: ACCOUNT })).toEqual([]);
  });

  it.each([
    { shown: true, answers: { servers: [SERVER] }, type: 'held' },
    { shown: false, answers: { servers: [denied] }, type: 'serverNotFound' },
  ])('learns of a holder only if the server can be read ($shown)', async ({ answers, type }) => {
    const holders = new Holders(() => ACCOUNT);
    const held = { namespace: 'default', name: 'other', secret: 'key', account: ACCOUNT, identifier: 'srv1' };
    holders.set('another', held);
    const { outcome } = await run(adopt, answers, holders);
    expect(outcome.type).toBe(type);
    if (outcome.type === 'held') expect(outcome.holders).toEqual(['default/other']);
  });

  it('gives way to an earlier adoption', async () => {
    const other = { namespace: 'default', name: 'other', secret: 'key', account: ACCOUNT, identifier: 'srv1' };
    const earlier = new Holders(() => ACCOUNT);
    earlier.reserve('another', other);
    expect((await run(adopt, { servers: [SERVER] }, earlier)).outcome).toMatchObject({ type: 'held' });
  });
});

describe('a release', () => {
  const letGo = async (why: 'cancelled' | 'gone' | 'retained', deletionPolicy: 'Delete' | 'Retain') => {
    const object = webWith(KNOWN, { deleting: true, spec: { connectionSecretName: 'web-connection', deletionPolicy } });
    const metadata = { namespace: 'default', name: 'web-connection', uid: 'uid-of-secret', resourceVersion: '7' };
    const data = { vncPassword: 'a password' };
    let changed: Record<string, string | null> = data;
    const secrets = fakeSecrets({
      get: () =>
        Promise.resolve({
          metadata: { ...metadata, annotations: { [OWNER_ANNOTATION]: UID } },
          type: CONNECTION_SECRET_TYPE,
          data,
        }),
      patch: (_metadata, changes) => {
        changed = { ...changed, ...changes.data };
        return Promise.resolve();
      },
    });
    await run({ type: 'release', why, record: KNOWN }, { object, secrets });
    return changed.vncPassword;
  };

  it.each(['cancelled', 'gone'] as const)(
    'empties a Secret that outlives its object when the server is %s',
    async (why) => {
      expect(await letGo(why, 'Retain')).toBeNull();
    },
  );

  it('does not empty the Secret of a retained server, nor a Secret that is deleted with its object', async () => {
    expect(await letGo('retained', 'Retain')).toBe('a password');
    expect(await letGo('cancelled', 'Delete')).toBe('a password');
  });
});
