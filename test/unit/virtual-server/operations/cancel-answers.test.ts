import { describe, expect, it } from 'vitest';
import { ProviderError, withheldError } from '../../../../src/provider/error.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { compose } from '../../../../src/virtual-server/decision/compose.ts';
import type { Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { afterRefusal, afterWord, beforeDelete, heldBack } from '../../../../src/virtual-server/operations/cancel.ts';
import {
  HELD,
  KNOWN,
  NOW,
  TIMING,
  decide,
  denials,
  denied,
  facts,
  memo,
  shown,
  webWith,
} from '../../../fixtures/decision.ts';
import { OVER, UNREACHABLE, conditionsOf, deleted, looked, messageOf, owned } from './support.ts';

const UNREAD = webWith(HELD, { deleting: true });
const TIMEOUT = new ProviderError('PROVIDER_TIMEOUT', '60 s');

describe('a cancellation', () => {
  const annotation = 'vps-operator.dev/allow-deletion=true';
  it.each([
    ['servers', 'deleting', 'CRDDeleting', `virtualservers.vps-operator.dev ${annotation}`],
    ['servers', 'forbidden', 'CRDForbidden', 'not read the CustomResourceDefinition virtualservers.vps-operator.dev'],
    ['sets', 'deleting', 'CRDDeleting', `virtualserversets.vps-operator.dev ${annotation}`],
    ['sets', 'missing', 'CRDDeleting', 'virtualserversets.vps-operator.dev is missing'],
    ['sets', 'forbidden', 'CRDForbidden', 'not read the CustomResourceDefinition virtualserversets.vps-operator.dev'],
  ] as const)('waits while the definition of %s is %s (%s)', (of, definition, reason, text) => {
    const next = heldBack(...owned(UNREAD, facts()), { of, definition });
    expect(conditionsOf(next).Stalled).toBe(`True ${reason}`);
    expect(messageOf(next)).toContain(text);
    expect(messageOf(next)).toContain(
      reason === 'CRDDeleting' ? '"deletionPolicy":"Retain"' : 'ClusterRole vps-operator-definition',
    );
    expect(next.memo.evidence.end).toBeUndefined();
    expect(next.record).toBeUndefined();
    expect(next.when).toMatchObject({ operation: 'cancel' });
  });

  it('waits while the definition cannot be read, and says since when', () => {
    const definition = { why: 'The API server answers 500 since 2026.' };
    const next = heldBack(...owned(UNREAD, facts()), { of: 'servers', definition });
    expect(conditionsOf(next).Stalled).toBe('True CRDForbidden');
    expect(messageOf(next)).toContain(
      'deleted by mistake: The API server answers 500 since 2026. The operator retries',
    );
    expect(next.when).toMatchObject({ operation: 'cancel' });
  });

  it.each<{ error: ProviderError; isRequested: boolean }>([
    { error: TIMEOUT, isRequested: true },
    { error: UNREACHABLE, isRequested: true },
    { error: new ResponseError(500, 'fault'), isRequested: true },
    { error: new ResponseError(408, 'a gateway has waited for too long'), isRequested: true },
    { error: new ResponseError(504, 'a gateway has waited for too long'), isRequested: true },
    { error: new ResponseError(409, 'locked'), isRequested: false },
    { error: withheldError(), isRequested: false },
    { error: new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'refused'), isRequested: false },
    { error: new ProviderError('PROVIDER_UNAUTHORIZED', 'refused'), isRequested: false },
    { error: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', {}), isRequested: false },
  ])('may have happened after $error.code "$error.message": $isRequested', ({ error, isRequested }) => {
    const next = afterRefusal(...owned(deleted(), facts()), shown(), error);
    expect(next.memo.evidence.end).toEqual(isRequested ? { state: 'requested', identifier: 'srv1' } : undefined);
  });

  it('voids earlier denials if its answer was lost, since the server was shown right before', () => {
    const given = facts({ memo: memo({ denials: denials('server srv1') }) });
    const next = afterRefusal(...owned(deleted(), given), shown(), TIMEOUT);
    expect(next.memo.evidence.denials).toBeUndefined();
  });
});

describe('a server that is still shown after the documented answer to a DELETE', () => {
  const doomed = webWith(KNOWN, { deleting: true });
  const expired = webWith(KNOWN, OVER);
  const still = (object: VirtualServer): Outcome => {
    const given = facts({ memo: memo({ task: { state: 'over', identifier: 'srv1' } }) });
    return afterWord(...owned(object, given), shown(), 'locked', shown());
  };
  const after = (ms: number, held: Memo) => facts({ now: NOW + ms, memo: held });
  /** The next read, a poll interval later; undefined: it permits another DELETE. */
  const read = (object: VirtualServer, held: Memo, answer: Parameters<typeof beforeDelete>[2], ms = TIMING.pollMs) =>
    beforeDelete(...owned(object, after(ms, held)), answer);
  const first = still(doomed);
  const stateOf = (next: Outcome | undefined) => next?.memo.evidence.end?.state;
  const other = shown({ macs: ['00:00:5e:00:53:ff'] });

  it('keeps its object, which asks again after a poll interval, without a Warning for a short lag', () => {
    expect(first.record).toBeUndefined();
    expect(stateOf(first)).toBe('answered');
    expect(first.when).toEqual({ operation: 'cancel', afterMs: TIMING.pollMs });
    expect(first.events).toMatchObject([{ type: 'Normal', reason: 'Deleting' }]);
    expect(messageOf(first)).toContain('answered 200 ("locked")');
  });

  it.each([
    { what: 'deleted', object: doomed },
    { what: 'expired', object: expired },
  ])('is noted in the status of its object, if that is $what, and stays noted whatever follows', ({ object }) => {
    const { status } = still(object);
    const noted = '2026-01-02T00:00:00Z';
    expect(status?.cancelRequestedAt).toBe(noted);
    // Another process, which remembers nothing, and is refused.
    const kept = { ...object, ...(status && { status }) };
    const next = afterRefusal(...owned(kept, after(60_000, memo())), shown(), new ResponseError(403, 'no'));
    expect(stateOf(next)).toBeUndefined();
    expect(next.status?.cancelRequestedAt).toBe(noted);
    const other = compose(kept, { record: { ...KNOWN, identifier: 'srv2' } }, NOW);
    expect(other.cancelRequestedAt).toBeUndefined();
    // A mirror that has lost its owner, and one of another object.
    const ownedBy = (owner: unknown) => ({
      ...kept,
      status: { ...kept.status, record: { ...KNOWN, owner } },
    });
    expect(compose(ownedBy(null), { record: KNOWN }, NOW).cancelRequestedAt).toBe(noted);
    expect(compose(ownedBy('uid-of-other'), { record: KNOWN }, NOW).cancelRequestedAt).toBeUndefined();
  });

  it.each([
    { what: 'deleted', object: doomed, keeps: '"deletionPolicy":"Retain"' },
    { what: 'expired', object: expired, keeps: '"deletionPolicy":"Retain","expiresAt":null' },
  ])('is reported after a poll interval, with what you can do, if its object is $what', ({ object, keeps }) => {
    const next = read(object, still(object).memo, shown());
    expect(conditionsOf(next).Stalled).toBe('True CancellationUnconfirmed');
    expect(next?.events).toContainEqual(
      expect.objectContaining({ type: 'Warning', reason: 'CancellationUnconfirmed' }),
    );
    const text = next?.status?.conditions?.find(({ type }) => type === 'Stalled')?.message;
    expect(text).toContain(keeps);
    expect(text).toContain('Next check in 60 s');
    expect(next?.when).toMatchObject({ operation: 'cancel' });
  });

  it.each([
    { ms: 74_999, isAllowed: false },
    { ms: 75_000, isAllowed: true },
  ])('gets another DELETE no sooner than a quarter of the grace period later ($ms ms)', ({ ms, isAllowed }) => {
    expect(decide(doomed, after(ms, first.memo)).type).toBe('cancel');
    expect(read(doomed, first.memo, shown(), ms) === undefined).toBe(isAllowed);
  });

  const RELEASE = { type: 'release', why: 'cancelled' };
  it.each([
    { what: 'cancelled once a single counted denial follows', object: doomed, answer: denied(true), then: RELEASE },
    { what: 'cancelled once another server is shown in its place', object: doomed, answer: other, then: RELEASE },
    {
      what: 'expired once a single counted denial follows',
      object: expired,
      answer: denied(true),
      then: { type: 'expire' },
    },
  ])('is $what', ({ object, answer, then }) => {
    const next = read(object, still(object).memo, answer);
    expect(next?.when).toEqual({ now: true });
    expect(stateOf(next)).toBe('confirmed');
    expect(decide(object, after(TIMING.pollMs, next?.memo ?? memo()))).toMatchObject(then);
  });

  it.each<{ asked: string; spec?: object; own?: object; confirms: boolean }>([
    { asked: 'nothing', confirms: true },
    { asked: 'spec.power On', spec: { power: 'On' }, confirms: true },
    { asked: 'spec.power Off', spec: { power: 'Off' }, confirms: false },
    { asked: 'spec.power Dormant', spec: { power: 'Dormant' }, confirms: false },
    { asked: 'a restart', own: { reboot: { asked: 'now', answer: 'Accepted' } }, confirms: false },
    { asked: 'a stop by force', own: { forceOff: { asked: 'now' } }, confirms: false },
    {
      asked: 'a stop for a change',
      own: { change: { identifier: 'srv1', change: 'x', since: '2026-01-02T00:00:00Z', phase: 'stop' } },
      confirms: false,
    },
  ])('is cancelled if it stops then, unless the operator had asked for that: $asked', ({ spec, own, confirms }) => {
    const object = webWith({ ...KNOWN, ...own }, { deleting: true, ...(spec && { spec }) });
    const at = owned(object, facts({ memo: memo({ task: { state: 'over', identifier: 'srv1' } }) }));
    const next = afterWord(...at, shown(), 'Server is locked', shown({ status: 'shutting down' }));
    expect(stateOf(next)).toBe(confirms ? 'confirmed' : 'answered');
  });

  it('is not cancelled by a denial that does not count', () => {
    expect(read(doomed, first.memo, denied(false))?.memo.evidence.end).toEqual(first.memo.evidence.end);
  });

  it('needs the whole proof again if its object is not deleted', () => {
    expect(stateOf(looked(webWith(KNOWN), shown(), after(TIMING.pollMs, first.memo)))).toBe('requested');
  });
});
