/** Which calls a cancellation makes, when it sends a DELETE, and what the answer means. */
import { describe, expect, it } from 'vitest';
import { ACCEPT_SERVER_ANNOTATION, RECONCILE_AT_ANNOTATION, SET_KIND } from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { KeepsFailing } from '../../../../src/kube/failing-reads.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import type { Evidence } from '../../../../src/virtual-server/decision/memo.ts';
import {
  ACCOUNT,
  ELSEWHERE,
  HELD,
  doubted,
  KNOWN,
  NOW,
  OTHER_KEY,
  SERVER,
  TIMING,
  denials,
  memo,
  webWith,
  type Shape,
} from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Answers, type Given, type Visited } from '../../../fixtures/visits.ts';

const TIME = '2026-01-01T00:00:00Z';
const READY = { serverStatus: 'running' };
const SEALED = { ...KNOWN, missingAt: TIME };
const DENIALS = denials('server srv1');
const VOUCHED = { identifier: 'srv1', account: OTHER_KEY };
const UNPROVEN = 'IdentityUnproven' as const;
const FORBIDDEN = new KubeError('Forbidden', 'no right', { status: 403 });
const FAILING = new KeepsFailing('ServerError', 'The API server answers 500 since 2026.', { status: 500 });

const blank = { ...SERVER, macs: [], ipv6: [] };
const stranger = { ...SERVER, macs: ['00:00:5e:00:53:ff'] };
const bare = { ...HELD, fingerprint: {} };
const zero = { ...HELD, fingerprint: { macs: ['00:00:00:00:00:00'] } };

/** All calls of a cancellation that succeeds; `write` removes the finalizer. */
const SENT = ['read', 'live', 'definition', 'delete', 'after', 'write'];
/** A server that is not shown, up to its DELETE. */
const UNSEEN = ['read', 'products', 'read', 'live', 'definition', 'delete'];

/** An object that is being deleted. */
const doomed = (own: ServerRecord, more: Shape = {}): VirtualServer =>
  webWith(own, { deleting: true, status: READY, ...more });

const SHOWN: Answers = { server: SERVER, removed: 'cancelled' };

/** Visits an object that is being deleted, whose server the provider shows and cancels. */
const cancel = (given: Given = {}, object = doomed(KNOWN)): Promise<Visited> =>
  visit(object, { ...given, answers: { ...SHOWN, ...given.answers } });

/** An object that is being deleted, whose task has ended, and whose server was never read. */
const unread = (own: ServerRecord = HELD): VirtualServer => doomed(own, { status: {} });
const OVER: Evidence = { task: { state: 'over', identifier: 'srv1' } };

/** Visits an object that is being deleted, whose server the provider does not show. */
const cancelUnseen = (given: Given = {}, object = unread()): Promise<Visited> =>
  visit(object, { memo: memo(OVER), ...given, answers: { server: DENIED, removed: 'cancelled', ...given.answers } });

const finalizers = ({ object }: Visited): string[] | undefined => object?.metadata.finalizers;
/** Without the writes of the status. */
const asked = ({ calls }: Visited): string[] => calls.filter((call) => call !== 'write');

/** The object stays, and its server was not cancelled. */
function expectKept(visited: Visited): void {
  expect(visited.calls).not.toContain('delete');
  expect(finalizers(visited)).toHaveLength(1);
  expect(visited.memo.evidence.end).toBeUndefined();
}

describe('what permits a DELETE', () => {
  it('is the server, then the object, then the definition, and a read follows it', async () => {
    const visited = await cancel();
    expect(visited.calls).toEqual(SENT);
    expect(visited.object).toBeUndefined();
    expect(visited.memo.evidence.end).toEqual({ state: 'confirmed', identifier: 'srv1' });
  });

  it.each<{
    reason: string;
    own: ServerRecord;
    account?: string;
    server?: typeof SERVER;
    evidence?: Evidence;
    accepts?: string;
  }>([
    { reason: 'nothing known about it, since it was never read', own: HELD },
    { reason: 'nothing known about it, since its first read showed nothing', own: bare },
    { reason: 'the same hardware address under another key', own: KNOWN, account: OTHER_KEY, server: SERVER },
    { reason: 'the same hardware address at another base URL', own: KNOWN, account: ELSEWHERE, server: SERVER },
    { reason: 'the same hardware address after the server had counted as gone', own: SEALED, server: SERVER },
    { reason: 'the same hardware address after denials', own: KNOWN, evidence: { denials: DENIALS }, server: SERVER },
    {
      reason: 'doubts that this process has settled',
      own: doubted(bare, UNPROVEN),
      evidence: { task: { state: 'over', identifier: 'srv1' } },
    },
    { reason: 'a task that names it under another key', own: HELD, account: OTHER_KEY, evidence: { vouched: VOUCHED } },
    { reason: 'your annotation that accepts it', own: KNOWN, server: stranger, accepts: 'srv1@00:00:5e:00:53:ff' },
  ])('is a server with $reason', async ({ own, account = ACCOUNT, server = blank, evidence, accepts }) => {
    const annotations: Record<string, string> = accepts === undefined ? {} : { [ACCEPT_SERVER_ANNOTATION]: accepts };
    const object = doomed(own, { annotations });
    const visited = await cancel({ answers: { server }, account, memo: memo(evidence) }, object);
    expect(visited.calls).toEqual(SENT);
    expect(visited.object).toBeUndefined();
  });

  it.each<{
    reason: string;
    own: ServerRecord;
    account?: string;
    server: typeof SERVER;
    evidence?: Evidence;
    shows?: string;
  }>([
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
      evidence: { vouched: VOUCHED },
    },
    { reason: 'was never read, at another base URL', own: HELD, account: ELSEWHERE, server: SERVER },
    { reason: 'had counted as gone and was never compared', own: { ...HELD, missingAt: TIME }, server: SERVER },
    { reason: 'was denied and never showed an address', own: bare, server: SERVER, evidence: { denials: DENIALS } },
    { reason: 'was not recognized by this process', own: bare, server: SERVER, evidence: { unrecognized: 'srv1' } },
    { reason: 'was not recognized by an earlier process', own: doubted(bare, UNPROVEN), server: SERVER },
    { reason: 'was denied to an earlier process', own: doubted(bare, 'AbsenceUnproven'), server: SERVER },
    { reason: 'was missing for an earlier process', own: { ...bare, missingAt: TIME }, server: SERVER },
  ])('is no server that $reason', async ({ own, account = ACCOUNT, server, evidence }) => {
    const visited = await cancel({ answers: { server }, account, memo: memo(evidence) }, doomed(own));
    expectKept(visited);
    expect(asked(visited)).toEqual(['read']);
    expect(shownBy(visited).reason).toBe(UNPROVEN);
    expect(visited.memo.evidence.unrecognized).toBe('srv1');
  });

  it('is no server that cannot be read', async () => {
    const visited = await cancel({ answers: { server: new ProviderError('PROVIDER_UNREACHABLE', 'reset') } });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read']);
    expect(shownBy(visited).reason).toBe('ProviderUnavailable');
  });

  it('is no live read of 30 seconds ago, by the time the DELETE would be sent', async () => {
    const visited = await cancel({ waits: 30_000 });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read', 'live', 'definition']);
    expect(visited.memo.failures).toBe(1);
    expect((await cancel({ waits: 29_999 })).calls).toEqual(SENT);
  });

  it('is no live read before the machine was suspended, by the time the DELETE would be sent', async () => {
    const visited = await cancel({ suspendedMs: 30_000 });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read', 'live', 'definition']);
    expect((await cancel({ suspendedMs: 29_999 })).calls).toEqual(SENT);
    expect((await cancel({ suspendedMs: -3_600_000 })).calls).toEqual(SENT);
  });

  it('is no process that may have a successor by the time the DELETE would be sent', async () => {
    const visited = await cancel({ leads: false });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read', 'live', 'definition']);
    expect(visited.memo.failures).toBe(1);
  });
});

describe('a server that reads do not show', () => {
  it('may still be found by a DELETE, and its absence then proves nothing', async () => {
    const visited = await cancelUnseen();
    expect(asked(visited)).toEqual(UNSEEN);
    expect(finalizers(visited)).toHaveLength(1);
    expect(visited.memo.evidence).toMatchObject({
      end: { state: 'requested', identifier: 'srv1' },
      denials: { of: 'server srv1', counted: 1 },
    });
  });

  it('is denied once if its DELETE is denied too', async () => {
    const visited = await cancelUnseen({ answers: { removed: DENIED } });
    expect(asked(visited)).toEqual(UNSEEN);
    expect(finalizers(visited)).toHaveLength(1);
    expect(visited.memo.evidence.end).toBeUndefined();
    expect(visited.memo.evidence.denials).toMatchObject({ of: 'server srv1', counted: 1 });
  });

  it.each<{
    reason: string;
    own?: ServerRecord;
    account?: string;
    evidence?: Evidence;
    object?: VirtualServer;
    answers?: Answers;
  }>([
    { reason: 'the key is another one', account: OTHER_KEY },
    { reason: 'the base URL is another one', account: ELSEWHERE },
    { reason: 'it was read before', own: KNOWN },
    { reason: 'its status shows that it was read before', object: doomed(HELD) },
    { reason: 'it was adopted', own: { ...HELD, mode: 'adopt' } },
    { reason: 'the denial does not count', answers: { products: [] } },
    { reason: 'it had counted as gone', own: { ...HELD, missingAt: TIME } },
    { reason: 'it was denied before', evidence: { ...OVER, denials: { ...DENIALS, counted: 1 } } },
    { reason: 'it was not recognized before', evidence: { ...OVER, unrecognized: 'srv1' } },
    { reason: 'an earlier process has not recognized it', object: doomed(doubted(HELD, UNPROVEN)), evidence: {} },
    { reason: 'an earlier process was denied it', object: doomed(doubted(HELD, 'AbsenceUnproven')), evidence: {} },
    { reason: 'it was missing for an earlier process', object: doomed({ ...HELD, missingAt: TIME }), evidence: {} },
  ])('gets no DELETE if $reason', async ({ own, object, account = ACCOUNT, evidence = OVER, answers = {} }) => {
    const visited = await cancelUnseen({ answers, account, memo: memo(evidence) }, object ?? unread(own));
    expectKept(visited);
    expect(asked(visited)).not.toContain('live');
  });

  it('makes the key suspect only if the denial does not count', async () => {
    expect((await cancelUnseen({ answers: { products: [] } })).isSuspect).toBe(true);
    expect((await cancelUnseen()).isSuspect).toBe(false);
  });
});

describe('the definitions', () => {
  it.each([
    { definition: 'deleting' as const, shows: 'CRDDeleting' },
    { definition: FORBIDDEN, shows: 'CRDForbidden' },
  ])('permit no DELETE while all objects may be being deleted by mistake ($shows)', async ({ definition, shows }) => {
    const visited = await cancel({ definition });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read', 'live', 'definition']);
    expect(shownBy(visited).reason).toBe(shows);
    expect(visited.memo.plan).toMatchObject({ operation: 'cancel' });
    expect(visited.requeueAfterMs).toBe(0.9 * TIMING.pollMs);
  });

  it('permit a DELETE if the deletion of all objects is allowed', async () => {
    const visited = await cancel({ definition: 'deletionAllowed' });
    expect(visited.calls).toEqual(SENT);
    expect(visited.object).toBeUndefined();
  });

  it('permit no DELETE if they cannot be read', async () => {
    const definition = new KubeError('ServerError', 'down', { status: 503 });
    const visited = await cancel({ definition, fails: true });
    expect(visited.error).toBe(definition);
    expect(visited.calls).toEqual(['read', 'live', 'definition']);
  });

  describe('for a member of a set', () => {
    const owned = (kind: string): VirtualServer => {
      const object = doomed(KNOWN);
      const ownerReferences = [{ kind, name: 'web', uid: 'uid-of-web' }];
      return { ...object, metadata: { ...object.metadata, ownerReferences } };
    };
    const member = owned(SET_KIND);

    it('are both read before the DELETE', async () => {
      const visited = await cancel({}, member);
      expect(visited.calls).toEqual(['read', 'live', 'definition', 'setDefinition', 'delete', 'after', 'write']);
      expect(visited.object).toBeUndefined();
    });

    it.each([
      { setDefinition: 'deleting' as const, why: 'deleting', shows: 'CRDDeleting' },
      { setDefinition: 'missing' as const, why: 'missing', shows: 'CRDDeleting' },
      { setDefinition: FORBIDDEN, why: 'forbidden', shows: 'CRDForbidden' },
      { setDefinition: FAILING, why: 'not readable', shows: 'CRDForbidden' },
    ])('permit no DELETE while that of sets is $why', async ({ setDefinition, shows }) => {
      const visited = await cancel({ setDefinition }, member);
      expectKept(visited);
      expect(asked(visited)).toEqual(['read', 'live', 'definition', 'setDefinition']);
      expect(shownBy(visited).reason).toBe(shows);
    });

    it.each<[string, VirtualServer, Given]>([
      ['the deletion of the definition of sets is allowed', member, { setDefinition: 'deletionAllowed' }],
      ['that of VirtualServers is', member, { definition: 'deletionAllowed', setDefinition: 'missing' }],
      ['the owner is no set', owned('Deployment'), { setDefinition: 'missing' }],
    ])('permit a DELETE if %s', async (_why, object, given) => {
      const visited = await cancel(given, object);
      expect(visited.calls).toContain('delete');
      expect(visited.object).toBeUndefined();
    });
  });
});

describe('the live object', () => {
  it('ends the visit if it is gone, or if another one has its name', async () => {
    const namesake = doomed(KNOWN);
    namesake.metadata.uid = 'another';
    for (const live of [null, namesake]) {
      const visited = await cancel({ live });
      expect(visited.calls).toEqual(['read', 'live']);
      expect(visited.object).toEqual(live ?? undefined);
      expect(visited.requeueAfterMs).toBeUndefined();
    }
  });

  it('gets no DELETE if another object began to hold its server during the visit', async () => {
    let isHeldTwice = false;
    const visited = await cancel({
      others: { withServer: () => (isHeldTwice ? ['default/other'] : []) },
      onCall: (call) => {
        isHeldTwice ||= call === 'definition';
      },
    });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read', 'live', 'definition']);
    expect(shownBy(visited).reason).toBe('IdentifierInUse');
  });

  it('decides also while the definition is being deleted', async () => {
    const retained = doomed(KNOWN, { spec: { deletionPolicy: 'Retain' } });
    expect((await cancel({ live: retained, definition: 'deleting' })).object).toBeUndefined();
    for (const own of [
      { ...KNOWN, identifier: 'srv2' },
      { ...KNOWN, readyAt: TIME },
    ]) {
      const visited = await cancel({ live: doomed(own), definition: 'deleting' });
      expect(visited.object?.status?.record).toEqual(own);
      expect(shownBy(visited).reason).toBe('CRDDeleting');
    }
  });

  it('reads everything again for each cancellation of a visit', async () => {
    // The second read shows another server, so what the first one showed must not count.
    const live = doomed(KNOWN, { annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } });
    const visited = await cancel({ live, answers: { server: [SERVER, stranger] } });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read', 'live', 'definition', 'read']);
    expect(shownBy(visited).reason).toBe(UNPROVEN);
  });

  it('has a record with another account, so that a denial does not permit a DELETE', async () => {
    const visited = await cancelUnseen({ live: unread({ ...HELD, account: OTHER_KEY }) });
    expectKept(visited);
    expect(asked(visited)).toEqual(['read', 'products', 'read', 'live', 'definition']);
  });

  it('names another server, which is read before its DELETE', async () => {
    const live = doomed({ ...KNOWN, identifier: 'srv2' });
    const visited = await cancel({ live });
    expect(visited.calls).toEqual(['read', 'live', 'definition', ...SENT]);
    expect(visited.memo.evidence.end).toEqual({ state: 'confirmed', identifier: 'srv2' });
  });
});

describe('the answer to a DELETE', () => {
  it('is a fault if it is 404 although a read shows the server', async () => {
    const visited = await cancel({ answers: { removed: DENIED } });
    expect(asked(visited)).toEqual(['read', 'live', 'definition', 'delete']);
    expect(finalizers(visited)).toHaveLength(1);
    expect(visited.memo.failures).toBe(1);
    expect(visited.memo.evidence.end).toBeUndefined();
    expect(visited.memo.evidence.denials).toBeUndefined();
  });

  it.each([
    { what: 'nothing', after: DENIED },
    { what: 'the server, which no longer runs', after: { ...SERVER, status: 'cancelled' } },
    { what: 'another server', after: stranger },
  ])('is confirmed by a read that shows $what', async ({ after }) => {
    const visited = await cancel({ answers: { after } });
    expect(visited.calls).toEqual(SENT);
    expect(visited.object).toBeUndefined();
    expect(visited.events).toMatchObject([{ reason: 'ServerCancelled' }]);
  });

  const stopped = { ...SERVER, status: 'stopped' };
  const { status: _status, ...silent } = SERVER;
  it.each([
    { what: 'the running server', before: SERVER, after: SERVER },
    { what: 'a running server without addresses', before: SERVER, after: blank },
    { what: 'no status', before: SERVER, after: silent },
    { what: 'a server that did not run before either', before: stopped, after: stopped },
  ])('is not confirmed by a read that shows $what', async ({ before, after }) => {
    const visited = await cancel({ answers: { server: before, after } });
    expect(asked(visited)).toEqual(['read', 'live', 'definition', 'delete', 'after']);
    expect(finalizers(visited)).toHaveLength(1);
    expect(visited.memo.evidence.end).toMatchObject({ state: 'answered', identifier: 'srv1', said: 'cancelled' });
    expect(visited.memo.plan).toMatchObject({ operation: 'cancel', at: NOW + TIMING.pollMs });
    expect(visited.requeueAfterMs).toBe(TIMING.pollMs);
  });

  it('is remembered if the read after it fails', async () => {
    const visited = await cancel({ answers: { after: new ResponseError(503, 'down') } });
    expect(asked(visited)).toEqual(['read', 'live', 'definition', 'delete', 'after']);
    expect(finalizers(visited)).toHaveLength(1);
    expect(visited.memo.failures).toBe(1);
    expect(visited.memo.evidence.end).toMatchObject({ state: 'answered', identifier: 'srv1', said: 'cancelled' });
  });

  it('is judged on the live object', async () => {
    // Only the record of the live object has the address that the server shows after the DELETE.
    const live = doomed({ ...HELD, fingerprint: { macs: [...SERVER.macs, ...stranger.macs] } });
    const visited = await cancel({ live, answers: { after: stranger } });
    expect(asked(visited)).toEqual(['read', 'live', 'definition', 'delete', 'after']);
    expect(finalizers(visited)).toHaveLength(1);
    expect(visited.memo.evidence.end).toMatchObject({ state: 'answered' });
  });
});
