/** A server that may not be the object's own: what is shown of it, and what it takes to cancel or to trust it. */
import { describe, expect, it } from 'vitest';
import { untilVisit } from '../../../../src/virtual-server/decision/next.ts';
import { ACCEPT_SERVER_ANNOTATION, FINALIZER } from '../../../../src/api/names.ts';
import type { Held } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { TaskAnswer } from '../../../../src/virtual-server/decision/types.ts';
import {
  ACCOUNT,
  ELSEWHERE,
  HELD,
  KNOWN,
  PRICED,
  NOW,
  OTHER_KEY,
  SERVER,
  TASKED,
  TIMING,
  decide,
  denials,
  memo,
  shown,
  webWith,
  withKey,
  type Shape,
  doubted,
} from '../../../fixtures/decision.ts';
import { DENIED, visit, type Given } from '../../../fixtures/visits.ts';
import { OVER, conditionsOf, deleted, living, looked, messageOf, polled } from './support.ts';

const OTHER_MAC = '00:00:5e:00:53:ff';
const OTHER = { ...SERVER, macs: [OTHER_MAC], ipv6: ['2001:db8::bad'] };
const SEALED = { ...KNOWN, missingAt: '2026-01-01T12:00:00Z' };
const accepting = (word: string): Shape => ({ annotations: { [ACCEPT_SERVER_ANNOTATION]: word } });

describe('a server that may be another one', () => {
  it('is not shown, leaves a doubt in the record, and names the annotations that resolve it', () => {
    const next = looked(living(), shown(OTHER));
    expect(conditionsOf(next)).toEqual({ Ready: 'Unknown IdentityUnproven', Stalled: 'True IdentityUnproven' });
    expect(next.record).toEqual(doubted(KNOWN, 'IdentityUnproven'));
    expect(next.status?.record).toEqual(next.record);
    expect(JSON.stringify(next.status)).not.toContain('2001:db8::bad');
    expect(messageOf(next)).toContain(`-n default vps-operator.dev/accept-server=srv1@${OTHER_MAC}`);
    expect(messageOf(next)).toContain('-n default vps-operator.dev/server-gone=srv1');
    expect(untilVisit(next.when)).toBe(540_000);
  });

  it('keeps a deleted object, and the cancellation is retried after the pause', async () => {
    const { object = living(), memo: held } = await visit(deleted(), { answers: { server: OTHER } });
    expect(object.metadata.finalizers).toEqual([FINALIZER]);
    expect(JSON.stringify(object.status)).not.toContain('2001:db8::bad');
    expect(held).toMatchObject({
      evidence: { unrecognized: 'srv1' },
      plan: { operation: 'cancel', at: NOW + 540_000 },
    });
    expect(decide(object, withKey({ memo: held })).type).toBe('wait');
    expect(decide(object, withKey({ memo: held, now: NOW + 540_000 })).type).toBe('cancel');
  });

  it.each<{ what: string; object: VirtualServer; given: Given }>([
    { what: 'a deleted object', object: deleted(), given: { answers: { server: OTHER } } },
    { what: 'an expired object', object: living(KNOWN, OVER), given: { answers: { server: OTHER } } },
    {
      what: 'a deleted object whose server had counted as gone, if nothing distinguishes the two',
      object: deleted({ ...HELD, missingAt: SEALED.missingAt }),
      given: { answers: { server: SERVER } },
    },
    ...[OTHER_KEY, ELSEWHERE].map((account) => ({
      what: `a deleted object whose server proves nothing to ${account}`,
      object: deleted(),
      given: { account, answers: { server: { ...SERVER, macs: [] } } },
    })),
  ])('is not cancelled, and keeps $what', async ({ object, given }) => {
    const { object: kept, calls } = await visit(object, given);
    expect(calls).not.toContain('delete');
    expect(conditionsOf(kept).Stalled).toBe('True IdentityUnproven');
    const before = object.status?.record as Held;
    expect(kept?.status?.record).toEqual(doubted(before, 'IdentityUnproven'));
  });

  it.each([
    { what: 'it is a different server', object: living(SEALED), answer: shown(OTHER), reason: 'ServerMissing' },
    {
      what: 'only the account is the same, after its absence was recorded',
      object: living({ ...HELD, missingAt: SEALED.missingAt }),
      answer: shown(),
      reason: 'IdentityUnproven',
    },
    {
      what: 'nothing proves it to another account',
      object: living(HELD),
      answer: shown({}, OTHER_KEY),
      reason: 'IdentityUnproven',
    },
  ])('is not recorded if $what', ({ object, answer, reason }) => {
    const next = looked(object, answer);
    expect(conditionsOf(next).Stalled).toBe(`True ${reason}`);
    if (reason === 'ServerMissing') expect(messageOf(next)).toContain('it is a different server');
    const before = object.status?.record as Held;
    const after = reason === 'IdentityUnproven' ? doubted(before, reason) : before;
    expect(next.status?.record).toEqual(after);
    expect(next.record).toEqual(after === before ? undefined : after);
  });

  it('releases a deleted object if the absence of its server is recorded', async () => {
    const { object, events } = await visit(deleted(SEALED), { answers: { server: OTHER } });
    expect(object).toBeUndefined();
    expect(events).toMatchObject([{ type: 'Warning', reason: 'ServerGone' }]);
  });
});

describe('a server whose address another server shows too', () => {
  const shared = { others: { withAddress: () => ['default/other'] } };
  const answers = { server: SERVER, removed: 'ok' };

  it('is not cancelled before you accept it', async () => {
    const { object: kept, calls } = await visit(deleted(), { ...shared, answers });
    expect(calls).not.toContain('delete');
    const condition = kept?.status?.conditions?.find(({ reason }) => reason === 'IdentityUnproven');
    expect(condition?.message).toContain('the server of default/other has it too');
    const word = condition?.subject ?? '';
    expect((await visit(deleted(KNOWN, accepting(word)), { ...shared, answers })).object).toBeUndefined();
  });

  it('is cancelled without help once the other server is gone', async () => {
    const { object = living(), memo: held } = await visit(deleted(), { ...shared, answers });
    const later = await visit(object, { memo: held, now: NOW + TIMING.resyncMs, answers });
    expect(later.calls).toContain('delete');
    expect(later.object).toBeUndefined();
  });
});

describe('a task under another account', () => {
  const withOther = withKey({ key: { ok: true, value: { account: OTHER_KEY } } });
  const pending = (identifier?: string): TaskAnswer => ({ type: 'pending', identifier, status: 'installing' });
  const complete = (identifier: string): TaskAnswer => ({ type: 'complete', identifier });
  const over = { state: 'complete', identifier: 'srv1' } as const;

  it('renews the account once that account shows the server that the task names', async () => {
    const { object } = await visit(webWith(HELD), { account: OTHER_KEY, answers: { task: over, server: SERVER } });
    expect(conditionsOf(object)).toEqual({ Ready: 'True Available' });
    expect(object?.status?.record).toEqual({ ...PRICED, account: OTHER_KEY });
  });

  it('proves nothing about a server that was read before under another account', () => {
    const given = withKey({ memo: memo({ vouched: { identifier: 'srv1', account: OTHER_KEY } }) });
    const next = looked(living(), shown({ macs: [] }, OTHER_KEY), given);
    expect(conditionsOf(next).Stalled).toBe('True IdentityUnproven');
  });

  it('keeps a deleted object while that account does not show the server, however many denials there are', async () => {
    const { object } = await visit(webWith(HELD, { deleting: true }), {
      account: OTHER_KEY,
      memo: memo({ denials: denials('server srv1') }),
      answers: { task: over, server: DENIED },
    });
    expect(conditionsOf(object).Stalled).toBe('True ServerNotVisible');
    expect(object?.status?.record?.account).toBe(ACCOUNT);
  });

  it.each([
    { what: 'another identifier', answer: pending('srv2') },
    { what: 'none', answer: pending() },
    { what: 'another one when complete', answer: complete('srv2') },
  ])('proves nothing when it names $what', ({ answer }) => {
    const next = polled(webWith(HELD), answer, withOther);
    expect(conditionsOf(next).Stalled).toBe('True IdentityUnproven');
    expect(next.record).toEqual(doubted(HELD, 'IdentityUnproven'));
    expect(next.memo.evidence.task).toBeUndefined();
    expect(messageOf(next)).toContain(`-n default vps-operator.dev/accept-server=task-7@${OTHER_KEY}`);
    expect(untilVisit(next.when)).toBeGreaterThanOrEqual(TIMING.pollMs);
  });

  it('is followed once you accept it', () => {
    const object = webWith(TASKED, accepting(`task-7@${OTHER_KEY}`));
    expect(polled(object, pending('srv1'), withOther).record).toEqual({ ...HELD, account: OTHER_KEY });
  });
});
