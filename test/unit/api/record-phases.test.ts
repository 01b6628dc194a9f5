/** A record is in one of five phases. The compiler refuses, in this file, what no phase has. */
import { expect, it } from 'vitest';
import {
  byPhase,
  inPhase,
  isClaimed,
  type Claimed,
  type Following,
  isNamed,
  phaseOf,
  type Held,
  type Named,
  type PhaseName,
  type ServerRecord,
  type StoredRecord,
  type Unordered,
} from '../../../src/api/record.ts';

const bare = { owner: 'u', mode: 'create' } as const;
const unordered: Unordered = bare;
const claimed: Claimed = { ...bare, attempt: 'a1' };
const following: Following = { ...bare, attempt: 'a1', task: 7 };
const held: Held = { ...bare, attempt: 'a1', task: 7, identifier: 'srv1' };
const time = '2026-01-01T00:00:00Z';
const named: Named = { ...bare, attempt: 'a1', identifier: 'srv1', mode: 'named', sent: { at: time, body: 'b1' } };

/** A record of each phase. */
const OF_PHASE = { unordered, claimed, following, named, held } satisfies Record<PhaseName, ServerRecord>;

it.each(Object.entries(OF_PHASE))('tells that a record is %s, and takes that row', (phase, record) => {
  expect(phaseOf(record)).toBe(phase);
  const rows = {
    unordered: () => 'unordered',
    claimed: () => 'claimed',
    following: () => 'following',
    named: () => 'named',
    held: () => 'held',
  };
  expect(byPhase(record, rows)).toBe(phase);
});

it('has the first phase that fits, if it has fields of several', () => {
  const damaged: [Partial<StoredRecord>, PhaseName][] = [
    [{ ...bare, fingerprint: {}, price: { identifier: 'srv1' }, doubt: undefined }, 'unordered'],
    [{ ...claimed, mode: 'named', sent: named.sent, missingAt: time }, 'claimed'],
    [{ ...bare, task: 7, createFailure: { said: 'no' } }, 'following'],
    [{ ...following, mode: 'named', sent: named.sent }, 'following'],
    [{ ...named, task: 7, readyAt: time }, 'named'],
    [{ ...named, mode: 'create' }, 'held'],
    [{ ...named, sent: undefined }, 'held'],
    [{ ...named, attempt: undefined, task: 7 }, 'held'],
    [{ ...named, fingerprint: {} }, 'held'],
    [{ ...named, missingAt: time }, 'held'],
  ];
  expect(damaged.map(([record]) => phaseOf(record))).toEqual(damaged.map(([, phase]) => phase));
});

it('is claimed between the claim and the answer', () => {
  expect([unordered, claimed, following, held].map(isClaimed)).toEqual([false, true, false, false]);
});

it('is named until the provider has shown the server, or it is gone', () => {
  const shown: Held = { ...named, fingerprint: {} };
  const gone: Held = { ...named, missingAt: time };
  expect([named, held, shown, gone].map(isNamed)).toEqual([true, false, false, false]);
});

it('has only the fields of its phase', () => {
  // @ts-expect-error A claim has the name of its attempt.
  const nameless: Claimed = bare;
  // @ts-expect-error Without an identifier, there is no server to doubt.
  const doubted: Following = { ...following, doubt: { identifier: 'srv1', reason: 'AbsenceUnproven', since: time } };
  // @ts-expect-error Nothing can be missing that was never named.
  const missing: Claimed = { ...claimed, missingAt: time };
  // @ts-expect-error Only a task can fail.
  const failed: Claimed = { ...claimed, createFailure: { said: 'no' } };
  // @ts-expect-error No question is open about an order that does not exist.
  const open: Unordered = { ...unordered, open: { reason: 'TaskNotFound', since: time } };
  // @ts-expect-error What was never shown has no price, and cannot be changed or lost.
  const priced: Named = { ...named, price: { identifier: 'srv1', amount: 5 } };
  // @ts-expect-error It was never ready.
  const ready: Named = { ...named, readyAt: time };
  // @ts-expect-error Without what was sent, the order cannot be sent again.
  const unsent: Named = { ...named, sent: undefined };
  expect([nameless, doubted, missing, failed, open, priced, ready, unsent].map(inPhase)).toHaveLength(8);
});

it('may have expired in each phase, because no other server is ordered even if the expired one is forgotten', () => {
  for (const record of [unordered, claimed, following, named, held]) {
    const expired: ServerRecord = { ...record, expiredAt: time };
    expect(expired.expiredAt).toBe(time);
  }
});
