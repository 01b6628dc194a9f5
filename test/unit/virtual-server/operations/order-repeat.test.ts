/** When an order must not be sent again: its server was there, it went the other way, or spec has changed since. */
import { describe, expect, it } from 'vitest';
import { phaseOf } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { CreateOutcome, NamedOutcome } from '../../../../src/provider/types.ts';
import { ATTEMPTED, NOW, SERVER, TIMING, web, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';
import { next, recordIn } from './named-support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const IDENTIFIER = 'web00000000004h';
const accepted: NamedOutcome = { kind: 'created', task: 7 };
const error = new ProviderError('PROVIDER_TIMEOUT', 'no answer');
const lost: NamedOutcome = { kind: 'unclear', error, isAnswered: false };
const named = { ...SERVER, identifier: IDENTIFIER };
const creating = { state: 'pending', identifier: IDENTIFIER } as const;
/** The provider has no such server, and takes each order. */
const GONE: Given = {
  listsServers: true,
  listsCreating: true,
  answers: { server: DENIED, servers: ['another'], task: DENIED, named: accepted, order: { kind: 'created', task: 8 } },
};

const ordering = (answer: NamedOutcome, object = web()): Promise<Visited> =>
  visit(object, { ordersNamed: true, answers: { named: answer, task: creating } });

/** The visits of a day, at first every two minutes: by the same process, or by another one that knew the object alone at first. */
async function day(first: Visited, given: Given, process: 'same' | 'other'): Promise<Visited[]> {
  const visits: Visited[] = [];
  let visited = first;
  for (let ms = TIMING.takeoverMs + 1; ms < 26 * HOUR; ms += ms < HOUR ? 2 * MINUTE : 2 * HOUR) {
    visited = await next(visited, NOW + ms, given, visits.length === 0 ? process : 'same');
    visits.push(visited);
  }
  return visits;
}

describe('an order under an identifier whose server was shown', () => {
  const shownOnce = async (answer: NamedOutcome): Promise<Visited> => {
    const first = await ordering(answer);
    const given = { answers: { server: named, task: { state: 'complete', identifier: IDENTIFIER } as const } };
    const shown = await next(first, NOW + TIMING.takeoverMs, given);
    expect(shownBy(shown).reason).toBe('Available');
    return shown;
  };

  it.each([
    ['accepted', accepted],
    ['lost', lost],
  ] as const)('is never sent again once the server is cancelled in the control panel (%s)', async (_, answer) => {
    const shown = await shownOnce(answer);
    for (const process of ['same', 'other'] as const) {
      const visits = await day(shown, GONE, process);
      expect(visits.flatMap(({ requests }) => requests)).toEqual([]);
      const reasons = visits.map((visited) => shownBy(visited).reason);
      expect(reasons).toContain('AbsenceUnproven');
      expect(reasons.at(-1)).toBe('ServerMissing');
    }
  });

  it('is never sent again once the operator has cancelled the server, because its time was up', async () => {
    const shown = await shownOnce(lost);
    const object = shown.object as VirtualServer;
    const over = { ...shown, object: { ...object, spec: { ...object.spec, expiresAt: '2026-01-02T00:10:00Z' } } };
    const answers = { server: named, removed: 'ok', after: DENIED };
    const cancelled = await next(over, NOW + HOUR, { answers });
    expect(cancelled.calls).toContain('delete');
    expect(shownBy(cancelled).reason).toBe('Expired');
    for (const process of ['same', 'other'] as const)
      for (const visited of await day(cancelled, GONE, process)) {
        expect(visited.requests).toEqual([]);
        expect(shownBy(visited).reason).toBe('Expired');
      }
  });
});

it.each([
  {
    what: 'only its list has',
    server: DENIED,
    then: "The provider's list of servers has the server, but the provider does not show it yet.",
  },
  {
    what: 'the provider answers 409 for',
    server: new ResponseError(409, 'Reading the server failed: the provider answered 409'),
    then: 'Reading the server failed: the provider answered 409.',
  },
])('first says that an order has no answer, then about a server that $what', async ({ server, then }) => {
  const first = await ordering(lost);
  const given: Given = { ...GONE, answers: { ...GONE.answers, server, servers: [IDENTIFIER] } };
  const visited = await next(first, NOW + TIMING.takeoverMs + 1, given);
  expect(visited.requests).toEqual([]);
  const { message } = shownBy(visited);
  expect(message?.startsWith(`The order of server ${IDENTIFIER} has no answer. ${then}`), message).toBe(true);
  expect(message).toContain('sends the same order again if there is none');
});

it('is not sent again when the time of its object is up: what it may have created is cancelled', async () => {
  const first = await ordering(lost);
  const object = first.object as VirtualServer;
  const over = { ...first, object: { ...object, spec: { ...object.spec, expiresAt: '2026-01-02T00:00:30Z' } } };
  for (const process of ['same', 'other'] as const) {
    const visits = await day(over, { ...GONE, answers: { ...GONE.answers, removed: DENIED } }, process);
    expect(visits.flatMap(({ requests }) => requests)).toEqual([]);
  }
});

describe('an order without an identifier whose answer is lost', () => {
  const unknown: CreateOutcome = { kind: 'unknown', error };
  const sending = [{ attempt: 'a1', state: 'sending' }] as const;

  it.each(['same', 'other'] as const)(
    'is never sent under an identifier, although the account takes such orders by now (%s process)',
    async (process) => {
      const first = await visit(web(), { answers: { order: unknown } });
      expect(first.requests).toHaveLength(1);
      const notes = process === 'same' ? sending : [];
      for (const visited of await day(first, { ...GONE, ordersNamed: true, notes }, process)) {
        expect(visited.requests).toEqual([]);
        const record = recordIn(visited);
        expect(record).toMatchObject({ mode: 'create', attempt: 'a1' });
        expect(phaseOf(record ?? {})).toBe('claimed');
        expect(['CreateInFlight', 'CreateOutcomeUnknown']).toContain(shownBy(visited).reason);
      }
    },
  );

  it('gives its attempt to no order under an identifier, if it is known that it was never sent', async () => {
    const claimed = webWith({ ...ATTEMPTED, attempt: 'a0' });
    const notes = [{ attempt: 'a0', state: 'minted' }] as const;
    const later = await visit(claimed, { ordersNamed: true, notes, answers: { named: accepted, task: creating } });
    expect(later.requests).toEqual([expect.objectContaining({ identifier: IDENTIFIER })]);
    expect(recordIn(later)).toMatchObject({ mode: 'named', attempt: 'a1', identifier: IDENTIFIER });
  });
});

describe('an order under an identifier whose spec has changed since', () => {
  const wanted = { product: 'VPSX8', diskSize: 20480 };

  it.each([
    ['without an answer', lost],
    ['with a task', accepted],
  ] as const)('reports what differs from the server of its first body, and orders nothing (%s)', async (_, answer) => {
    const first = await ordering(answer);
    expect(first.requests).toEqual([expect.objectContaining({ product: 'VPSX4' })]);
    const object = first.object as VirtualServer;
    const metadata = { ...object.metadata, generation: object.metadata.generation + 1 };
    const edited = { ...first, object: { ...object, metadata, spec: { ...object.spec, ...wanted } } };
    for (const process of ['same', 'other'] as const) {
      const unseen = await next(
        edited,
        NOW + TIMING.takeoverMs + 1,
        { answers: { ...GONE.answers, task: creating } },
        process,
      );
      const answers = { ...GONE.answers, server: named, task: { state: 'complete', identifier: IDENTIFIER } as const };
      const shown = await next(unseen, NOW + HOUR, { answers }, process);
      const later = await next(shown, NOW + 3 * HOUR, { answers }, process);
      for (const visited of [unseen, shown, later]) expect(visited.requests).toEqual([]);
      for (const visited of [shown, later]) {
        expect(shownBy(visited).reason).toBe('Available');
        const drifted = visited.object?.status?.conditions?.find(({ type }) => type === 'Drifted');
        expect(drifted?.message).toContain('product is VPSX4 instead of VPSX8; disk size is 10240 instead of 20480');
      }
      expect(recordIn(later)).toMatchObject({ identifier: IDENTIFIER, price: { product: 'VPSX4', diskSize: 10240 } });
    }
  });
});
