import { describe, expect, it } from 'vitest';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import { untilVisit, withPlan } from '../../../../src/virtual-server/decision/next.ts';
import { ADOPT_ANNOTATION } from '../../../../src/api/names.ts';
import {
  HELD,
  KNOWN,
  NOW,
  PRICED,
  SERVER,
  TASKED,
  adopting,
  decide,
  denials,
  denied,
  facts,
  memo,
  opened,
  record,
  shown,
  web,
  webWith,
} from '../../../fixtures/decision.ts';
import { conditionsOf, looked, messageOf } from './support.ts';

const OLD = { ...PRICED, attemptedAt: '2025-12-01T00:00:00Z' };

describe('a server that is shown', () => {
  it('is Ready, and read again after the resync interval', () => {
    const next = looked(webWith(PRICED, { status: { task: { id: 7 } } }));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available' });
    expect(next.status).not.toHaveProperty('task');
    expect(next.record).toBeUndefined();
    expect(untilVisit(next.when)).toBe(540_000);
    expect(next.memo).toMatchObject({ failures: 0, evidence: { task: { state: 'over', identifier: 'srv1' } } });
  });

  it.each([
    { reason: 'ServerNotRunning', changes: { status: 'stopped' } },
    { reason: 'ServerNotRunning', changes: { status: undefined } },
    { reason: 'AddressPending', changes: { ipv6: [], sshProxy: undefined } },
    { reason: 'Available', changes: { status: ' Running', ipv6: [] } },
  ])('is $reason and read again after the right pause for $changes', ({ reason, changes }) => {
    const next = looked(webWith(OLD), shown(changes));
    expect(conditionsOf(next).Ready).toContain(reason);
    expect(untilVisit(next.when)).toBe(reason === 'Available' ? 540_000 : 54_000);
  });

  it('is read again soon while its order is young', () => {
    const [ordered, stopped] = [Date.parse(KNOWN.attemptedAt), shown({ status: 'stopped' })];
    const after = (seconds: number): unknown =>
      untilVisit(looked(webWith(KNOWN), stopped, facts({ now: ordered + seconds * 1000, jitter: 1 })).when);
    expect([10, 60, 600, 3_600].map(after)).toEqual([2_000, 3_000, 30_000, 60_000]);
  });

  it('may differ from the spec, which is shown', () => {
    const next = looked(webWith(KNOWN), shown({ product: 'VPSX8' }));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available', Drifted: 'True Drifted' });
    expect(next.events.map(({ reason }) => reason)).toEqual(['Drifted', 'ServerReady']);
  });

  it('is Ready before the annotation follows, which the next visit writes', () => {
    const first = looked(webWith(HELD));
    expect(conditionsOf(first)).toEqual({ Ready: 'True Available' });
    expect(first.status?.record).toEqual(PRICED);
    expect(first.record).toBeUndefined();
    expect(untilVisit(first.when)).toBe(0);
    expect(first.events.map(({ reason }) => reason)).toEqual(['ServerReady']);
    const ready = web({ annotated: TASKED, mirror: PRICED, status: first.status ?? {} });
    const later = facts({ memo: withPlan(first.memo, first.when, NOW, inputsOf(ready)) });
    const next = decide(ready, later);
    expect(next).toMatchObject({ type: 'record', record: PRICED });
    // The server is not read again for that.
    const written = webWith(PRICED, { status: first.status ?? {} });
    expect(decide(written, later)).toEqual({ type: 'wait', when: { afterMs: 540_000 } });
  });

  it('is told in an Event when it is first ready, with product and price', () => {
    const unready = looked(webWith(HELD), shown({ status: 'stopped' }));
    expect(unready.events.map(({ reason }) => reason)).toEqual(['ServerNotRunning']);
    const waiting = webWith(KNOWN, { status: unready.status ?? {} });
    // The Event of the condition Available says less.
    expect(looked(waiting).events).toEqual([
      {
        type: 'Normal',
        reason: 'ServerReady',
        note: 'Server srv1 is ready, with product VPSX4 and price 9.50',
        follows: 'ServerOrdered',
      },
    ]);
    const [unstated] = looked(webWith(HELD), shown({ price: undefined, product: undefined })).events;
    expect(unstated?.note).toBe('Server srv1 is ready, with product VPSX4; the provider states no price');
  });

  it.each([
    ['was ready before', webWith(PRICED)],
    ['is adopted', webWith(record({ mode: 'adopt', identifier: 'srv1' }))],
    ['is deleted', webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } })],
    ['was Ready under an earlier version', webWith(KNOWN, { status: looked(webWith(HELD)).status ?? {} })],
  ])('is not told in an Event if it %s', (_what, object) => {
    expect(looked(object).events.filter(({ reason }) => reason === 'ServerReady')).toEqual([]);
  });

  it.each([
    ['not Ready', webWith(HELD), shown({ status: 'stopped' })],
    ['adopted', webWith(record({ mode: 'adopt', identifier: 'srv1' })), shown()],
    ['known for long', webWith(HELD, { status: { serverStatus: 'running' } }), shown()],
  ])('is recorded in the annotation at once if it is %s', (_what, object, answer) => {
    expect(looked(object, answer).record).toMatchObject({ fingerprint: KNOWN.fingerprint });
  });

  it.each([
    { power: 'On' as const, price: undefined },
    { power: 'Dormant' as const, price: { amount: 9.5, period: 'on-demand' } },
  ])('keeps its price in the record of an earlier version with spec.power $power', ({ power, price }) => {
    const earlier = webWith({ ...KNOWN, format: 1 }, { spec: { power } });
    const next = looked(earlier, shown({ status: 'shut down', period: 'on-demand', price: 9.5 }));
    if (price === undefined) expect(next.record?.price).toBeUndefined();
    else expect(next.record?.price).toMatchObject(price);
  });

  it('adds to every verdict that another adoption is ignored', () => {
    const next = looked(webWith(KNOWN, adopting('srv2')));
    expect(messageOf(next)).toContain('AdoptIgnored');
    expect(next.status?.identifier).toBe(SERVER.identifier);
  });

  it('calls no adoption ignored that the operator tries', () => {
    const next = looked(webWith(opened(HELD, 'TaskInUse'), adopting('srv2')), denied(true));
    expect(messageOf(next)).not.toContain('AdoptIgnored');
  });
});

describe('a server that is not shown', () => {
  it('is named together with the other one that its task names now', () => {
    const held = memo({ task: { state: 'silent', why: 'renamed', named: 'srv2' } });
    const next = looked(webWith(HELD), denied(true), facts({ memo: held }));
    expect(conditionsOf(next).Stalled).toBe('True TaskInUse');
    expect(messageOf(next)).toContain('now names server srv2. Before, it named server srv1');
    expect(messageOf(next)).toContain(`${ADOPT_ANNOTATION}=srv2`);
    expect(next.memo.evidence.task).toBeUndefined();
    expect(next.memo.evidence.denials?.of).toBe('server srv1');
    expect(next.when).toMatchObject({ operation: 'follow' });
  });

  it('leads to another poll of a task that had failed before the record was rolled back', () => {
    const held = memo({ task: { state: 'silent', why: 'failed' }, denials: denials('server srv1') });
    const next = looked(webWith(HELD), denied(true), facts({ memo: held }));
    expect(next.status).toBeUndefined();
    expect(next.memo.evidence.task).toBeUndefined();
    expect(next.when).toEqual({ now: true });
  });

  it('leads to another poll of a task that is not shown either', () => {
    const held = memo({ task: { state: 'silent', why: 'taskNotFound' }, denials: denials('server srv1') });
    const next = looked(webWith(HELD), denied(true), facts({ memo: held }));
    expect(conditionsOf(next).Stalled).toBe('True TaskNotFound');
    expect(next.memo.evidence.task).toBeUndefined();
    expect(next.when).toMatchObject({ operation: 'follow' });
  });
});
