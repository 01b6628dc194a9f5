import { describe, expect, it } from 'vitest';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import { ON_CHANGE, untilVisit, withPlan } from '../../../../src/virtual-server/decision/next.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import type { CreateOutcome } from '../../../../src/provider/types.ts';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import type { Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { claimed } from '../../../../src/virtual-server/decision/order-claim.ts';
import { afterAnswer } from '../../../../src/virtual-server/operations/order-anonymous.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  NOW,
  TASKED,
  UID,
  decide,
  facts,
  memo,
  record,
  web,
  webWith,
  withKey,
  type Shape,
  opened,
} from '../../../fixtures/decision.ts';
import { storedWith } from '../../../fixtures/virtual-server.ts';
import { conditionsOf, messageOf } from './support.ts';

const MINUTE = 60_000;
const error = new ResponseError(500, 'the words of the provider', {});
const refused = (status: number): CreateOutcome => ({ kind: 'refused', status, error });
const limited = (retryAfterMs?: number): CreateOutcome => ({
  kind: 'notCreated',
  error: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', { retryAfterMs }),
});
const LEFT = record({ account: ACCOUNT });
const CLAIMED = web({ annotated: ATTEMPTED });

const after = (
  answer: CreateOutcome,
  object = CLAIMED,
  held = memo({}, { failures: 2 }),
  expectedPrice?: number,
): Outcome => afterAnswer(viewOf(object, facts({ memo: held, jitter: 0.5 })), ATTEMPTED, answer, expectedPrice);

it('is preceded by a claim with a new attempt, which keeps only the orphans of earlier ones', () => {
  const before = record({ account: 'old', orphans: [{ task: 3 }], fingerprint: { macs: ['00:00:5e:00:53:01'] } });
  expect(claimed(viewOf(webWith(before), facts()), { attempt: 'a2', account: ACCOUNT })).toEqual({
    format: 2,
    owner: UID,
    mode: 'create',
    account: ACCOUNT,
    attempt: 'a2',
    attemptedAt: '2026-01-02T00:00:00Z',
    ordered: { attempt: 'a2', product: 'VPSX4' },
    orphans: [{ task: 3 }],
  });
});

describe('the answer to an order', () => {
  it('is told in an Event that says who ordered what, and only if it accepts the order', () => {
    const ordered =
      'Ordered a server as task 7 with the API key in Secret vps-api-key: product VPSX4, diskSize 10240, ' +
      'image cloudinit-debian-trixie.raw.gz';
    expect(after({ kind: 'created', task: 7 }).events).toEqual([
      { type: 'Normal', reason: 'ServerOrdered', note: ordered },
    ]);
    expect(after({ kind: 'created', task: 7 }, CLAIMED, memo(), 10.5).events[0]?.note).toBe(
      `${ordered}. Expected price: 10.50`,
    );
    const dear = web({ annotated: ATTEMPTED, spec: { diskType: 'hdd', ipv4: true, advanced: { extraCores: 2 } } });
    expect(after({ kind: 'created', task: 7 }, dear).events[0]?.note).toContain(
      'diskSize 10240, diskType hdd, ipv4, extraCores 2, image',
    );
    const others: CreateOutcome[] = [limited(), refused(422), { kind: 'unknown', error }];
    const reasons = others.flatMap((answer) => after(answer).events.map(({ reason }) => reason));
    expect(reasons).not.toContain('ServerOrdered');
  });

  it('shows the task at once if the status has fields of another server', () => {
    const copied = webWith(ATTEMPTED, { status: { serverStatus: 'running', identifier: 'srv9' } });
    const next = after({ kind: 'created', task: 7 }, copied);
    expect(next).toMatchObject({ record: TASKED, when: { now: true }, status: { record: TASKED, task: { id: 7 } } });
    expect(conditionsOf(next)).toEqual({ Ready: 'False Creating', Reconciling: 'True Creating' });
    expect(next.events.map(({ reason }) => reason)).toEqual(['ServerOrdered']);
  });

  it('tells the words of a refusal, and what leads to the next order', () => {
    expect(messageOf(after(refused(400)))).toContain(
      'the words of the provider. The operator orders again every hour, and at once when you change spec',
    );
  });
});

describe('an order that created nothing', () => {
  const remembered = ({ memo: held, when }: Outcome): Memo => withPlan(held, when, NOW, inputsOf(CLAIMED));
  /** Whether a visit this many ms later orders again. */
  const isDue = (held: Memo, ms: number, object = webWith(LEFT)): boolean =>
    decide(object, facts({ now: NOW + ms, memo: held })).type === 'order';
  const changed = storedWith({ metadata: { generation: 2 } })(webWith(LEFT));
  it.each([400, 402, 403, 404, 405, 413, 415, 422])(
    'is due again after an hour, or for a changed spec, after a %i',
    (status) => {
      const next = after(refused(status));
      const held = remembered(next);
      expect(untilVisit(next.when)).toBe(57 * MINUTE);
      expect(isDue(held, 57 * MINUTE - 1)).toBe(false);
      expect(isDue(held, 57 * MINUTE)).toBe(true);
      expect(isDue(held, 1, changed)).toBe(true);
    },
  );

  it.each([
    { retryAfterMs: 7 * MINUTE, failures: 2, pauseMs: 7 * MINUTE },
    ...[0, undefined].flatMap((retryAfterMs) => [
      { retryAfterMs, failures: 0, pauseMs: 1_000 },
      { retryAfterMs, failures: 1, pauseMs: 2_000 },
      { retryAfterMs, failures: 4, pauseMs: 16_000 },
      { retryAfterMs, failures: 30, pauseMs: 600_000 },
    ]),
  ])('is due $pauseMs ms after a 429 with Retry-After $retryAfterMs and $failures failures before', (row) => {
    const next = after(limited(row.retryAfterMs), CLAIMED, memo({}, { failures: row.failures }));
    const held = remembered(next);
    expect(untilVisit(next.when)).toBe(row.pauseMs);
    expect(isDue(held, row.pauseMs - 1)).toBe(false);
    expect(isDue(held, row.pauseMs)).toBe(true);
  });
});

describe('an order whose outcome is unknown', () => {
  const next = after({ kind: 'unknown', error });
  const decided = (own = next.record ?? ATTEMPTED, shape: Shape = {}, { status = {} } = next) =>
    decide(webWith(own, { status, ...shape }), withKey({ notes: [{ attempt: 'a1', state: 'sending' }] }));

  it('keeps its attempt and its cause, and plans nothing', () => {
    const lost = opened(ATTEMPTED, 'CreateOutcomeUnknown', 'the words of the provider');
    expect(next.record).toEqual(lost);
    expect(next.when).toEqual(ON_CHANGE);
    expect(next.status?.record).toEqual(lost);
    expect(conditionsOf(next)).toEqual({
      Ready: 'Unknown CreateOutcomeUnknown',
      Stalled: 'True CreateOutcomeUnknown',
    });
    expect(messageOf(next)).toContain('vps-operator.dev/not-created=a1');
  });

  it('keeps its cause, also in another process', () => {
    expect(next.status?.conditions?.[0]).toMatchObject({ subject: 'the words of the provider' });
    expect(messageOf(next)).toMatch(/^the words of the provider\. Order a1 was sent, but its outcome is unknown/);
    expect(decided()).toMatchObject({
      type: 'park',
      verdict: { message: next.status?.conditions?.[0]?.summary, subject: 'the words of the provider' },
    });
  });

  it('records and names the task that the answer hints at, and never follows it', () => {
    const hinting = after({ kind: 'unknown', error, task: 7 });
    const hinted = opened({ ...ATTEMPTED, hintedTask: 7 }, 'CreateOutcomeUnknown', 'the words of the provider');
    expect(hinting.record).toEqual(hinted);
    expect(hinting.status?.record).toEqual(hinted);
    expect(messageOf(hinting)).toContain('The answer named task 7.');
    const message = hinting.status?.conditions?.[0]?.summary;
    expect(decided(hinted, {}, hinting)).toMatchObject({
      type: 'park',
      verdict: { reason: 'CreateOutcomeUnknown', message },
    });
  });
});
