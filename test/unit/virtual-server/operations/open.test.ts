/**
 * An open question about an order or a server survives every other reason that Ready shows, and the death of the process that
 * found it. A real visit left each state.
 */
import { describe, expect, it } from 'vitest';
import { REASONS, hasTrait, type Meaning, type ReadyReason, type Trait } from '../../../../src/api/conditions.ts';
import { ADOPT_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import { openReason, standingReason } from '../../../../src/api/open.ts';
import { phaseOf, type PhaseName } from '../../../../src/api/record.ts';
import { hasRunningServer } from '../../../../src/api/server-state.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { countTotals } from '../../../../src/observability/metrics.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { NamedOutcome } from '../../../../src/provider/types.ts';
import { compose } from '../../../../src/virtual-server/decision/compose.ts';
import { knownRecord, viewRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { withOpen } from '../../../../src/virtual-server/decision/open.ts';
import { holdingOf } from '../../../../src/virtual-server/shared/holders.ts';
import { memberOf } from '../../../../src/virtual-server-set/decision/member.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  HELD,
  KNOWN,
  NOW,
  PRICED,
  SERVER,
  TASKED,
  TIMING,
  decide,
  denials,
  doubted,
  memo,
  opened,
  record,
  web,
  webWith,
  withKey,
  type Shape,
} from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const READY = Object.entries(REASONS)
  .filter(([, meaning]) => 'ready' in (meaning as Partial<Meaning>))
  .map(([reason]) => reason as ReadyReason);

const LATER = NOW + 60_000;
const HOUR = 3_600_000;
const RUNNING = { identifier: 'srv1', serverStatus: 'running', price: 9.5 };
const note = [{ attempt: 'a1', state: 'sending' }] as const;

/** The object after a visit that found the answer `given`. */
async function left(object: VirtualServer, given: Given): Promise<VirtualServer> {
  const visited = await visit(object, given);
  if (visited.object === undefined) throw new Error('the object is gone');
  return visited.object;
}

/** Another reason takes the place of the one that Ready shows. */
function covered(object: VirtualServer, reason: ReadyReason): VirtualServer {
  const parts = { record: knownRecord(object), verdict: { reason, message: 'Something else is more urgent' } };
  return { ...object, status: compose(object, parts, LATER) };
}

const others = READY.map((reason) => ({ reason }));

/** The traits by which the operator decides about an order or a server long after the reason was shown. */
const REMEMBERED: readonly Trait[] = ['hopeless', 'namedByYou', 'orderParked', 'doubt'];
/** The record keeps these in separate fields: `createFailure` and `missingAt`. */
const STORED_APART: readonly ReadyReason[] = ['CreateFailed', 'ServerMissing', 'ReleaseRefused'];
const remembered = REMEMBERED.flatMap((trait) =>
  READY.filter((reason) => hasTrait(reason, trait) && !STORED_APART.includes(reason)).map((reason) => ({
    reason,
    trait,
  })),
);

/** The object after `first`, whose order had this answer. */
const orderedWith = (named: NamedOutcome): Promise<VirtualServer> =>
  left(web(), { ordersNamed: true, answers: { named, task: { state: 'pending', status: 'installing' } } });
const refusal = new ResponseError(422, '422: sold out', { said: 'sold out' });
const IN_USE: NamedOutcome = { kind: 'inUse', error: new ResponseError(409, 'in use', {}) };
const silence = new ProviderError('PROVIDER_TIMEOUT', 'no answer');

/** What earlier visits may have left of an object in each phase. */
const STATES: Record<PhaseName, Record<string, () => Promise<VirtualServer>>> = {
  unordered: {
    'nothing was ordered': () => left(web(), { answers: { products: [], catalog: silence } }),
    'the order was refused': () =>
      left(web(), { answers: { order: { kind: 'refused', status: 422, error: refusal } } }),
    'the named order was refused': () => orderedWith({ kind: 'refused', status: 422, error: refusal }),
    'an order has failed': () =>
      left(webWith(record({ failed: [{ attempt: 'a0', identifier: 'srv0', account: ACCOUNT, said: 'no' }] })), {
        answers: { server: silence },
      }),
  },
  claimed: {
    'the answer is lost': () => left(webWith(ATTEMPTED), { notes: note, now: NOW + HOUR }),
    'a process may still send it': () => left(webWith(ATTEMPTED), {}),
  },
  following: {
    'the task runs': () => left(webWith(TASKED), { answers: { task: { state: 'pending', status: 'installing' } } }),
    'the task is hopeless': () =>
      left(webWith(TASKED), { answers: { task: DENIED }, memo: memo({ denials: denials('task 7') }) }),
    'another object has the task': () => left(webWith(TASKED), { others: { withTask: () => ['default/other'] } }),
    'the order has failed': () =>
      left(webWith({ ...TASKED, createFailure: { said: 'no' } }), { answers: { task: silence } }),
  },
  named: {
    'the answer is lost': () => orderedWith({ kind: 'unclear', error: silence, isAnswered: false }),
    'the task runs': () => orderedWith({ kind: 'created', task: 7 }),
    'the identifier is in use': () => orderedWith(IN_USE),
    'the identifier is in use for a day': async () => {
      const answers = { named: IN_USE };
      const { object, memo } = await visit(web(), { ordersNamed: true, answers });
      if (object === undefined) throw new Error('the object is gone');
      return left(object, { memo, answers: { server: DENIED }, now: NOW + 25 * HOUR });
    },
  },
  held: {
    'the server is ready': () => left(webWith(KNOWN), { answers: { server: SERVER } }),
    'the server is in doubt': () => left(webWith(KNOWN, { status: RUNNING }), { answers: { server: DENIED } }),
    'the task still runs': () => left(webWith(HELD), { answers: { task: { state: 'pending', identifier: 'srv1' } } }),
    'the server is gone': () =>
      left(webWith({ ...KNOWN, missingAt: '2026-01-01T12:00:00Z' }, { status: RUNNING }), {
        answers: { server: DENIED },
      }),
    'the server has expired': () =>
      left(webWith({ ...KNOWN, expiredAt: '2026-01-01T12:00:00Z' }), { answers: { server: DENIED } }),
  },
};
const states = Object.entries(STATES).flatMap(([phase, each]) =>
  Object.entries(each).map(([what, make]) => ({ phase: phase as PhaseName, what, make })),
);

/** What another process decides and does that knew nothing but the object at first. */
async function found(object: VirtualServer): Promise<object> {
  const answers: Given['answers'] = {
    task: { state: 'pending', status: 'installing' },
    server: DENIED,
    servers: [],
    named: { kind: 'created', task: 8 },
    removed: 'ok',
  };
  const decisions: object[] = [];
  let visited: Pick<Visited, 'object' | 'memo'> = { object, memo: memo() };
  for (const hours of [2, 3, 27]) {
    const now = LATER + hours * HOUR;
    if (visited.object === undefined) break;
    const decision = decide(visited.object, withKey({ now, memo: visited.memo }));
    const { calls, requests, ...next } = await visit(visited.object, {
      answers,
      now,
      memo: visited.memo,
      ordersNamed: true,
    });
    // A status is written only if it has changed.
    decisions.push({
      decision,
      requests,
      calls: calls.filter((call) => call !== 'write'),
      own: next.object && knownRecord(next.object),
    });
    visited = next;
  }
  return { decisions };
}

describe.each(states)('a decision about a record that is $phase, while $what', ({ phase, make }) => {
  it('is the same whichever reason was shown in between', async () => {
    const object = await make();
    expect(phaseOf(knownRecord(object) ?? {})).toBe(phase);
    for (const deleting of [false, true]) {
      const metadata = { ...object.metadata, ...(deleting && { deletionTimestamp: '2026-01-02T00:00:00Z' }) };
      const uncovered = await found({ ...object, metadata });
      for (const reason of READY)
        expect({ reason, ...(await found(covered({ ...object, metadata }, reason))) }).toEqual({
          reason,
          ...uncovered,
        });
    }
  });
});

describe('a reason that decides later', () => {
  it.each(remembered)('stays in the record: $reason, which is $trait', ({ reason, trait }) => {
    const own = withOpen({ ...TASKED, identifier: 'srv1' }, { reason, message: '' }, NOW);
    expect(trait === 'doubt' ? standingReason(own) : openReason(own, trait)).toBe(reason);
  });
});

describe('a doubt about a server', () => {
  const denied = { answers: { server: DENIED } };
  const shownAs = { answers: { server: { ...SERVER, macs: [], ipv6: ['2001:db8::99'] } } };
  const deleting: Shape = { deleting: true, status: { identifier: 'srv1' } };
  const blank = { ...HELD, fingerprint: {} };

  it.each(others)(
    'never cancels a server that was not recognized, although Ready shows $reason',
    async ({ reason }) => {
      const doubtful = await left(webWith(blank, deleting), denied);
      const restarted = await visit(covered(doubtful, reason), {
        answers: { server: SERVER, removed: 'ok' },
        now: LATER,
      });
      expect(restarted.calls).toContain('read');
      expect(restarted.calls).not.toContain('delete');
      expect(shownBy(restarted).reason).toBe('IdentityUnproven');
    },
  );

  it.each(others)('takes no other server for the own one, although $reason shows', async ({ reason }) => {
    for (const given of [denied, shownAs]) {
      const first = webWith(KNOWN, { status: RUNNING });
      const doubtful = await left(given === denied ? first : await left(first, denied), given);
      const restarted = await visit(covered(doubtful, reason), { ...shownAs, now: LATER });
      expect(shownBy(restarted).reason).toBe('IdentityUnproven');
      expect(restarted.object?.status?.ipv6 ?? []).not.toContain('2001:db8::99');
    }
  });

  it('is told behind the other reason, with since when', async () => {
    const doubtful = await left(webWith(blank, deleting), denied);
    const { message } = shownBy({ object: covered(doubtful, 'DeletionProtected') });
    expect(message).toContain(
      'Since 2026-01-02T00:00:00Z, it is unproven that the provider has server srv1 of this object',
    );
  });

  it('is kept although the API server refuses to store the record', async () => {
    const refusesMetadata = new KubeError('Forbidden', 'a policy forbids it', { status: 403 });
    const doubtful = await left(webWith(blank, deleting), { ...denied, refusesMetadata, fails: true });
    const restarted = await visit(doubtful, { answers: { server: SERVER, removed: 'ok' }, now: LATER });
    expect(restarted.calls).not.toContain('delete');
    expect(shownBy(restarted).reason).toBe('IdentityUnproven');
  });

  it('ends when the server proves to be the own one', async () => {
    const doubtful = await left(webWith(KNOWN, { status: RUNNING }), denied);
    expect(knownRecord(doubtful)).toHaveProperty('doubt');
    const restored = await left(covered(doubtful, 'SecretNotFound'), { answers: { server: SERVER }, now: LATER });
    expect(knownRecord(restored)).toEqual({ ...PRICED, readyAt: '2026-01-02T00:01:00Z' });
  });
});

describe('an order that has led to no server', () => {
  const failing = { task: new ResponseError(500, '500: Out of stock', { said: 'Out of stock' }), server: DENIED };
  const failure = { task: 7, said: 'Out of stock', count: 2, since: 0 };
  const visits: { shows: ReadyReason; object: VirtualServer; given: Given }[] = [
    { shows: 'CreateOutcomeUnknown', object: webWith(ATTEMPTED), given: { notes: note, now: NOW + HOUR } },
    {
      shows: 'TaskNotFound',
      object: webWith(TASKED),
      given: { answers: { task: DENIED }, memo: memo({ denials: denials('task 7') }) },
    },
    {
      shows: 'TaskFailed',
      object: webWith(TASKED),
      given: { answers: { task: { state: 'pending', status: 'install failed' } } },
    },
    { shows: 'TaskInUse', object: webWith(TASKED), given: { others: { withTask: () => ['default/other'] } } },
    { shows: 'CreateFailed', object: webWith(TASKED), given: { answers: failing, memo: memo({ failure }) } },
  ];
  const cases = visits.flatMap((one) => READY.map((reason) => ({ ...one, reason })));

  it.each(cases)('counts as $shows although $reason shows', async ({ shows, object, given, reason }) => {
    const open = await left(object, given);
    expect(shownBy({ object: open }).reason).toBe(shows);
    for (const deleting of [false, true]) {
      const shown = covered(
        { ...open, metadata: { ...open.metadata, ...(deleting && { deletionTimestamp: '2026-01-02T00:00:00Z' }) } },
        reason,
      );
      const own = knownRecord(shown);
      expect(countTotals([shown], LATER).parkedCreates).toBe(1);
      expect(memberOf(shown, 0).unresolved).toBeDefined();
      expect(holdingOf(shown, own)).toMatchObject({ isOrdering: false });
      const annotations = { ...shown.metadata.annotations, [ADOPT_ANNOTATION]: 'srv9' };
      const asking = { ...shown, metadata: { ...shown.metadata, annotations } };
      const now = LATER + TIMING.takeoverMs;
      expect(decide(asking, withKey({ now, notes: note })).type).toBe('adopt');
    }
  });

  it.each(visits)(
    'counts as $shows although the provider shows nothing of it to the key',
    async ({ object, given, shows }) => {
      const open = await left(object, given);
      const blind = await left(open, {
        answers: { task: DENIED, products: [] },
        now: LATER + HOUR,
        notes: given.notes ?? [],
      });
      expect(knownRecord(blind)?.open?.reason).toBe(shows === 'CreateFailed' ? 'ServerNotVisible' : shows);
      expect(countTotals([blind], LATER).parkedCreates).toBe(1);
    },
  );

  it('is told behind a protection, with its cause and what you can do', async () => {
    const lost = await left(webWith(ATTEMPTED), { notes: note, now: NOW + HOUR });
    const shown = covered(lost, 'DeletionProtected');
    const { message } = shownBy({ object: shown });
    expect(message).toMatch(/^Something else is more urgent\. Order a1 was sent, but its outcome is unknown/);
    expect(message).toContain('vps-operator.dev/not-created=a1');
    expect(memberOf(shown, 0).unresolved).toMatchObject({ reason: 'CreateOutcomeUnknown' });
    const twice = shownBy({ object: covered(lost, 'IdentifierInUse') }).message ?? '';
    expect(twice.split("Look in the provider's control panel")).toHaveLength(2);
  });

  it('raises no question about the next order, if the write that ended it was lost in the status', () => {
    const { attempt: _attempt, ...observed } = opened(ATTEMPTED, 'TaskNotFound');
    const annotations = { [ADOPT_ANNOTATION]: 'srv9' };
    const next = web({ annotated: { ...TASKED, attempt: 'a2' }, mirror: observed, annotations });
    const view = viewRecord(next, []);
    expect(view.kind === 'own' && view.record).toEqual({ ...TASKED, attempt: 'a2' });
    expect(decide(next, withKey({ now: LATER })).type).toBe('follow');
    expect(countTotals([next], LATER).parkedCreates).toBe(0);
  });

  it('is no longer open once its task answers', async () => {
    const open = await left(webWith(TASKED), { others: { withTask: () => ['default/other'] } });
    const going = await left(covered(open, 'ProviderUnavailable'), {
      answers: { task: { state: 'pending', identifier: 'srv1', status: 'installing' } },
      now: LATER,
    });
    expect(knownRecord(going)).toEqual(HELD);
    expect(countTotals([going], LATER).parkedCreates).toBe(0);
  });
});

describe('a server that is gone', () => {
  it('leaves nothing open', async () => {
    const lost = doubted(opened(HELD, 'TaskNotFound'), 'AbsenceUnproven');
    const said = { annotations: { [SERVER_GONE_ANNOTATION]: 'srv1' } };
    const over = { task: { state: 'over', identifier: 'srv1' } } as const;
    const missing = await left(webWith(lost, said), { answers: { server: DENIED }, memo: memo(over) });
    expect(knownRecord(missing)).toEqual({ ...HELD, missingAt: '2026-01-02T00:00:00Z' });
    expect(memberOf(missing, 0).unresolved).toBeUndefined();
  });

  it.each(others)('no longer runs and costs nothing, although $reason shows', async ({ reason }) => {
    const seen = webWith({ ...KNOWN, missingAt: '2026-01-01T12:00:00Z' }, { status: RUNNING });
    const missing = await left(seen, { answers: { server: DENIED } });
    const shown = covered(missing, reason);
    expect(hasRunningServer(shown)).toBe(false);
    expect(countTotals([shown], LATER).price).toBe(0);
    expect(memberOf(shown, 0).price).toBeUndefined();
  });
});
