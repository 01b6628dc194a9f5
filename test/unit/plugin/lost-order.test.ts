import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { provenFrom, requestFor, suspectsAmong, type LostOrder } from '../../../src/plugin/state/lost-order.ts';
import type { UnheldServer } from '../../../src/plugin/state/orphans.ts';
import { storedCatalog } from '../../fixtures/server-catalog.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const MINUTE = 60_000;
const ATTEMPTED = Date.parse('2026-01-01T12:00:00Z');
const text = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
const order: LostOrder = { object: stored('web'), attempt: 'a1', attemptedAt: text(ATTEMPTED) };

const server = (changes: Partial<UnheldServer> = {}): UnheldServer => ({
  identifier: 'vs1',
  product: order.object.spec.product,
  state: 'Unclear',
  unheldSince: text(ATTEMPTED + MINUTE),
  catalog: { namespace: 'default', name: 'c', secret: 'vps-api-key' },
  ...changes,
});

const other = (annotations: Record<string, string>, finalizers: string[] = []): VirtualServer =>
  stored('db', storedWith({ metadata: { uid: 'uid-of-db', annotations, finalizers } }));

const judged = (changes: Partial<UnheldServer>, objects: VirtualServer[] = [], of = order) =>
  suspectsAmong([server(changes)], of, objects).map(({ verdict, note }) => [verdict, note]);

describe('a server that no object holds', () => {
  it.each<[string, Partial<UnheldServer>, string, RegExp]>([
    ['that appeared after the order is a candidate', {}, 'candidate', /^$/],
    ['without a time is a candidate', { unheldSince: undefined }, 'candidate', /^$/],
    ['without a product is a candidate', { product: undefined }, 'candidate', /^$/],
    [
      'that was seen long before the order is none',
      { unheldSince: text(ATTEMPTED - 2 * MINUTE) },
      'excluded',
      /there before/,
    ],
    [
      'that was seen right before is a candidate, because clocks differ',
      { unheldSince: text(ATTEMPTED - 1000) },
      'candidate',
      /^$/,
    ],
    ['with the name of another object is none', { name: 'default/db (0a1b2c3d)' }, 'excluded', /name of another/],
    ['with any other name is a candidate', { name: 'web (old)' }, 'candidate', /^$/],
    ['of another product is unlikely', { product: 'VPSX64' }, 'unlikely', /which was ordered/],
  ])('%s', (_what, changes, verdict, note) => {
    expect(judged(changes)).toEqual([[verdict, expect.stringMatching(note)]]);
  });

  it('is a candidate with the name that the order has sent, whatever it looks like', () => {
    const name = 'shop/web (0a1b2c3d)';
    const named = { ...order, object: stored('web', storedWith({ spec: { serverName: name } })) };
    expect(judged({ name }, [], named)).toEqual([['candidate', '']]);
  });

  it('may belong to another object as well', () => {
    const record = { owner: 'uid-of-db', mode: 'create', attempt: 'b2', attemptedAt: text(ATTEMPTED) } as const;
    const open = other({ [RECORD_ANNOTATION]: formatRecord(record) }, [FINALIZER]);
    expect(judged({}, [open])).toEqual([['candidate', 'may be the server of db']]);
    expect(judged({}, [other({ [ADOPT_ANNOTATION]: 'VS1' })])).toEqual([['candidate', 'may be the server of db']]);
    expect(judged({}, [other({ [ADOPT_ANNOTATION]: 'vs2' }), order.object])).toEqual([['candidate', '']]);
  });

  it('is a candidate if the time of the order is not known', () => {
    expect(judged({ unheldSince: text(0) }, [], { ...order, attemptedAt: undefined })).toEqual([['candidate', '']]);
  });
});

describe('the absence of a server of the order', () => {
  const handled = (value?: string) =>
    storedCatalog('c', { status: value === undefined ? {} : { lastHandledReconcileAt: value } });

  it('is proven by two denials that are five minutes apart, an hour after the order', () => {
    const at = (minutes: number): number => ATTEMPTED + minutes * MINUTE;
    const first = requestFor(order, handled(), true, at(57));
    expect(provenFrom(order, first, at(57))).toBe(at(62));
    const second = requestFor(order, handled(first.value), true, at(61));
    expect(second.value).not.toBe(first.value);
    expect(provenFrom(order, second, at(61))).toBe(at(62));
    expect(provenFrom(order, requestFor(order, handled(second.value), true, at(62)), at(62))).toBeUndefined();
  });

  it('is not proven within an hour of the order', () => {
    const first = requestFor(order, handled(), true, ATTEMPTED + MINUTE);
    const second = requestFor(order, handled(first.value), true, ATTEMPTED + 10 * MINUTE);
    expect(provenFrom(order, second, ATTEMPTED + 10 * MINUTE)).toBe(ATTEMPTED + 60 * MINUTE);
  });

  it.each<[string, string | undefined, boolean]>([
    ['no one had asked before', undefined, true],
    ['the list had a server in between', `a1 ${text(ATTEMPTED)} x`, false],
    ['the last request was about another order', `b2 ${text(ATTEMPTED)} x`, true],
    ['the last request was another one', '2026-01-01', true],
    ['the last request is of the future', `a1 ${text(ATTEMPTED + 300 * MINUTE)} x`, true],
  ])('is not proven by one read: %s', (_why, value, isDenied) => {
    const now = ATTEMPTED + 120 * MINUTE;
    expect(provenFrom(order, requestFor(order, handled(value), isDenied, now), now)).toBe(now + 5 * MINUTE);
  });

  it('is never proven without the time of the order', () => {
    const unknown = { ...order, attemptedAt: undefined };
    const now = ATTEMPTED + 600 * MINUTE;
    const request = requestFor(unknown, handled(`a1 ${text(ATTEMPTED)} x`), true, now);
    expect(provenFrom(unknown, request, now)).toBe(Infinity);
  });
});
