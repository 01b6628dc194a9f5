/** An order under an identifier that the user chose: others may choose the same one, so a server that has it proves nothing. */
import { describe, expect, it } from 'vitest';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { NamedOutcome, Server } from '../../../../src/provider/types.ts';
import { ACCEPT_SERVER_ANNOTATION, RECORD_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { Holders } from '../../../../src/virtual-server/shared/holders.ts';
import { ACCOUNT, NOW, SERVER, TIMING, UID, web } from '../../../fixtures/decision.ts';
import { deleted, next, recordIn, sentIn } from './named-support.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const MINUTE = 60_000;
const IDENTIFIER = 'shop';
const OWN_NAME = `default/web (${UID.slice(0, 8)})`;
const OTHER_NAME = 'default/web (0123abcd)';
const accepted: NamedOutcome = { kind: 'created', task: 7 };
const inUse: NamedOutcome = { kind: 'inUse', error: new ResponseError(409, 'identifier in use', {}) };
const lost: NamedOutcome = {
  kind: 'unclear',
  error: new ProviderError('PROVIDER_TIMEOUT', 'no answer'),
  isAnswered: false,
};
const chosen = (): VirtualServer => web({ spec: { identifier: IDENTIFIER } });
const shop = (name?: string): Server => ({ ...SERVER, identifier: IDENTIFIER, name });
const creating = { state: 'pending', identifier: IDENTIFIER } as const;

const ordering = (given: Given = {}, object = chosen()): Promise<Visited> =>
  visit(object, {
    ordersNamed: true,
    ...given,
    answers: { server: DENIED, servers: [], named: accepted, task: creating, ...given.answers },
  });

/** When a proxy can no longer deliver a request of an order: twelve grace periods later. */
const TOO_LATE = NOW + 12 * TIMING.absenceMs;

/** Its only request has no answer; a later visit finds a server with this name. */
async function foundAfterLoss(name: string | undefined, process: 'same' | 'other', now: number): Promise<Visited> {
  const first = await ordering({ answers: { named: lost } });
  return next(first, now, { answers: { server: shop(name), servers: [IDENTIFIER] } }, process);
}

describe('an identifier that is free', () => {
  it('is read before it is claimed, and ordered', async () => {
    const visited = await ordering();
    expect(visited.calls.slice(0, 4)).toEqual(['catalog', 'read', 'products', 'servers']);
    expect(visited.requests).toEqual([expect.objectContaining({ identifier: IDENTIFIER, name: OWN_NAME })]);
    expect(visited.requests[0]).not.toHaveProperty('spec');
    expect(recordIn(visited)).toMatchObject({ identifier: IDENTIFIER, mode: 'named', sent: { chosen: true } });
  });

  it.each(['asked about', 'held'] as const)('waits while it is %s by another object', async (how) => {
    const other = { namespace: 'default', name: 'other', secret: 'key', account: ACCOUNT, identifier: IDENTIFIER };
    const holders = new Holders(() => ACCOUNT);
    if (how === 'held') holders.set('another', other);
    else holders.reserve('another', other, () => undefined);
    const visited = await ordering({ holders });
    expect(visited.requests).toEqual([]);
    // Nothing is known yet if it is only asked about.
    expect(JSON.stringify(visited.object?.status ?? {}).includes('IdentifierTaken')).toBe(how === 'held');
    expect(visited.requeueAfterMs).toBeDefined();
  });

  it('is ordered by a new process although the list fails, because the read tells, and not if the read shows a server', async () => {
    const servers = new ResponseError(503, 'down');
    expect((await ordering({ answers: { servers, listed: servers } })).requests).toHaveLength(1);
    const own = await ordering({ answers: { servers, listed: servers, server: shop(OWN_NAME) } });
    expect(own.requests).toEqual([]);
    expect(shownBy(own).reason).toBe('Available');
    const others = await ordering({ answers: { servers, listed: servers, server: shop(OTHER_NAME) } });
    expect(others.requests).toEqual([]);
    expect(shownBy(others).reason).toBe('IdentifierTaken');
  });

  it('becomes the server, whatever name the provider gives it once the order is accepted', async () => {
    for (const name of [OWN_NAME, undefined, 'another one']) {
      const first = await ordering();
      const over = { task: { state: 'complete', identifier: IDENTIFIER }, server: shop(name) } as const;
      const ready = await next(first, NOW + MINUTE, { answers: over });
      expect(shownBy(ready).reason).toBe('Available');
    }
  });
});

describe('an identifier that the provider denies, while its list fails', () => {
  it.each([
    { code: 'PROVIDER_RESPONSE', status: 500, orders: 1 },
    { code: 'PROVIDER_FORBIDDEN', status: 403, orders: 0 },
  ] as const)('is ordered only if the key may list servers ($status)', async ({ code, status, orders }) => {
    const servers = new ResponseError(status, 'no list', { code });
    const named: NamedOutcome = { kind: 'created', task: 7 };
    const answers = { server: DENIED, servers, listed: servers, named, task: creating };
    expect((await visit(chosen(), { ordersNamed: true, answers })).requests).toHaveLength(orders);
  });
});

describe('an identifier in use before the order', () => {
  it.each([
    ['a stranger', 'theirs'],
    ['an object of another cluster', OTHER_NAME],
    ['another customer who gave it no name', undefined],
  ])('by %s is not taken over, and nothing is claimed or ordered', async (_, name) => {
    const visited = await ordering({ answers: { server: shop(name) } });
    expect(visited.requests).toEqual([]);
    expect(recordIn(visited)).toBeUndefined();
    const { reason, message } = shownBy(visited);
    expect(reason).toBe('IdentifierTaken');
    expect(message).toContain('A server with the identifier shop is there already');
    expect(message).toContain('vps-operator.dev/adopt=shop');
  });

  it('by this object, whose record was lost, is its server', async () => {
    const visited = await ordering({ answers: { server: shop(OWN_NAME) } });
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited).reason).toBe('Available');
    expect(recordIn(visited)).toMatchObject({ identifier: IDENTIFIER, fingerprint: { macs: SERVER.macs } });
  });

  it('by an object of this cluster is told without a call', async () => {
    const holders = new Holders(() => ACCOUNT);
    const holding = {
      namespace: 'default',
      name: 'first',
      secret: 'provider',
      account: ACCOUNT,
      identifier: IDENTIFIER,
    };
    holders.set('uid-first', holding);
    const visited = await ordering({ holders });
    expect(visited.calls).not.toContain('read');
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited)).toMatchObject({ reason: 'IdentifierTaken' });
    expect(shownBy(visited).message).toContain('default/first');
  });

  it('that only the list shows is in use', async () => {
    const visited = await ordering({ answers: { servers: [IDENTIFIER] } });
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited).reason).toBe('IdentifierTaken');
  });

  it('cannot be told while the account shows no products', async () => {
    const visited = await ordering({ answers: { products: [] } });
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited).reason).toBe('ServerNotVisible');
  });
});

describe('an identifier that another customer has', () => {
  it('is told at once, with nothing left of the order, so that you can choose another one', async () => {
    const visited = await ordering({ answers: { named: inUse } });
    expect(recordIn(visited)).not.toHaveProperty('attempt');
    expect(recordIn(visited)).not.toHaveProperty('identifier');
    const { reason, message } = shownBy(visited);
    expect(reason).toBe('IdentifierTaken');
    expect(message).toContain('identifier in use');
    expect(message).not.toContain('vps-operator.dev/adopt');
    const other = visited.object as VirtualServer;
    other.spec = { ...other.spec, identifier: 'shop2' };
    const again = await next(visited, NOW + 1000, {
      answers: { server: DENIED, servers: [], named: accepted, task: creating },
    });
    expect(again.requests).toEqual([expect.objectContaining({ identifier: 'shop2' })]);
  });

  it('may be that of this order if an earlier request had no answer', async () => {
    const first = await ordering({ answers: { named: lost } });
    const now = NOW + TIMING.takeoverMs + MINUTE;
    const again = await next(first, now, { answers: { server: DENIED, servers: [], named: inUse } });
    expect(sentIn(again)).toBe(1);
    expect(recordIn(again)).toMatchObject({ identifier: IDENTIFIER, sent: { inUse: true } });
  });
});

describe('a server that appears after a lost answer', () => {
  const soon = NOW + TIMING.takeoverMs + MINUTE;

  it.each(['same', 'other'] as const)('belongs to the object if its name tells (%s process)', async (process) => {
    expect(shownBy(await foundAfterLoss(OWN_NAME, process, soon)).reason).toBe('Available');
  });

  it('is not if its name is that of another object', async () => {
    const found = await foundAfterLoss(OTHER_NAME, 'same', TOO_LATE);
    expect(shownBy(found)).toMatchObject({ reason: 'IdentifierTaken' });
    expect(recordIn(found)).not.toHaveProperty('identifier');
    expect(sentIn(found)).toBe(0);
  });

  it('ends no order of which a proxy may still deliver a request', async () => {
    const found = await foundAfterLoss(OTHER_NAME, 'other', soon);
    expect(shownBy(found)).toMatchObject({ reason: 'IdentifierTaken' });
    expect(recordIn(found)).toMatchObject({ identifier: IDENTIFIER });
    expect(sentIn(found)).toBe(0);
  });

  it.each([-365 * 24, -1, 0, 1, 365 * 24])(
    'ends the order after the same time if the request was sent under a clock that was %i hours ahead',
    async (hours) => {
      const first = await ordering({ now: NOW + hours * 60 * MINUTE, answers: { named: lost } });
      const shows = { answers: { server: shop(OTHER_NAME), servers: [IDENTIFIER] } };
      let found = await next(first, NOW, shows, 'other');
      for (let ms = MINUTE; ms < 12 * TIMING.absenceMs; ms += MINUTE) found = await next(found, NOW + ms, shows);
      expect(recordIn(found)).toMatchObject({ identifier: IDENTIFIER });
      const ended = await next(found, TOO_LATE, shows);
      expect(shownBy(ended)).toMatchObject({ reason: 'IdentifierTaken' });
      expect(recordIn(ended)).not.toHaveProperty('identifier');
    },
  );

  it('is asked about if nothing tells whose it is, and never counts as missing', async () => {
    const found = await foundAfterLoss(undefined, 'same', soon);
    expect(shownBy(found)).toMatchObject({ reason: 'IdentityUnproven' });
    const gone = await next(found, soon + 20 * MINUTE, {
      answers: { server: DENIED, servers: [], named: accepted, task: creating },
    });
    expect(recordIn(gone)).not.toHaveProperty('missingAt');
    expect(sentIn(gone)).toBe(1);
  });

  it('is the one that you accept', async () => {
    const found = await foundAfterLoss(undefined, 'same', soon);
    const object = found.object as VirtualServer;
    const subject = object.status?.conditions?.find(({ reason }) => reason === 'IdentityUnproven')?.subject ?? '';
    object.metadata.annotations = { ...object.metadata.annotations, [ACCEPT_SERVER_ANNOTATION]: subject };
    const held = await next(found, soon + MINUTE, { answers: { server: shop(undefined), servers: [IDENTIFIER] } });
    expect(shownBy(held).reason).toBe('Available');
  });

  it('does not belong to an object whose repeat was answered 409, unless its name tells', async () => {
    const first = await ordering({ answers: { named: lost } });
    const again = await next(first, soon, { answers: { server: DENIED, servers: [], named: inUse } });
    const answers = (name: string | undefined) => ({ answers: { server: shop(name), servers: [IDENTIFIER] } });
    expect(shownBy(await next(again, soon + MINUTE, answers(undefined))).reason).toBe('IdentityUnproven');
    expect(shownBy(await next(again, soon + MINUTE, answers(OWN_NAME))).reason).toBe('Available');
  });
});

describe('a deletion after a lost answer', () => {
  const answers = (name: string | undefined): Given => ({
    answers: { server: shop(name), servers: [IDENTIFIER], removed: 'removed' },
  });
  const later = NOW + TIMING.takeoverMs + MINUTE;

  it('cancels the server that belongs to the object by its name', async () => {
    const first = await ordering({ answers: { named: lost } });
    expect((await next(deleted(first), later, answers(OWN_NAME))).calls).toContain('delete');
  });

  it('releases the object, and leaves the server of another object alone', async () => {
    const first = await ordering({ answers: { named: lost } });
    const kept = await next(deleted(first), later, answers(OTHER_NAME));
    expect(kept.calls).not.toContain('delete');
    expect(shownBy(kept).reason).toBe('IdentifierTaken');
    const gone = await next(kept, TOO_LATE, answers(OTHER_NAME));
    expect(gone.calls).not.toContain('delete');
    expect(gone.object).toBeUndefined();
  });

  it('releases an object with Retain in the same way', async () => {
    const first = await ordering(
      { answers: { named: lost } },
      web({ spec: { identifier: IDENTIFIER, deletionPolicy: 'Retain' } }),
    );
    const gone = await next(deleted(first), TOO_LATE, answers(OTHER_NAME));
    expect(gone.object).toBeUndefined();
  });

  it('sends no DELETE for a server that is not shown, because it may be that of another object', async () => {
    const first = await ordering({ answers: { named: lost } });
    const unseen = { answers: { server: DENIED, servers: [], removed: 'removed' } };
    expect((await next(deleted(first), later, unseen)).calls).not.toContain('delete');
  });

  it('asks about a server of which nothing tells whose it is', async () => {
    const first = await ordering({ answers: { named: lost } });
    const kept = await next(deleted(first), later, answers(undefined));
    expect(kept.calls).not.toContain('delete');
    expect(shownBy(kept).reason).toBe('IdentityUnproven');
  });
});

it('sends its mark after a name that you chose', async () => {
  const { requests } = await ordering({}, web({ spec: { identifier: IDENTIFIER, serverName: 'Shop' } }));
  expect(requests).toEqual([expect.objectContaining({ name: `Shop (${UID.slice(0, 8)})` })]);
});

describe('an order that failed', () => {
  it('does not take the server over that another object has under its identifier since', async () => {
    const first = await ordering();
    const failing = { task: new ResponseError(500, 'no room', { said: 'no room' }), servers: [], server: DENIED };
    let visited = await next(first, NOW + MINUTE, { answers: failing });
    for (let pause = 5; pause < 240 && recordIn(visited)?.failed === undefined; pause += 1)
      visited = await next(visited, NOW + pause * 20_000, { listsCreating: true, answers: failing });
    expect(recordIn(visited)?.failed).toMatchObject([{ identifier: IDENTIFIER, chosen: true }]);
    const answers = { server: shop(OTHER_NAME), servers: [IDENTIFIER] };
    const taken = await next(visited, NOW + 5 * 60 * MINUTE, { answers });
    expect(shownBy(taken).reason).toBe('IdentifierTaken');
    expect(recordIn(taken)).not.toHaveProperty('attempt');
  });
});

it('refuses an identifier where orders go without one, and names the field', async () => {
  const visited = await visit(chosen(), { ordersNamed: false });
  expect(visited.requests).toEqual([]);
  expect(shownBy(visited)).toMatchObject({ reason: 'InvalidSpec' });
  expect(shownBy(visited).message).toContain('spec.identifier');
});

it('is not ordered again for a word about a server that was never there', async () => {
  const first = await ordering({ answers: { named: lost } });
  const object = first.object as VirtualServer;
  object.metadata.annotations = { ...object.metadata.annotations, [SERVER_GONE_ANNOTATION]: IDENTIFIER };
  const visited = await next(first, NOW + TIMING.takeoverMs + MINUTE, {
    answers: { server: shop(OTHER_NAME), servers: [IDENTIFIER] },
  });
  expect(sentIn(visited)).toBe(0);
});

it('keeps its server although you said that the server of an earlier order under the identifier is gone', async () => {
  const object = chosen();
  object.metadata.annotations = { [SERVER_GONE_ANNOTATION]: IDENTIFIER };
  const first = await ordering({ answers: { named: lost } }, object);
  const shown = { answers: { server: shop(undefined), servers: [IDENTIFIER] } };
  const found = await next(first, NOW + TIMING.takeoverMs + MINUTE, shown);
  expect(shownBy(found).reason).toBe('IdentityUnproven');
  expect(recordIn(found)).toMatchObject({ identifier: IDENTIFIER, goneRefuted: true });
  // Removed and set again, it is about this order.
  const without = { ...found.object, metadata: { ...found.object?.metadata, annotations: recordAlone(found) } };
  const removed = await next(
    { ...found, object: without as VirtualServer },
    NOW + TIMING.takeoverMs + 2 * MINUTE,
    shown,
  );
  const again = removed.object as VirtualServer;
  again.metadata.annotations = { ...again.metadata.annotations, [SERVER_GONE_ANNOTATION]: IDENTIFIER };
  const said = await next(removed, NOW + TIMING.takeoverMs + 3 * MINUTE, shown);
  expect(recordIn(said)).not.toHaveProperty('identifier');
});

const recordAlone = ({ object }: Visited): Record<string, string> => ({
  [RECORD_ANNOTATION]: object?.metadata.annotations?.[RECORD_ANNOTATION] ?? '',
});
