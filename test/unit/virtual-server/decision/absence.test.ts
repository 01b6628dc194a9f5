import { describe, expect, it } from 'vitest';
import {
  absent,
  denied,
  graceOf,
  isProven,
  pauseOf,
  unprovenVerdict,
} from '../../../../src/virtual-server/decision/absence.ts';
import { type Denials, type Evidence, type Memo, type Unlisted } from '../../../../src/virtual-server/decision/memo.ts';
import { viewOf, type View } from '../../../../src/virtual-server/decision/view.ts';
import { HELD, KNOWN, TIMING, denials, facts, memo, record, web, webWith } from '../../../fixtures/decision.ts';

const WHAT = 'server srv1';
const REQUESTED: Evidence = { end: { state: 'requested', identifier: 'srv1' } };
const GRACE = TIMING.absenceMs;
/** Only `monotonic` moves, since the wall clock may be changed. */
const at = (monotonic: number, held: Memo = memo()): View => viewOf(webWith(HELD), facts({ monotonic, memo: held }));

/** The denials after one at each of these times. */
function after(...moments: number[]): Denials {
  let held = memo();
  for (const moment of moments) held = memo({ denials: denied(at(moment, held), WHAT) });
  return held.evidence.denials ?? denials('nothing');
}

describe('counting denials', () => {
  it('counts all denials within a quarter of the grace period as one', () => {
    expect(after(0, 1, 10, 1_000, GRACE / 4 - 1)).toMatchObject({
      of: WHAT,
      since: 0,
      counted: 1,
      countedAt: 0,
      lastAt: GRACE / 4 - 1,
      unlisted: 'no',
    });
    expect(after(0, GRACE / 4).counted).toBe(2);
  });

  it('measures from the last counted denial, so that frequent denials still count', () => {
    expect(after(0, 50_000, 80_000, 130_000, 160_000)).toMatchObject({
      of: WHAT,
      since: 0,
      counted: 3,
      countedAt: 160_000,
      lastAt: 160_000,
      unlisted: 'no',
    });
  });

  it('restarts for another server or task', () => {
    const held = memo({ denials: denials('task 7') });
    expect(denied(at(0, held), WHAT)).toMatchObject({ of: WHAT, counted: 1, since: 0 });
  });
});

describe('proof of absence', () => {
  it.each([
    { reason: 'three denials over the whole period', moments: [0, 150_000, 300_000], now: 300_000, proven: true },
    { reason: 'three denials, a moment too early', moments: [0, 150_000, 299_999], now: 299_999, proven: false },
    { reason: 'two denials, however long ago', moments: [0, 150_000], now: 9_000_000, proven: false },
    { reason: 'three denials with a long gap', moments: [0, 150_000, 900_000], now: 900_000, proven: false },
    {
      reason: 'a hundred denials within a moment',
      moments: Array.from({ length: 100 }, (_, n) => n),
      now: 100,
      proven: false,
    },
    { reason: 'two denials within a moment', moments: [0, 1], now: 1, proven: false },
  ])('$reason: $proven', ({ moments, now, proven }) => {
    expect(isProven(after(...moments), GRACE, at(now))).toBe(proven);
  });
});

describe('proof of absence with a list of servers', () => {
  /** Each moment with what the list says of that denial. */
  const listed = (...moments: [number, Unlisted][]): Denials => {
    let held = memo();
    for (const [moment, unlisted] of moments) held = memo({ denials: denied(at(moment, held), WHAT, unlisted) });
    return held.evidence.denials ?? denials('nothing');
  };

  it.each<{ reason: string; moments: [number, Unlisted][]; proven: boolean }>([
    {
      reason: 'two confirmed reads a grace apart',
      moments: [
        [0, 'yes'],
        [GRACE, 'yes'],
      ],
      proven: true,
    },
    {
      reason: 'two confirmed reads, a moment too early',
      moments: [
        [0, 'yes'],
        [GRACE - 1, 'yes'],
      ],
      proven: false,
    },
    { reason: 'one confirmed read', moments: [[GRACE, 'yes']], proven: false },
    {
      reason: 'two reads, of which the list confirms one',
      moments: [
        [0, 'no'],
        [GRACE, 'yes'],
      ],
      proven: false,
    },
    {
      reason: 'two reads before the list is lost',
      moments: [
        [0, 'yes'],
        [GRACE, 'no'],
      ],
      proven: false,
    },
    {
      reason: 'two reads of a list that may leave it out',
      moments: [
        [0, 'yes'],
        [GRACE, 'perhaps'],
      ],
      proven: false,
    },
  ])('$reason: $proven', ({ moments, proven }) => {
    const last = moments.at(-1)?.[0] ?? 0;
    expect(isProven(listed(...moments), GRACE, at(last))).toBe(proven);
  });

  it('says the least that the list says of any denial', () => {
    expect(listed([0, 'yes'], [GRACE, 'perhaps']).unlisted).toBe('perhaps');
    expect(listed([0, 'perhaps'], [GRACE, 'no']).unlisted).toBe('no');
    expect(listed([0, 'yes'], [GRACE, 'yes']).unlisted).toBe('yes');
  });
});

describe('the grace period', () => {
  const copied = { ...HELD, owner: 'another-uid', identifier: 'srv9' };
  it.each([
    { reason: 'a server that was read', object: webWith(KNOWN), own: KNOWN, periods: 1 },
    {
      reason: 'a server without any addresses',
      object: webWith(HELD),
      own: { ...HELD, fingerprint: {} },
      periods: 1,
    },
    { reason: 'an adopted server', object: web(), own: record({ mode: 'adopt', identifier: 'srv1' }), periods: 1 },
    {
      reason: 'a server that an earlier version read',
      object: webWith(HELD, { status: { serverStatus: 'running' } }),
      own: HELD,
      periods: 1,
    },
    { reason: 'a server that was never read', object: webWith(HELD), own: HELD, periods: 12 },
    {
      reason: 'a server next to the status of another one',
      object: web({ annotated: HELD, mirror: copied, status: { serverStatus: 'running' } }),
      own: HELD,
      periods: 12,
    },
    {
      reason: 'a server that was never read, after a DELETE whose answer was lost',
      object: webWith(HELD),
      own: HELD,
      held: memo(REQUESTED),
      periods: 1,
    },
    {
      reason: 'a server that was never read, after a DELETE for another one',
      object: webWith(HELD),
      own: HELD,
      held: memo({ end: { state: 'requested', identifier: 'srv0' } }),
      periods: 12,
    },
  ])('is $periods times absenceMs for $reason', ({ object, own, held = memo(), periods }) => {
    expect(graceOf(viewOf(object, facts({ memo: held })), own, undefined)).toBe(periods * GRACE);
  });

  it('is longer if the list of servers is empty, even if a DELETE may explain that', () => {
    const given = (unlisted: Unlisted, held = memo()): number =>
      graceOf(viewOf(webWith(KNOWN), facts({ memo: held })), KNOWN, { ...denials(WHAT), unlisted });
    expect([given('yes'), given('no'), given('perhaps')]).toEqual([GRACE, GRACE, 12 * GRACE]);
    expect([given('no', memo(REQUESTED)), given('perhaps', memo(REQUESTED))]).toEqual([GRACE, 12 * GRACE]);
  });

  it('is one period for the server of a failed order only if the list of servers confirms the denials', () => {
    const failed = { ...HELD, createFailure: { said: 'Out of stock' } };
    const given = (unlisted: Unlisted): number =>
      graceOf(viewOf(webWith(failed), facts()), failed, { ...denials(WHAT), unlisted });
    expect([given('yes'), given('perhaps'), given('no')]).toEqual([GRACE, 12 * GRACE, 12 * GRACE]);
  });
});

describe('the next check', () => {
  it.each([
    { reason: 'the poll interval', timing: TIMING, now: 0, pause: 60_000 },
    { reason: 'half the period if polls are rare', timing: { ...TIMING, pollMs: 900_000 }, now: 0, pause: 150_000 },
    { reason: 'the end of the period if that is sooner', timing: TIMING, now: GRACE - 10, pause: 10 },
    { reason: 'the poll interval once the period has passed', timing: TIMING, now: GRACE, pause: 60_000 },
    { reason: 'an eighth of the time since the first denial', timing: TIMING, now: 800_000, pause: 100_000 },
    { reason: 'half the period at most, so that the count continues', timing: TIMING, now: 86_400_000, pause: 150_000 },
  ])('comes after $reason', ({ timing, now, pause }) => {
    expect(pauseOf(after(0), GRACE, { ...at(now), timing })).toBe(pause);
  });

  it('proves an absence within the grace period plus one check', () => {
    let held = memo();
    let now = 0;
    for (let looks = 0; looks < 100; looks += 1) {
      const present = denied(at(now, held), WHAT);
      if (isProven(present, GRACE, at(now))) break;
      held = memo({ denials: present });
      now += pauseOf(present, GRACE, at(now));
    }
    expect(now).toBe(GRACE);
  });
});

describe('the verdict before the proof', () => {
  it('names the count, the earliest end, and the next check', () => {
    const { reason, message } = unprovenVerdict(
      after(0, 80_000),
      `${WHAT} does not exist`,
      GRACE,
      60_000,
      viewOf(webWith(HELD), facts({ now: Date.UTC(2026, 0, 2), monotonic: 80_000 })),
    );
    expect(reason).toBe('AbsenceUnproven');
    expect(message).toContain(
      'that server srv1 does not exist, which may be an error of the provider. The operator has counted 2 of at least 3 such answers',
    );
    expect(message).toContain('believes them at 2026-01-02T00:03:40Z at the earliest');
    expect(message).toContain('Next check in 60 s (at 2026-01-02T00:01:00Z)');
  });
});

describe('a server whose identifier is in use, as the provider has said', () => {
  const sent = { at: '2026-01-01T23:59:00Z', body: 'hash', inUse: true } as const;
  const own = { ...HELD, mode: 'named', sent } as const;
  const denial = { type: 'serverNotFound', counts: true, detail: 'no', unlisted: 'no' } as const;

  it.each([
    { what: 'is kept', shape: {}, isCancelled: false },
    { what: 'ends', shape: { deleting: true }, isCancelled: true },
    { what: 'is retained', shape: { deleting: true, spec: { deletionPolicy: 'Retain' } }, isCancelled: false },
  ] as const)('is cancelled as soon as it is shown only if its object ends: it $what', ({ shape, isCancelled }) => {
    const { status } = absent(viewOf(webWith(own, shape), facts()), own, 'look', denial);
    const { message = '' } = status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
    expect(message).toContain('its identifier is in use');
    expect(message.includes('cancels it as soon as')).toBe(isCancelled);
  });
});
