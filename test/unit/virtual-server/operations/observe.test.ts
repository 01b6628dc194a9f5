import { describe, expect, it } from 'vitest';
import {
  ADOPT_ANNOTATION,
  HAND_OVER_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import {
  adopting,
  ATTEMPTED,
  denials,
  HELD,
  KNOWN,
  memo,
  NOW,
  opened,
  PRICED,
  record,
  SERVER,
  TASKED,
  TIMING,
  web,
  webWith,
  type Shape,
} from '../../../fixtures/decision.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { compose } from '../../../../src/virtual-server/decision/compose.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const HOUR_MS = 3_600_000;
const TIMED_OUT = new ProviderError('PROVIDER_TIMEOUT', 'no answer within 30 s');
const OVER = { task: { state: 'over', identifier: 'srv1' } } as const;
const observe = (object: VirtualServer, given: Given = {}): Promise<Visited> =>
  visit(object, { observes: 'reporting', ...given });
const ACTS = ['open', 'order', 'delete', 'live'];
const held = (shape: Shape = {}): VirtualServer => webWith(KNOWN, { ...shape });
const GONE = { end: { state: 'gone', identifier: 'srv1', wasRequested: false } } as const;

/** Another object of the namespace. */
function named(name: string, own: ServerRecord, shape: Shape = {}): VirtualServer {
  const uid = `uid-of-${name}`;
  const object = webWith({ ...own, owner: uid }, shape);
  return { ...object, metadata: { ...object.metadata, name, uid } };
}

describe('an operator that acts after another one has only observed', () => {
  const refusal = new ResponseError(422, 'no such image', { said: 'no such image' });
  const answers = { order: { kind: 'refused', status: 422, error: refusal } as const };
  /** The visit of an operator that acts, and the object as an observer has left it since. */
  async function rejected(): Promise<{ before: Visited; observed: VirtualServer }> {
    const before = await visit(web(), { answers });
    expect(shownBy(before).reason).toBe('CreateRejected');
    const seen = await observe(before.object ?? web());
    expect(shownBy(seen).reason).toBe('ObserveOnly');
    return { before, observed: seen.object ?? web() };
  }

  it('shows its own verdict again, without another call to the provider', async () => {
    const { before, observed } = await rejected();
    const acted = await visit(observed, { memo: before.memo, now: NOW + 1_000 });
    expect(shownBy(acted)).toEqual(shownBy(before));
    expect(acted.calls).toEqual(['write']);
    expect((await visit(acted.object ?? observed, { memo: acted.memo, now: NOW + 2_000 })).calls).toEqual([]);
  });

  it('replaces what another writer writes in turn at most once a poll interval', async () => {
    const { before, observed } = await rejected();
    const first = await visit(observed, { memo: before.memo, now: NOW + 1_000 });
    const second = await visit(observed, { memo: first.memo, now: NOW + 2_000 });
    expect(second.calls).toEqual([]);
    expect(second.requeueAfterMs).toBe(TIMING.pollMs - 1_000);
    const third = await visit(observed, { memo: second.memo, now: NOW + 1_000 + TIMING.pollMs });
    expect(shownBy(third)).toEqual(shownBy(before));
  });

  it('orders again if it has no memory', async () => {
    const { before, observed } = await rejected();
    const acted = await visit(observed, { answers, now: NOW + 1_000 });
    expect(acted.calls).toContain('order');
    expect(shownBy(acted)).toEqual(shownBy(before));
  });

  it('says what comes next if it waits without its own verdict', async () => {
    const { observed } = await rejected();
    const annotations = { ...observed.metadata.annotations, [PAUSED_ANNOTATION]: 'true' };
    const paused = { ...observed, metadata: { ...observed.metadata, annotations } };
    const message = 'The operator orders nothing while the object is paused';
    expect(shownBy(await visit(paused))).toMatchObject({ reason: 'Pending', message });
  });
});

describe('an operator that only observes', () => {
  it('notes a doubt that it finds in the copy of the record alone', async () => {
    const object = webWith(PRICED, { status: { serverStatus: 'running', identifier: 'srv1' } });
    const observed = await observe(object, { answers: { server: DENIED } });
    const doubt = { identifier: 'srv1', reason: 'AbsenceUnproven', since: '2026-01-02T00:00:00Z' };
    expect(observed.object?.status?.record).toEqual({ ...PRICED, doubt });
    expect(observed.object?.metadata.annotations).toEqual(object.metadata.annotations);
  });

  it('notes a doubt in a new copy of the record if the status was wiped', async () => {
    const observed = await observe(web({ annotated: PRICED }), { answers: { server: DENIED } });
    expect(observed.object?.status?.record).toHaveProperty('doubt.reason', 'AbsenceUnproven');
  });

  it('notes an order that only you can resolve in the copy of the record alone', async () => {
    const object = webWith(TASKED);
    const lost = memo({ denials: denials('task 7') });
    const observed = await observe(object, { answers: { task: DENIED }, memo: lost });
    expect(observed.object?.status?.record).toEqual(opened(TASKED, 'TaskNotFound'));
    expect(observed.object?.metadata.annotations).toEqual(object.metadata.annotations);
  });

  it('notes that an order has failed, so that the operator after it does not take its server for one that runs', async () => {
    const named = { ...TASKED, identifier: 'srv1' };
    const object = webWith(named, { spec: { deletionPolicy: 'Retain' } });
    const failure = { task: 7, said: 'Out of stock', count: 2, since: 0 };
    const error = new ResponseError(500, 'the provider answered 500: Out of stock', { said: 'Out of stock' });
    const answers = { task: error, server: DENIED };
    const observed = await observe(object, { answers, memo: memo({ failure }) });
    expect(shownBy(observed).reason).toBe('CreateFailed');
    expect(observed.object?.status?.record).toEqual({
      ...named,
      createFailure: { said: 'Out of stock', generation: 1 },
    });
    expect(observed.object?.metadata).toEqual(object.metadata);
    // The next ones have no memory of it, and the provider does not answer about the task.
    const { deletionTimestamp } = webWith(named, { deleting: true }).metadata;
    const deleted = { ...object, ...observed.object, metadata: { ...object.metadata, deletionTimestamp } };
    const again = await observe(deleted, { answers: { ...answers, task: TIMED_OUT } });
    expect(shownBy(again).reason).not.toBe('ObserveOnly');
    const acted = await visit(again.object ?? deleted, { answers: { ...answers, task: TIMED_OUT } });
    expect(acted.object).toBeDefined();
  });

  it.each([
    { would: 'order', object: web(), says: 'It would order a server: product VPSX4, image' },
    { would: 'adopt', object: web(adopting('srv1')), says: 'It would adopt server srv1', answers: { server: SERVER } },
    { would: 'cancel', object: held({ deleting: true }), says: 'it would cancel server srv1' },
    {
      would: 'cancel an expired server',
      object: held({ spec: { expiresAt: new Date(NOW - HOUR_MS).toISOString() } }),
      says: 'The time of the server is up: it would cancel server srv1',
    },
    {
      would: 'retain',
      object: held({ deleting: true, spec: { deletionPolicy: 'Retain' } }),
      says: 'it would remove the finalizer, and leave server srv1 running',
    },
    {
      would: 'release an object without a server',
      object: webWith(record({ account: 'account-1' }), { deleting: true }),
      says: 'The object is being deleted: it would remove the finalizer',
    },
    {
      would: 'record the expiry',
      object: held({ spec: { expiresAt: new Date(NOW - HOUR_MS).toISOString() } }),
      memo: memo(GONE),
      says: 'The time of the server is up: it would record that, and order no other',
    },
    {
      would: 'take a server over',
      object: web(),
      beside: named('old', KNOWN, { deleting: true, annotations: { [HAND_OVER_ANNOTATION]: 'web' } }),
      says: 'It would take over the server of old',
    },
    {
      would: 'hand its server over',
      object: held({ deleting: true, annotations: { [HAND_OVER_ANNOTATION]: 'db' } }),
      beside: named('db', { ...KNOWN, takenFrom: { name: 'web', uid: 'uid-of-web', identifier: 'srv1' } }),
      says: 'db holds the server now: it would remove the finalizer',
    },
  ])('reports that it would $would, and does not', async ({ object, says, ...given }) => {
    const visited = await observe(object, { memo: memo(OVER), ...given });
    expect(shownBy(visited)).toMatchObject({ reason: 'ObserveOnly', message: expect.stringContaining(says) as string });
    expect(visited.calls.filter((call) => ACTS.includes(call))).toEqual([]);
    expect(visited.calls.filter((call) => call === 'write')).toHaveLength(1);
    expect(visited.object?.metadata).toEqual(object.metadata);
    expect(visited.object?.status?.record).toEqual(object.status?.record);
    expect(visited.requests).toEqual([]);
  });

  it('reports the problem that an order would meet', async () => {
    const visited = await observe(web({ spec: { product: 'none' } }));
    expect(shownBy(visited).reason).toBe('InvalidSpec');
  });

  it('shows the server of a task that has ended, and leaves both copies of the record alone', async () => {
    const object = webWith(TASKED, { mirror: TASKED, status: { task: { id: 7 } } });
    const answers = { task: { state: 'complete', identifier: 'srv1' } as const, server: SERVER };
    const visited = await observe(object, { answers });
    expect(visited.object?.status).toMatchObject({ identifier: 'srv1', serverStatus: 'running' });
    expect(visited.object?.status?.record).toEqual(TASKED);
    expect(visited.object?.metadata).toEqual(object.metadata);
    expect(shownBy(visited).reason).toBe('Available');
    expect(visited.calls).toEqual(['poll', 'read', 'write']);
    // Nothing is repeated at once because the record is not written.
    expect(visited.requeueAfterMs).toBeGreaterThanOrEqual(2_000);
  });

  it('writes a status once: the next visit finds the same', async () => {
    const given = { answers: { server: SERVER }, memo: memo(OVER) };
    for (const object of [web(), held(), webWith(HELD), held({ deleting: true }), web(adopting('srv1'))]) {
      const first = await observe(object, given);
      expect(first.object).toBeDefined();
      const second = await observe(first.object ?? object, { ...given, now: NOW + HOUR_MS });
      expect(second.calls.filter((call) => call === 'write')).toEqual([]);
    }
  });

  it('does not show what it has found again once an operator that acts has found something else', async () => {
    const seen = await observe(held(), { answers: { server: SERVER }, memo: memo(OVER) });
    expect(shownBy(seen).reason).toBe('Available');
    const object = seen.object ?? held();
    const verdict = { reason: 'IdentityUnproven', message: 'Another server' } as const;
    const acted = { ...object, status: compose(object, { record: knownRecord(object), verdict }, NOW) };
    const again = await observe(acted, { memo: seen.memo, now: NOW + 1_000 });
    expect(again.calls).toEqual([]);
    expect(shownBy({ ...again, object: again.object ?? acted }).reason).toBe('IdentityUnproven');
  });

  it('does not write what your annotations resolve', async () => {
    const object = webWith(ATTEMPTED, { annotations: { 'vps-operator.dev/not-created': 'a1' } });
    const visited = await observe(object, { notes: [{ attempt: 'a1', state: 'sending' }] });
    expect(shownBy(visited).reason).toBe('ObserveOnly');
    expect(visited.object?.metadata.annotations?.[RECORD_ANNOTATION]).toBe(
      object.metadata.annotations?.[RECORD_ANNOTATION],
    );
    expect(visited.requests).toEqual([]);
  });

  it('keeps the finalizer of an object whose server is gone', async () => {
    const object = held({ deleting: true, annotations: { [SERVER_GONE_ANNOTATION]: 'srv1' } });
    const visited = await observe(object, { memo: memo(OVER) });
    expect(visited.object?.metadata).toEqual(object.metadata);
  });

  it('keeps a doubt, so that the operator after it cancels no server that it does not recognize', async () => {
    const blank = { ...HELD, fingerprint: {} };
    const object = webWith(blank, { deleting: true, status: { identifier: 'srv1' } });
    const denied = await visit(object, { answers: { server: DENIED } });
    expect(shownBy(denied).reason).toBe('AbsenceUnproven');
    const observed = await observe(denied.object ?? object);
    expect(shownBy(observed)).toEqual({
      reason: 'AbsenceUnproven',
      message: expect.stringContaining('would cancel server srv1, once it proves to be that of this object') as string,
    });
    expect(observed.events).toEqual([]);
    // Another server appears under the identifier, and an operator without any memory acts.
    const acted = await visit(observed.object ?? object, { answers: { server: SERVER, removed: 'ok' } });
    expect(acted.calls).not.toContain('delete');
    expect(shownBy(acted).reason).toBe('IdentityUnproven');
  });

  it.each([
    {
      would: 'adopt',
      annotation: ADOPT_ANNOTATION,
      word: 'srv2',
      says: 'It would adopt server srv2',
      shows: 'TaskNotFound',
    },
    {
      would: 'order again',
      annotation: NOT_CREATED_ANNOTATION,
      word: 'a1',
      says: 'It would order a server',
      shows: 'ObserveOnly',
    },
  ])('keeps what it knows of an order that only you can resolve: it would $would', async (given) => {
    const { annotation, word, says, shows } = given;
    const asked = webWith(opened(TASKED, 'TaskNotFound'), { annotations: { [annotation]: word } });
    const verdict = { reason: 'TaskNotFound', message: 'The task is unknown' } as const;
    let object: VirtualServer = {
      ...asked,
      status: compose(asked, { record: opened(TASKED, 'TaskNotFound'), verdict }, NOW),
    };
    const said: (string | undefined)[] = [];
    for (let at = NOW; at < NOW + 2 * HOUR_MS; at += HOUR_MS / 4) {
      const answers = { task: DENIED, server: { ...SERVER, identifier: 'srv2' } };
      const visited = await observe(object, { answers, now: at, memo: memo({ asked: inputsOf(object) }) });
      object = visited.object ?? object;
      said.push(...visited.events.map(({ reason }) => reason));
      expect(shownBy(visited)).toEqual({
        reason: shows,
        message: expect.stringContaining(says) as string,
      });
      expect(knownRecord(object)).toHaveProperty('open.reason', 'TaskNotFound');
    }
    expect(said).toEqual(shows === 'ObserveOnly' ? ['ObserveOnly'] : []);
  });

  it('reports a copy of another object as any operator does', async () => {
    const visited = await observe(webWith(record({ owner: 'uid-of-the-original', identifier: 'srv1' })));
    expect(shownBy(visited).reason).toBe('RecordMismatch');
  });

  it('writes nothing at all while another operator works, and no plan holds until it may report', async () => {
    const silent: Given = { observes: 'silent', answers: { server: SERVER } };
    for (const object of [web(), held(), held({ deleting: true })]) {
      const visited = await visit(object, silent);
      expect(visited.object).toEqual(object);
      expect(visited.events).toEqual([]);
      expect(visited.calls.filter((call) => [...ACTS, 'write'].includes(call))).toEqual([]);
      expect(visited.memo.plan).toBeUndefined();
    }
  });
});
