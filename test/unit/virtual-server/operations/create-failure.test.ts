/** An order whose task answers with an error: when it counts as failed, and what follows. Real visits, one after another. */
import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import { MAX_FAILED, MAX_ORPHANS, type ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import {
  ACCOUNT,
  UID,
  ATTEMPTED,
  HELD,
  KNOWN,
  NOW,
  OTHER_KEY,
  SERVER,
  TASKED,
  TIMING,
  record,
  memo,
  web,
  webWith,
  opened,
} from '../../../fixtures/decision.ts';
import { recordOf } from '../../../fixtures/records.ts';
import { Holders, holdingOf } from '../../../../src/virtual-server/shared/holders.ts';
import { DENIED, shownBy, visit, type Answers, type Visited } from '../../../fixtures/visits.ts';

const failedWith = (status: number, said = 'Out of stock'): ResponseError =>
  new ResponseError(status, `Checking progress failed: the provider answered ${status}: ${said}`, { said });
const FAILED = failedWith(500);
/** A new attempt is called a1. */
const UNNAMED = { ...TASKED, attempt: 'a0' };
const NAMED = { ...UNNAMED, identifier: 'srv1' };
const GRACE = TIMING.absenceMs;
const HOUR = 3_600_000;
const RUNNING = { identifier: 'srv1', serverStatus: 'running' };

interface Course {
  answers: Answers | ((visits: number) => Answers);
  /** How long the visits continue (ms); each runs when the previous one asked for it. */
  forMs: number;
  /** The list of servers was seen to have servers whose task runs. */
  listsCreating?: true;
  from?: number;
  memo?: Visited['memo'];
}

/** Visits one after another; the last one. Stops as soon as the object is gone. */
async function visits(
  first: VirtualServer,
  { answers, forMs, from = NOW, memo, listsCreating }: Course,
): Promise<Visited> {
  let now = from;
  let last: Visited | undefined;
  for (let count = 1; now <= from + forMs; count += 1) {
    last = await visit(last?.object ?? first, {
      now,
      ...(listsCreating && { listsCreating }),
      answers: typeof answers === 'function' ? answers(count) : answers,
      ...(last === undefined ? memo && { memo } : { memo: last.memo }),
    });
    if (last.object === undefined || last.requeueAfterMs === undefined) break;
    now += Math.max(1, last.requeueAfterMs);
  }
  if (last === undefined) throw new Error('no visit');
  return last;
}

const held = ({ object }: Visited): ServerRecord | undefined => object && recordOf(object);

describe('a task that answers with an error', () => {
  it('shows the text of the provider under CreateFailed once the error persists', async () => {
    const early = await visits(webWith(NAMED), { answers: { task: FAILED, server: DENIED }, forMs: 1_500 });
    expect(shownBy(early).reason).toBe('Creating');
    expect(shownBy(early).message).toBe(
      'Task 7: the provider answers with an error: Out of stock. The operator asks again before it counts the order as failed',
    );
    expect(early.events.map(({ reason }) => reason)).not.toContain('ProviderUnavailable');
    const late = await visits(webWith(NAMED), { answers: { task: FAILED, server: DENIED }, forMs: 60_000 });
    expect(shownBy(late).reason).toBe('CreateFailed');
    expect(shownBy(late).message).toMatch(/^Out of stock\. The order failed \(task 7\)\. /);
    expect(shownBy(late).message).toContain('vps-operator.dev/not-created=a0');
    expect(held(late)?.createFailure).toEqual({ said: 'Out of stock', generation: 1 });
  });

  it('does so too if the task has named no server', async () => {
    const last = await visits(webWith(UNNAMED), { answers: { task: FAILED, servers: [] }, forMs: HOUR });
    expect(shownBy(last).reason).toBe('CreateFailed');
    expect(held(last)).toMatchObject({ attempt: 'a0', task: 7 });
  });

  it('is about the server that the first answer named, although no status has told of it', async () => {
    const justNow = { ...UNNAMED, attemptedAt: new Date(NOW).toISOString() };
    const failing = (count: number): Answers =>
      count === 1
        ? { task: { state: 'pending', identifier: 'srv1', status: 'Selecting host' } }
        : { task: FAILED, server: DENIED, servers: [], order: { kind: 'refused', status: 422, error: FAILED } };
    const first = await visits(web({ annotated: justNow }), { answers: failing, forMs: 0 });
    expect(held(first)).not.toHaveProperty('identifier');
    const last = await visits(webWith(justNow), { answers: failing, forMs: 3 * GRACE, listsCreating: true });
    expect(held(last)?.failed).toMatchObject([{ attempt: 'a0', task: 7, identifier: 'srv1', said: 'Out of stock' }]);
  });

  it('is about that server also if another process has recorded the failure without its name', async () => {
    const failed = { ...UNNAMED, createFailure: { said: 'Out of stock', generation: 1 } };
    const polled = { task: 7, since: 0, at: 0, progress: {}, stale: 0, identifier: 'srv1' };
    for (const observes of [undefined, 'reporting'] as const) {
      const last = await visit(webWith(failed), {
        memo: memo({}, { polled }),
        ...(observes && { observes }),
        answers: { task: FAILED, server: DENIED },
      });
      expect(last.calls.filter((call) => call === 'poll')).toHaveLength(1);
      expect(shownBy(last).reason).toBe('CreateFailed');
    }
  });

  it.each([400, 409, 422])('counts with the status %i too', async (status) => {
    const answers = { task: failedWith(status), server: DENIED };
    expect(shownBy(await visits(webWith(NAMED), { answers, forMs: 60_000 })).reason).toBe('CreateFailed');
  });

  it.each([502, 503, 504])('counts with the status %i only after a grace period', async (status) => {
    const answers = { task: failedWith(status), server: DENIED };
    const early = await visits(webWith(NAMED), { answers, forMs: GRACE / 2 });
    expect(shownBy(early).reason).toBe('ProviderUnavailable');
    const late = await visits(webWith(NAMED), { answers, forMs: 3 * GRACE });
    expect(shownBy(late).reason).toBe('CreateFailed');
  });

  it.each<{ why: string; answers: Answers }>([
    { why: 'no text comes with the error', answers: { task: failedWith(500, '') } },
    { why: 'the provider has no products for the key', answers: { task: FAILED, products: [] } },
    { why: 'the other calls fail too', answers: { task: FAILED, products: new ResponseError(500, 'down') } },
    { why: 'the request timed out', answers: { task: failedWith(408) } },
  ])('proves nothing if $why', async ({ answers }) => {
    const last = await visits(webWith(NAMED), { answers, forMs: HOUR });
    expect(shownBy(last).reason).toBe('ProviderUnavailable');
    expect(held(last)).toEqual(NAMED);
  });

  it('proves nothing under another key, and asks for the key of the order', async () => {
    const last = await visit(webWith(NAMED), { account: OTHER_KEY, answers: { task: FAILED, server: DENIED } });
    expect(last.calls).toEqual(['poll', 'read', 'write', 'write']);
    expect(shownBy(last).reason).toBe('ServerNotVisible');
    expect(shownBy(last).message).toContain('Restore that key');
    expect(held(last)).toEqual(opened(NAMED, 'ServerNotVisible'));
  });

  it('changes nothing if it passes', async () => {
    const passing = (count: number): Answers =>
      count <= 2 ? { task: FAILED } : { task: { state: 'pending', identifier: 'srv1', status: 'Installing' } };
    const last = await visits(webWith(NAMED), { answers: passing, forMs: 60_000 });
    expect(shownBy(last).reason).toBe('Creating');
    expect(held(last)).toEqual(NAMED);
    expect(last.memo.evidence.failure).toBeUndefined();
  });

  it('is forgotten, with its text in the record, when the task runs or the server appears', async () => {
    const failing = await visits(webWith(NAMED), { answers: { task: FAILED, server: DENIED }, forMs: 60_000 });
    const object = failing.object ?? webWith(NAMED);
    const runs = { task: { state: 'pending', identifier: 'srv1' } } as const;
    const running = await visits(object, { answers: runs, forMs: 0, from: NOW + 120_000 });
    expect(held(running)).not.toHaveProperty('createFailure');
    expect(running.object?.metadata.annotations?.['vps-operator.dev/record']).not.toContain('createFailure');
    const shown = await visits(object, { answers: { task: FAILED, server: SERVER }, forMs: 0, from: NOW + 120_000 });
    expect(shownBy(shown).reason).toBe('Available');
    expect(held(shown)).not.toHaveProperty('createFailure');
  });

  it.each([1, 2])('counts if the task is forgotten after %i of them', async (errors) => {
    const forgotten = (count: number): Answers => ({ task: count <= errors ? FAILED : DENIED, server: DENIED });
    const last = await visits(webWith(NAMED), { answers: forgotten, forMs: 60_000 });
    expect(shownBy(last).reason).toBe('CreateFailed');
    expect(shownBy(last).message).toContain('Out of stock');
  });

  it('shows the failure while the server cannot be read', async () => {
    const creating = new ResponseError(409, 'Reading the server failed: the provider answered 409: still creating');
    const last = await visits(webWith(NAMED), { answers: { task: FAILED, server: creating }, forMs: HOUR });
    expect(shownBy(last).reason).toBe('CreateFailed');
    expect(shownBy(last).message).toContain('still creating');
  });
});

describe('after an order that failed, another one', () => {
  const failing: Answers = { task: FAILED, server: DENIED };

  it('never follows without a list of servers, until you confirm that nothing was created', async () => {
    const last = await visits(webWith(NAMED), { answers: failing, forMs: 24 * HOUR });
    expect(shownBy(last).reason).toBe('CreateFailed');
    expect(last.requests).toEqual([]);
    const object = last.object ?? webWith(NAMED);
    const annotations = { ...object.metadata.annotations, [NOT_CREATED_ANNOTATION]: 'a0' };
    const next = await visit(
      { ...object, metadata: { ...object.metadata, annotations } },
      { memo: last.memo, now: NOW + 25 * HOUR, answers: { ...failing, order: { kind: 'created', task: 8 } } },
    );
    expect(next.requests).toHaveLength(1);
    expect(held(next)).toMatchObject({ task: 8, failed: [{ attempt: 'a0', identifier: 'srv1' }] });
  });

  it('waits while the list of servers has the server', async () => {
    const last = await visits(webWith(NAMED), { answers: { ...failing, servers: ['srv1'] }, forMs: 24 * HOUR });
    expect(shownBy(last).reason).toBe('CreateFailed');
    expect(held(last)).toMatchObject({ attempt: 'a0' });
  });

  it('follows after a pause where the list of servers has not had the server for a grace period', async () => {
    const listed: Answers = { ...failing, servers: [] };
    const early = await visits(webWith(NAMED), { answers: listed, forMs: GRACE - 10_000 });
    expect(held(early)).toMatchObject({ attempt: 'a0', task: 7 });
    const late = await visits(webWith(NAMED), {
      answers: () => ({ ...listed, order: { kind: 'refused', status: 422, error: FAILED } }),
      forMs: 2 * GRACE,
      listsCreating: true,
    });
    expect(shownBy(late).reason).toBe('CreateRejected');
    expect(late.requests).toHaveLength(1);
    expect(held(late)?.failed).toMatchObject([{ attempt: 'a0', task: 7, identifier: 'srv1', said: 'Out of stock' }]);
  });

  it('follows much later if the list may leave out servers on their way', async () => {
    const order: Answers = { ...failing, servers: [], order: { kind: 'refused', status: 422, error: FAILED } };
    const early = await visits(webWith(NAMED), { answers: order, forMs: 11 * GRACE });
    expect(early.requests).toEqual([]);
    expect(held(early)).toMatchObject({ attempt: 'a0' });
    const late = await visits(webWith(NAMED), { answers: order, forMs: 14 * GRACE });
    expect(held(late)?.failed).toHaveLength(1);
  });

  const WAITING = record({
    settled: ['a0'],
    failed: [{ attempt: 'a0', task: 7, identifier: 'srv1', said: 'Out of stock', retryAt: '2026-01-02T00:10:00Z' }],
  });

  it('waits out its pause after a restart, and does not after a change of spec', async () => {
    const order: Answers = { server: DENIED, order: { kind: 'refused', status: 422, error: FAILED } };
    const waiting = await visit(webWith(WAITING), { answers: order, now: NOW + 595_000 });
    expect(shownBy(waiting).reason).toBe('CreateBackOff');
    expect(waiting.requests).toEqual([]);
    const object = waiting.object ?? webWith(WAITING);
    const edited = { ...object, metadata: { ...object.metadata, generation: 2 } };
    const changed = await visit(edited, { answers: order, memo: waiting.memo, now: NOW + 596_000 });
    expect(changed.requests).toHaveLength(1);
    const late = await visit(object, { answers: order, memo: waiting.memo, now: NOW + 605_000 });
    expect(late.requests).toHaveLength(1);
  });

  it('is not sent if the server has appeared after all: the object holds it again', async () => {
    const next = await visit(webWith(WAITING), {
      answers: { task: FAILED, server: SERVER, order: { kind: 'created', task: 8 } },
      now: NOW + 700_000,
    });
    expect(next.requests).toEqual([]);
    expect(held(next)).toMatchObject({ attempt: 'a0', task: 7, identifier: 'srv1' });
    expect(held(next)).not.toHaveProperty('failed');
  });

  it.each<{ why: string; answers: Answers }>([
    { why: 'is still being created', answers: { server: new ResponseError(409, 'still being created') } },
    { why: 'cannot be read', answers: { server: new ProviderError('PROVIDER_TIMEOUT', 'no answer') } },
    { why: 'may not be read', answers: { server: new ResponseError(403, 'no', { code: 'PROVIDER_FORBIDDEN' }) } },
    { why: 'is listed', answers: { server: DENIED, servers: ['srv1'] } },
  ])('is not sent while the server of the failed one $why', async ({ answers }) => {
    const given = { ...answers, order: { kind: 'created', task: 8 } } as const;
    const next = await visit(webWith(WAITING), { answers: given, now: NOW + 700_000 });
    expect(next.requests).toEqual([]);
    expect(shownBy(next).reason).toBe('CreateBackOff');
    expect(next.requeueAfterMs).toBeGreaterThan(0);
  });

  describe('while another object orders, whose server the provider may have given the identifier of the failed one', () => {
    const other = { namespace: 'default', name: 'other', secret: 'vps-api-key', account: ACCOUNT };
    const holders = (): Holders => {
      const all = new Holders(() => ACCOUNT);
      all.set('uid-of-other', { ...other, order: 'b0', isOrdering: true });
      return all;
    };
    const given: Answers = { server: SERVER, order: { kind: 'created', task: 8 }, task: { state: 'pending' } };

    it('is not sent, and its server is not taken', async () => {
      const next = await visit(webWith(WAITING), { answers: given, now: NOW + 700_000, holders: holders() });
      expect(next.requests).toEqual([]);
      expect(held(next)).toMatchObject({ failed: [{ identifier: 'srv1' }] });
      expect(held(next)).not.toHaveProperty('identifier');
      expect(shownBy(next).reason).toBe('CreateBackOff');
      expect(shownBy(next).message).not.toContain('default/other');
      const known = holders();
      known.set('uid-of-other', { ...other, identifier: 'srv1', isConfirmed: true });
      const later = await visit(next.object ?? webWith(WAITING), {
        answers: given,
        now: NOW + 800_000,
        holders: known,
      });
      expect(later.requests).toHaveLength(1);
    });

    it('is not sent if the server has the mark of its object: the object holds it again', async () => {
      const server = { ...SERVER, name: `default/web (${UID.slice(0, 8)})` };
      const answers = { ...given, server };
      const next = await visit(webWith(WAITING), { answers, now: NOW + 700_000, holders: holders() });
      expect(held(next)).toMatchObject({ identifier: 'srv1' });
    });

    it('has a server that is reported as an orphan if the object holds another one', async () => {
      const failed = [{ attempt: 'a9', task: 6, identifier: 'srv0', said: 'Out of stock' }];
      const object = webWith({ ...KNOWN, failed }, { status: RUNNING });
      const next = await visit(object, { answers: { server: SERVER }, holders: holders() });
      expect(held(next)?.orphans).toMatchObject([{ attempt: 'a9', identifier: 'srv0' }]);
    });

    it('has a server that keeps a deleted object as an orphan, and is not cancelled', async () => {
      const object = webWith(WAITING, { deleting: true });
      const kept = await visit(object, { answers: { server: SERVER }, holders: holders() });
      expect(kept.object).toBeDefined();
      expect(held(kept)?.orphans).toMatchObject([{ identifier: 'srv1' }]);
      expect(kept.calls).not.toContain('delete');
    });

    it.each(['living', 'deleted'])(
      'has a server that is found while another failed one cannot be read (%s)',
      async (how) => {
        const other = { attempt: 'a8', task: 5, identifier: 'srv0' };
        const object = webWith({ ...WAITING, failed: [other, ...WAITING.failed] }, { deleting: how === 'deleted' });
        const server = [new ProviderError('PROVIDER_TIMEOUT', 'no answer'), SERVER];
        const next = await visit(object, { answers: { server, task: { state: 'pending' } }, now: NOW + 700_000 });
        if (how === 'deleted') expect(held(next)?.orphans).toMatchObject([{ identifier: 'srv1' }]);
        else expect(held(next)).toMatchObject({ identifier: 'srv1' });
      },
    );
  });

  describe('while orders of other objects are open when its server appears without a mark', () => {
    const given: Answers = { server: SERVER, order: { kind: 'created', task: 8 }, task: { state: 'pending' } };
    const theirs = { ...ATTEMPTED, task: 8, owner: 'uid-of-other' } as ServerRecord;
    const holdersWith = (own: ServerRecord, annotations: Record<string, string> = {}): Holders => {
      const all = new Holders(() => undefined);
      const object = webWith(own, { annotations });
      const metadata = { ...object.metadata, name: 'other', uid: 'uid-of-other' };
      all.set('uid-of-other', holdingOf({ ...object, metadata }, own));
      return all;
    };
    const open = (reason: 'CreateOutcomeUnknown' | 'TaskOverdue', own: ServerRecord): ServerRecord =>
      ({ ...own, open: { attempt: own.attempt, reason, since: '2026-01-01T23:00:00Z' } }) as ServerRecord;
    const waiting = [
      { how: 'is paused', holders: () => holdersWith(theirs, { [PAUSED_ANNOTATION]: 'true' }) },
      {
        how: 'has an unknown outcome',
        holders: () => holdersWith(open('CreateOutcomeUnknown', { ...theirs, task: undefined } as ServerRecord)),
      },
      { how: 'is overdue', holders: () => holdersWith(open('TaskOverdue', theirs)) },
    ];

    it.each(waiting)('asks if one of them $how, and cancels nothing once it is deleted', async ({ holders }) => {
      const all = holders();
      let last = await visit(webWith(WAITING), { answers: given, now: NOW + 700_000, holders: all });
      expect(shownBy(last).reason).toBe('IdentityUnproven');
      expect(shownBy(last).message).not.toContain('default/other');
      expect(held(last)).not.toHaveProperty('identifier');
      const calls: string[] = [];
      for (let round = 1; round < 10; round++) {
        const object = last.object ?? webWith(WAITING);
        const metadata = { ...object.metadata, deletionTimestamp: '2026-01-02T00:12:00Z' };
        last = await visit(
          { ...object, metadata },
          {
            memo: last.memo,
            answers: { server: SERVER, removed: 'ok', after: DENIED, task: FAILED },
            definition: 'kept',
            now: NOW + 700_000 + round * 600_000,
            holders: all,
          },
        );
        calls.push(...last.calls);
      }
      expect(calls).not.toContain('delete');
      expect(held(last)?.orphans).toMatchObject([{ identifier: 'srv1' }]);
      expect(calls.filter((call) => call === 'write').length).toBeLessThan(5);
    });

    it('follows your adoption of the server, whatever else is open', async () => {
      const all = holdersWith(theirs, { [PAUSED_ANNOTATION]: 'true' });
      const object = webWith(WAITING, { annotations: { [ADOPT_ANNOTATION]: 'srv1' } });
      const next = await visit(object, { answers: { server: SERVER }, now: NOW + 700_000, holders: all });
      expect(held(next)).toMatchObject({ mode: 'adopt', identifier: 'srv1' });
    });

    it.each([false, true])(
      'waits for none that was opened later, and writes nothing until then (deleted: %s)',
      async (deleting) => {
        const all = new Holders(() => ACCOUNT);
        const other = { namespace: 'default', secret: 'vps-api-key', account: ACCOUNT, isOrdering: true };
        const opens = (round: number): void => {
          all.set(`uid-${round - 1}`, undefined);
          all.set(`uid-${round}`, { ...other, name: `other-${round}`, order: `b${round}` });
        };
        opens(0);
        all.set('uid-of-slow', { ...other, name: 'slow', order: 'c0' });
        const visited = (round: number, last?: Visited): Promise<Visited> =>
          visit(last?.object ?? webWith(WAITING, { deleting }), {
            ...(last !== undefined && { memo: last.memo }),
            answers: given,
            now: NOW + 700_000 + round * 60_000,
            holders: all,
          });
        let last = await visited(0);
        const calls: string[] = [];
        for (let round = 1; round < 5; round++) {
          opens(round);
          last = await visited(round, last);
          calls.push(...last.calls);
        }
        expect(calls).not.toContain('write');
        expect(held(last)).not.toHaveProperty('identifier');
        all.set('uid-of-slow', { ...other, name: 'slow', identifier: 'srv5', isOrdering: false });
        last = await visited(6, last);
        if (deleting) expect(held(last)?.orphans).toMatchObject([{ identifier: 'srv1' }]);
        else expect(held(last)).toMatchObject({ identifier: 'srv1' });
      },
    );
  });

  it('waits for the orders that are open when its server appears again after a denial', async () => {
    const all = new Holders(() => ACCOUNT);
    const other = { namespace: 'default', name: 'other', secret: 'vps-api-key', account: ACCOUNT, isOrdering: true };
    all.set('uid-of-other', { ...other, order: 'b0' });
    const object = webWith(WAITING);
    const given = (minute: number) => ({ now: NOW + 700_000 + minute * 60_000, holders: all });
    const first = await visit(object, { ...given(0), answers: { server: SERVER } });
    all.set('uid-of-other', { ...other, order: 'b1' });
    const ofNone = webWith(WAITING, { spec: { ...object.spec, product: 'none' } });
    const denied = await visit(ofNone, {
      ...given(2),
      memo: first.memo,
      answers: { server: DENIED, servers: ['srv9'] },
    });
    expect(shownBy(denied).reason).toBe('InvalidSpec');
    const again = await visit(object, { ...given(30), memo: denied.memo, answers: { server: SERVER } });
    expect(held(again)).not.toHaveProperty('identifier');
    expect(shownBy(again).reason).toBe('CreateBackOff');
  });

  it('is sent if the provider shows the server of the failed one as cancelled', async () => {
    const server = { ...SERVER, status: 'deleted' };
    const answers: Answers = { server, order: { kind: 'created', task: 8 }, task: { state: 'pending' } };
    expect((await visit(webWith(WAITING), { answers, now: NOW + 700_000 })).requests).toHaveLength(1);
    const gone = await visit(webWith(WAITING, { deleting: true }), { answers });
    expect(gone.object).toBeUndefined();
  });

  it('does not depend on the server of another account', async () => {
    const failed = [{ attempt: 'a9', task: 6, identifier: 'srv1', account: 'elsewhere-1' }];
    const next = await visit(webWith(record({ failed })), {
      answers: { server: SERVER, order: { kind: 'refused', status: 422, error: FAILED } },
    });
    expect(next.requests).toHaveLength(1);
  });

  it('follows at once if you have changed spec since the failure', async () => {
    const failed = [...Array(8).keys()].map((n) => ({ attempt: `b${n}`, identifier: `old${n}` }));
    const own = { ...NAMED, failed, createFailure: { said: 'Out of stock', generation: 1 } };
    const object = webWith(own);
    const edited = { ...object, metadata: { ...object.metadata, generation: 2 } };
    const memory = memo({
      denials: { of: 'server srv1', since: -GRACE, counted: 3, countedAt: -GRACE / 2, lastAt: -1, unlisted: 'yes' },
    });
    const next = await visit(edited, {
      memo: memory,
      answers: { ...failing, servers: ['srv9'], order: { kind: 'refused', status: 422, error: FAILED } },
      listsCreating: true,
    });
    expect(next.requests).toHaveLength(1);
  });

  it('is no orphan if the object holds its server: the provider may use an identifier again, or you adopt it', async () => {
    const failed = [{ attempt: 'a9', task: 6, identifier: 'srv1' }];
    const annotations = { [ADOPT_ANNOTATION]: 'srv1' };
    const adopted = await visit(webWith(record({ failed }), { annotations }), { answers: { server: SERVER } });
    expect(held(adopted)).toMatchObject({ identifier: 'srv1' });
    const reused = await visit(webWith({ ...UNNAMED, failed }), {
      answers: { task: { state: 'complete', identifier: 'srv1' }, server: SERVER },
    });
    const read = await visit(web({ annotated: { ...KNOWN, failed }, status: RUNNING }), {
      answers: { server: SERVER },
    });
    for (const visited of [adopted, reused, read]) {
      const later = visited.object && (await visit(visited.object, { now: NOW + HOUR, answers: { server: SERVER } }));
      expect(later && held(later)).toMatchObject({ identifier: 'srv1' });
      expect(later && held(later)?.orphans).toBeUndefined();
    }
  });

  it('keeps the record valid, however many servers appear', async () => {
    const failed = [...Array(MAX_FAILED).keys()].map((n) => ({ attempt: `b${n}`, identifier: `old${n}` }));
    const own = { ...KNOWN, failed, orphans: [{ task: 1 }] };
    let object: VirtualServer | undefined = webWith(own, { status: RUNNING });
    for (let count = 0; count < MAX_FAILED + 3; count += 1) {
      const next: Visited = await visit(object ?? webWith(own), {
        answers: { server: SERVER },
        now: NOW + count * HOUR,
      });
      object = next.object;
    }
    expect(object && recordOf(object)?.orphans).toHaveLength(MAX_ORPHANS);
    expect(object && recordOf(object)?.failed).toHaveLength(1);
  });

  it('leaves its server to be reported as an orphan if that appears later', async () => {
    const failed = [{ attempt: 'a9', task: 6, identifier: 'srv0', said: 'Out of stock' }];
    const gone = await visit(webWith({ ...KNOWN, failed }, { status: RUNNING }), {
      answers: { server: [SERVER, DENIED] },
    });
    expect(held(gone)).toMatchObject({ failed });
    const there = await visit(webWith({ ...KNOWN, failed }, { status: RUNNING }), { answers: { server: SERVER } });
    expect(held(there)?.orphans).toEqual([{ attempt: 'a9', task: 6, identifier: 'srv0' }]);
    expect(held(there)).not.toHaveProperty('failed');
    expect(there.object?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'OrphanedServer' }));
  });
});

describe('the deletion of an object whose order failed', () => {
  const doomed = webWith({ ...HELD, createFailure: { said: 'Out of stock' } }, { deleting: true });
  const gone: Answers = { task: FAILED, server: DENIED, removed: DENIED };

  it('ends once the list of servers has not had the server for a grace period', async () => {
    const early = await visits(doomed, {
      answers: { ...gone, servers: [] },
      forMs: GRACE - 10_000,
      listsCreating: true,
    });
    expect(early.object).toBeDefined();
    const late = await visits(doomed, { answers: { ...gone, servers: [] }, forMs: 2 * GRACE, listsCreating: true });
    expect(late.object).toBeUndefined();
  });

  it('ends without a list after the time that a server needs which was never read', async () => {
    expect((await visits(doomed, { answers: gone, forMs: 6 * GRACE })).object).toBeDefined();
    expect((await visits(doomed, { answers: gone, forMs: 14 * GRACE })).object).toBeUndefined();
  });

  it('cancels the server if there is one', async () => {
    const there: Answers = { task: FAILED, server: SERVER, removed: 'cancelled', after: DENIED };
    const last = await visits(doomed, { answers: there, forMs: 0 });
    expect(last.calls).toContain('delete');
    expect(last.object).toBeUndefined();
  });

  it('polls the task again before each cancellation, and follows an order that still runs to its end', async () => {
    const goesOn = (count: number): Answers => ({
      ...gone,
      task: count <= 2 ? FAILED : { state: 'pending', identifier: 'srv1' },
      servers: [],
    });
    const last = await visits(doomed, { answers: goesOn, forMs: 10 * GRACE, listsCreating: true });
    expect(shownBy(last).reason).toBe('Deleting');
    expect(held(last)).not.toHaveProperty('createFailure');
  });

  it('waits for you if the server of an earlier failed order has appeared', async () => {
    const failed = [{ attempt: 'a9', task: 6, identifier: 'srv9' }];
    const waiting = webWith(record({ failed }), { deleting: true });
    const last = await visit(waiting, { answers: { server: SERVER } });
    expect(shownBy(last).reason).toBe('OrphanedServer');
    expect((await visit(waiting, { answers: { server: DENIED } })).object).toBeUndefined();
  });

  it('waits for you if the task has named no server', async () => {
    const unnamed = webWith({ ...TASKED, createFailure: { said: 'Out of stock' } }, { deleting: true });
    const last = await visits(unnamed, { answers: { task: FAILED, servers: [] }, forMs: 24 * HOUR });
    expect(shownBy(last).reason).toBe('CreateFailed');
  });
});

describe('the deletion with Retain of an object whose order failed', () => {
  const failed = { ...HELD, createFailure: { said: 'Out of stock' } };
  const doomed = webWith(failed, { deleting: true, spec: { deletionPolicy: 'Retain' } });
  // A DELETE would fail the test.
  const gone: Answers = { task: FAILED, server: DENIED };

  it('ends once the list of servers has not had the server for a grace period', async () => {
    const answers = { ...gone, servers: [] };
    const early = await visits(doomed, { answers, forMs: GRACE - 10_000, listsCreating: true });
    expect(early.object).toBeDefined();
    const late = await visits(doomed, { answers, forMs: 2 * GRACE, listsCreating: true });
    expect(late.object).toBeUndefined();
    expect(late.events).toEqual([]);
  });

  it('ends without a list after the time that a server needs which was never read', async () => {
    expect((await visits(doomed, { answers: gone, forMs: 6 * GRACE })).object).toBeDefined();
    const late = await visits(doomed, { answers: gone, forMs: 14 * GRACE });
    expect(late.object).toBeUndefined();
    expect(late.events).toEqual([]);
  });

  it('leaves the server running if there is one', async () => {
    const last = await visits(doomed, { answers: { task: FAILED, server: SERVER }, forMs: 0 });
    expect(last.object).toBeUndefined();
    expect(last.events.map(({ reason }) => reason)).toEqual(['RetainedServer']);
  });

  it('asks the task again before each look, and follows an order that still runs to its end', async () => {
    const task = (count: number): Answers['task'] => (count <= 2 ? FAILED : { state: 'complete', identifier: 'srv1' });
    const answers = (count: number): Answers => ({
      task: task(count),
      server: count <= 2 ? DENIED : SERVER,
      servers: [],
    });
    const last = await visits(doomed, { answers, forMs: 10 * GRACE, listsCreating: true });
    expect(last.events.map(({ reason }) => reason)).toEqual(['RetainedServer']);
  });
});

it('does not count an order as failed that only was claimed', async () => {
  const last = await visits(webWith(ATTEMPTED), { answers: {}, forMs: HOUR });
  expect(shownBy(last).reason).toBe('CreateOutcomeUnknown');
});
