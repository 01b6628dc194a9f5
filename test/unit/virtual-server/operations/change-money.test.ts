/** What a change in place counts in the price limit, until it is made or given up. */
import { describe, expect, it } from 'vitest';
import { withNotedRequests } from '../../../../src/api/change-requests.ts';
import type { RecordedChange, ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { modelOf, placeOf, type Place } from '../../../../src/virtual-server/decision/price.ts';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';
import { KNOWN, NOW, SERVER, TASKED, TIMING, webWith } from '../../../fixtures/decision.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const MINUTE = 60_000;
/** When the next resync shows that nothing more comes of a request (minutes). */
const OPEN = 31 + (2 * TIMING.resyncMs) / MINUTE;
const TIME = '2026-01-01T23:50:00Z';
const DEVICES = { ...SERVER, cpuMode: 'performance', tablet: true, price: 1000 } satisfies Server;
const OFF = { ...DEVICES, status: 'shut down' };
const PRICED = { ...KNOWN, price: { identifier: 'srv1', amount: 1000, product: 'VPSX4', diskSize: 10240 } } as const;

const wanting = (spec: Partial<VirtualServerSpec>, own: ServerRecord = PRICED): VirtualServer =>
  webWith(own, { status: { serverStatus: 'running' }, spec: { changePolicy: 'Online', ...spec } });

/** With a record of an earlier version, which noted with the change what it may cost. */
const changing = (change: Partial<RecordedChange>, spec: Partial<VirtualServerSpec>): VirtualServer =>
  wanting(spec, { ...PRICED, change: { identifier: 'srv1', change: '{"product":"VPSX8"}', since: TIME, ...change } });

const visited = (object: VirtualServer, given: Given = {}): Promise<Visited> =>
  visit(object, { ...given, answers: { server: DEVICES, changed: 'accepted', power: 'accepted', ...given.answers } });

function shown({ object }: Visited): VirtualServer {
  if (object === undefined) throw new Error('the object is gone');
  return object;
}

const after = (minutes: number, before: Visited, given: Given = {}): Promise<Visited> =>
  visited(shown(before), { memo: before.memo, now: NOW + minutes * MINUTE, ...given });

const placeIn = (next: Visited): Place => placeOf(shown(next), knownRecord(shown(next)));
const noteIn = (next: Visited): RecordedChange | undefined => knownRecord(shown(next))?.change;
const conditionIn = (next: Visited) => shown(next).status?.conditions?.find(({ type }) => type === 'ChangePending');
const pendingIn = (next: Visited): string | undefined => conditionIn(next)?.reason;
const messageIn = (next: Visited): string | undefined => conditionIn(next)?.message;

/** The limits of a process that knows this server. */
function quotaWith(next: Visited, usual: number): ServerQuota {
  const quota = new ServerQuota(0, { usual, namespaces: {} });
  quota.set('default', 'uid-of-web', placeIn(next));
  return quota;
}

it('a change that is given up stops no order, although it had no known price', async () => {
  const given: Given = { maxPrice: 50_000, taken: 0, price: 1000 };
  let next = await visited(wanting({ product: 'VPSX16' }), given);
  expect(placeIn(next).price).toBeUndefined();
  for (let minutes = 1; minutes < 50; minutes += 1) next = await after(minutes, next, given);
  expect(pendingIn(next)).toBe('ChangeRefused');
  const place = quotaWith(next, 50_000).reserve('default', 'uid-of-next', modelOf(wanting({}).spec));
  expect(place).not.toHaveProperty('full');
});

it.each<[string, Partial<VirtualServerSpec>]>([
  ['was refused', {}],
  ['the policy forbids by now', { changePolicy: 'Never' }],
])('a change that %s counts while it may have been made, and then no longer', async (_what, spec) => {
  const note = { sentAt: TIME, refused: 'the provider accepted the change, but does not show it', price: 5000 };
  const first = await visited(changing(note, { product: 'VPSX8', ...spec }));
  expect(placeIn(first).price).toBe(5000);
  const later = await after(OPEN, first);
  expect(placeIn(later).price).toBe(1000);
  expect(pendingIn(later)).toBe('ChangeRefused');
});

it('a change that replaces an earlier one counts for the earlier one only while that may be made', async () => {
  const first = await visited(changing({ sentAt: TIME, isUnpriced: true }, { advanced: { tablet: false } }));
  expect([pendingIn(first), placeIn(first).price]).toEqual(['StopRequired', undefined]);
  const later = await after(OPEN, first);
  expect([pendingIn(later), placeIn(later).price]).toEqual(['StopRequired', 1000]);
});

it.each([502, 409])(
  'a change that the provider may have made without an answer counts after it was given up after a %d',
  async (status) => {
    const note = { change: '{"product":"VPSX8","tablet":false}', phase: 'stop', stoppedAt: TIME, price: 5000 } as const;
    const spec = { changePolicy: 'AllowStop', product: 'VPSX8', advanced: { tablet: false } } as const;
    const answers = { server: OFF, changed: new ResponseError(502, 'bad gateway') };
    const earlier = { ...answers, changed: new ResponseError(status, 'no') };
    let next = await visited(changing(note, spec), { answers: earlier });
    for (const minutes of [10, 20]) next = await after(minutes, next, { answers: earlier });
    next = await after(30, next, { answers });
    expect(next.switches).toEqual(['power-on']);
    expect(noteIn(next)).toMatchObject({ phase: 'start', refused: expect.anything() as string });
    expect(placeIn(next).price).toBe(5000);
    const running = await after(40, next);
    expect(placeIn(running).price).toBe(5000);
    expect(placeIn(await after(40 + OPEN, running)).price).toBe(1000);
  },
);

describe('a change that may have been made counts with its price until an answer or reads say otherwise:', () => {
  /** Such a server costs 1500. */
  const money: Given = { maxPrice: 6000, taken: 1, price: 1500 };
  const edited = (
    minutes: number,
    before: Visited,
    spec: Partial<VirtualServerSpec>,
    given: Given,
  ): Promise<Visited> => {
    const { metadata, ...object } = shown(before);
    const generation = metadata.generation + 1;
    const more = { ...object, metadata: { ...metadata, generation }, spec: { ...object.spec, ...spec } };
    return visited(more, { memo: before.memo, now: NOW + minutes * MINUTE, ...given });
  };

  it.each([new ProviderError('PROVIDER_TIMEOUT', 'no answer'), new ResponseError(502, 'bad gateway')])(
    'no answer (%s), also for the next process',
    async (changed) => {
      const given = { ...money, answers: { changed } };
      let next = await visited(wanting({ product: 'VPSX8' }), given);
      expect([next.changes, placeIn(next).price]).toEqual([[{ product: 'VPSX8' }], 1500]);
      for (let minutes = 10; minutes <= 90; minutes += 10) next = await after(minutes, next, given);
      expect(placeIn(next).price).toBe(1500);
      const unsent = await edited(91, next, { changePolicy: 'Never' }, money);
      expect(placeIn(unsent).price).toBe(1500);
      // A new process knows of it by the record alone.
      const started = await visited(shown(unsent), { now: NOW + 92 * MINUTE });
      expect(placeIn(started).price).toBe(1500);
      expect(placeIn(await after(92 + OPEN, started)).price).toBe(1000);
    },
  );

  it('a process that dies at the request', async () => {
    const next = await visited(wanting({ product: 'VPSX8' }), { ...money, dies: 'change' });
    expect([next.changes, placeIn(next).price]).toEqual([[{ product: 'VPSX8' }], 1500]);
    const unknown = await visited(wanting({ product: 'VPSX8' }), { dies: 'change' });
    const place = quotaWith(unknown, 50_000).reserve('default', 'uid-of-next', modelOf(wanting({}).spec));
    expect(place).toMatchObject({ full: 'unread', names: ['web'] });
  });

  it('nothing is left of it once a read shows that it was made', async () => {
    const lost = await visited(wanting({ product: 'VPSX8' }), { ...money, dies: 'change' });
    const server = { ...DEVICES, product: 'VPSX8', price: 1400 };
    const next = await after(1, lost, { ...money, answers: { server } });
    expect([noteIn(next), placeIn(next).price]).toEqual([undefined, 1400]);
  });

  it.each<[string, NonNullable<Given['answers']>['changed'], object]>([
    ['the provider is busy', new ResponseError(409, 'busy'), {}],
    ['the request was not sent', new ProviderError('PROVIDER_WITHHELD', 'another one leads'), {}],
    ['the provider refuses', new ResponseError(400, 'no'), { refused: 'No' }],
    ['the provider has no such call', 'notOffered', { isUnavailable: true }],
  ])('nothing is left of it if %s', async (_what, changed, note) => {
    const next = await visited(wanting({ product: 'VPSX8' }), { ...money, answers: { changed } });
    expect(next.changes).toHaveLength(1);
    expect(placeIn(next).price).toBe(1000);
    if (Object.keys(note).length > 0) expect(noteIn(next)).toMatchObject(note);
  });

  it('an earlier request that has no answer, after a later one was refused', async () => {
    const lost = await visited(wanting({ product: 'VPSX8' }), {
      ...money,
      answers: { changed: new ResponseError(502, 'x') },
    });
    const refused = await after(10, lost, { ...money, answers: { changed: new ResponseError(400, 'no') } });
    expect([pendingIn(refused), placeIn(refused).price]).toEqual(['ChangeRefused', 1500]);
    expect(placeIn(await after(10 + OPEN, refused, money)).price).toBe(1000);
  });

  it('no answer while the server is off, and then the policy forbids it', async () => {
    const note = { change: '{"product":"VPSX8","tablet":false}', phase: 'stop', stoppedAt: TIME, price: 5000 } as const;
    const spec = { changePolicy: 'AllowStop', product: 'VPSX8', advanced: { tablet: false } } as const;
    const changed = new ResponseError(502, 'bad gateway');
    const first = await visited(changing(note, spec), { answers: { server: OFF, changed } });
    const next = await edited(1, first, { changePolicy: 'Never' }, { answers: { server: OFF } });
    expect([next.switches, placeIn(next).price]).toEqual([['power-on'], 5000]);
    const running = await after(20, next);
    expect(placeIn(await after(20 + OPEN, running)).price).toBe(1000);
  });

  it('spec takes back what was accepted, and the object is as spec says', async () => {
    const first = await visited(wanting({ product: 'VPSX8' }), money);
    const back = await edited(1, first, { product: 'VPSX4' }, money);
    expect([pendingIn(back), back.changes, placeIn(back).price]).toEqual([undefined, [], 1500]);
    // A new process knows of it by the record alone, and the change may still come.
    const started = await visited(shown(back), { ...money, now: NOW + 2 * MINUTE });
    expect(placeIn(started).price).toBe(1500);
    const over = await after(2 + OPEN, started, money);
    expect([noteIn(over), placeIn(over).price]).toEqual([undefined, 1000]);
  });

  it('spec takes it back once the server shows it', async () => {
    const first = await visited(wanting({ product: 'VPSX8' }), money);
    const server = { ...DEVICES, product: 'VPSX8', price: 1400 };
    const back = await edited(1, first, { product: 'VPSX4' }, { ...money, answers: { server } });
    expect([back.changes, placeIn(back).price]).toEqual([[{ product: 'VPSX4' }], 1500]);
    const done = await after(4, back, money);
    expect([noteIn(done), placeIn(done).price]).toEqual([undefined, 1000]);
  });

  it.each<[string, Given['answers']]>([
    ['was accepted', {}],
    ['has no answer', { changed: new ResponseError(502, 'bad gateway') }],
  ])('a dear one that %s, although a later change of the name was accepted and is shown', async (_what, answers) => {
    const first = await visited(wanting({ product: 'VPSX8' }), { ...money, answers: { ...answers } });
    const back = { product: 'VPSX4', serverName: 'new' };
    const second = await edited(1, first, back, money);
    expect([second.changes, placeIn(second).price]).toEqual([[{ name: 'new' }], 1500]);
    const server = { ...DEVICES, name: 'new' };
    const third = await after(2, second, { ...money, answers: { server } });
    expect(placeIn(third).price).toBe(1500);
    const late = { ...money, answers: { server } };
    expect(placeIn(await after(2 + OPEN, third, late)).price).toBe(1000);
  });

  it('no answer at all for hours, in whose pauses it ends', async () => {
    const given = { ...money, answers: { changed: new ResponseError(502, 'bad gateway') } };
    let next = await visited(wanting({ product: 'VPSX8' }), given);
    const prices = new Set<unknown>();
    const messages = new Set<string>();
    let requests = 1;
    for (let minutes = 1; minutes < 300; minutes += 1) {
      next = await after(minutes, next, given);
      requests += next.changes.length;
      if (minutes > 60) prices.add(placeIn(next).price);
      messages.add(String(messageIn(next)));
    }
    expect([...prices].sort()).toEqual([1000, 1500]);
    expect(requests).toBeGreaterThan(9);
    const paused = 'provider. The operator sends the change again in 60 minutes. The operator changes server srv1';
    expect([...messages].filter((message) => message.includes(paused))).toHaveLength(1);
  });

  it('an unknown price, although spec asks again for a model whose price is known', async () => {
    const first = await visited(wanting({ product: 'VPSX16' }), { maxPrice: 50_000, taken: 0, price: 1000 });
    const back = await edited(1, first, { product: 'VPSX4' }, { maxPrice: 50_000, taken: 0, price: 1000 });
    const place = quotaWith(back, 50_000).reserve('default', 'uid-of-next', modelOf(wanting({}).spec));
    expect(place).toMatchObject({ full: 'unread', names: ['web'] });
  });

  it('a product that is shown, and whose size comes with the next restart', async () => {
    const first = await visited(wanting({ product: 'VPSX8' }), money);
    const server = { ...DEVICES, product: 'VPSX8', specs: { ...DEVICES.specs, cores: 1 }, resize: { cores: 2 } };
    const next = await after(1, first, { ...money, answers: { server } });
    expect([pendingIn(next), placeIn(next).price]).toEqual(['RestartPending', 1500]);
  });

  it('no answer, and the server ignores a later shutdown for another change', async () => {
    const changed = new ResponseError(502, 'bad gateway');
    let next = await visited(wanting({ product: 'VPSX8' }), { ...money, answers: { changed } });
    const more = { product: 'VPSX4', changePolicy: 'AllowStop', advanced: { tablet: false } } as const;
    next = await edited(1, next, more, money);
    for (let minute = 2; minute < 120; minute += 2) next = await after(minute, next, money);
    expect([pendingIn(next), next.changes, placeIn(next).price]).toEqual(['StopRequired', [], 1000]);
  });

  it('nothing, if spec is edited in the moment before the request', async () => {
    let [isNext, isDone] = [false, false];
    const beforeWrite = (stored: VirtualServer): VirtualServer => {
      if (!isNext || isDone) return stored;
      isDone = true;
      const { metadata, spec } = stored;
      const generation = metadata.generation + 1;
      return { ...stored, metadata: { ...metadata, generation }, spec: { ...spec, product: 'VPSX4' } };
    };
    const onCall = (call: string): void => {
      isNext ||= call === 'live';
    };
    const next = await visited(wanting({ product: 'VPSX8' }), { ...money, beforeWrite, onCall, fails: true });
    expect([isDone, next.changes]).toEqual([true, []]);
    expect(placeIn(await after(1, next, money)).price).toBe(1000);
  });

  it('a dearer one that was sent before, while a cheaper one has replaced it', async () => {
    const dear = { sentAt: TIME, price: 3000 };
    const next = await visited(changing({ ...dear, change: '{"product":"VPSX16"}' }, { product: 'VPSX8' }), money);
    expect([next.changes, placeIn(next).price]).toEqual([[{ product: 'VPSX8' }], 3000]);
    const unpriced = changing({ sentAt: TIME, isUnpriced: true, change: '{"product":"VPSX16"}' }, { product: 'VPSX8' });
    expect(placeIn(await visited(unpriced, { price: 1500, taken: 1 })).price).toBeUndefined();
  });

  it.each([
    { what: 'was sent', note: { sentAt: TIME } },
    { what: 'the server is shut down for', note: { phase: 'stop' as const } },
  ])('one of unknown price that $what, once spec asks for a product of which the price is known', ({ note }) => {
    const before = changing({ isUnpriced: true, change: '{"product":"VPSX16"}', ...note }, { product: 'VPSX16' });
    const edited = { ...before, spec: { ...before.spec, product: 'VPSX8' } };
    const otherDisk = { ...before, spec: { ...before.spec, product: 'vpsx16', diskSize: 20480 } };
    const learned = [modelOf(before.spec), modelOf(edited.spec), modelOf(otherDisk.spec)];
    const isFull = (object: VirtualServer): boolean => {
      const quota = new ServerQuota(0, { usual: 50_000, namespaces: {} });
      for (const [index, model] of learned.entries()) {
        const place = { ...model, price: 2000, teaches: { ...model, price: 2000 } };
        quota.set('elsewhere', `uid-${index}`, place);
      }
      quota.set('default', 'uid-of-web', placeOf(object, knownRecord(object)));
      return 'full' in quota.reserve('default', 'uid-of-next', modelOf(before.spec));
    };
    expect([before, edited, otherDisk].map(isFull)).toEqual([false, true, false]);
  });

  it.each([
    { what: 'the dearer of both', own: { price: 9000 }, noted: { price: 9000 } },
    { what: 'the one of the earlier version', own: { price: 1500 }, noted: { price: 2000 } },
    { what: 'an unknown price', own: { isUnpriced: true as const }, noted: { isUnpriced: true } },
  ])('a request that an earlier version sent after one of this version: $what', ({ own, noted }) => {
    const identifier = 'srv1';
    const change = { identifier, change: '{"product":"VPSX8"}', since: TIME, sentAt: TIME, price: 2000 };
    const changeRequests = { identifier, at: TIME, change: '{"product":"VPSX16"}', ...own };
    const { changeRequests: both } = withNotedRequests({ ...PRICED, change, changeRequests });
    expect(both).toEqual({ identifier, at: TIME, ...noted });
  });
});

it('a change that the provider refuses while the server is off no longer counts', async () => {
  const note = { change: '{"product":"VPSX8","tablet":false}', phase: 'stop', stoppedAt: TIME, price: 5000 } as const;
  const spec = { changePolicy: 'AllowStop', product: 'VPSX8', advanced: { tablet: false } } as const;
  const next = await visited(changing(note, spec), { answers: { server: OFF, changed: new ResponseError(400, 'no') } });
  expect(next.switches).toEqual(['power-on']);
  expect(placeIn(next).price).toBe(1000);
});

it('room that is found is used although the object is edited while the shutdown is noted', async () => {
  const spec = { changePolicy: 'AllowStop', advanced: { tablet: false }, product: 'VPSX8' } as const;
  const free = { maxPrice: 5000, taken: 1, price: 1400 };
  const first = await visited(wanting(spec, KNOWN), { ...free, taken: 4 });
  expect(pendingIn(first)).toBe('ChangeLimited');
  let isEdited = false;
  const beforeWrite = (stored: VirtualServer): VirtualServer => {
    if (isEdited) return stored;
    isEdited = true;
    const annotations = { ...stored.metadata.annotations, 'vps-operator.dev/reconcile-at': 'now' };
    return { ...stored, metadata: { ...stored.metadata, annotations } };
  };
  const edited = await after(5, first, { ...free, fails: true, beforeWrite });
  const next = await after(6, edited, free);
  expect(noteIn(next)).toMatchObject({ phase: 'stop' });
  expect(noteIn(next)).not.toHaveProperty('refused');
  expect([...edited.switches, ...next.switches]).toEqual(['shutdown']);
});

it('a server teaches the price of its extras at its first read, although the provider does not show them', async () => {
  const object = wanting({ advanced: { extraCores: 2 } }, KNOWN);
  const server = { ...DEVICES, price: 3000, specs: { diskSize: 10240 } };
  const next = await visited(object, { answers: { server } });
  const another = quotaWith(next, 5000).reserve('default', 'uid-of-next', modelOf(object.spec));
  expect(another).toMatchObject({ full: 'price', price: 3000 });
  // It is not changed to other extras, which cost more.
  const more = { ...shown(next), spec: { ...object.spec, advanced: { extraCores: 4 } } };
  const edited = await visited(more, { memo: next.memo, now: NOW + MINUTE, answers: { server } });
  expect(edited.changes).toEqual([]);
  const quota = quotaWith(edited, 50_000);
  expect(quota.expectedPrice(modelOf(object.spec))).toBe(3000);
  expect(quota.expectedPrice(modelOf(more.spec))).toBeUndefined();
});

it('a server teaches no price of extras that were asked for after its first read, and that the provider does not show', async () => {
  const server = { ...DEVICES, specs: { diskSize: 10240 } };
  const first = await visited(wanting({}, KNOWN), { answers: { server } });
  const { metadata, spec, ...rest } = shown(first);
  const edited = { ...metadata, generation: metadata.generation + 1 };
  const more = { ...rest, metadata: edited, spec: { ...spec, advanced: { extraCores: 2 } } };
  const next = await visited(more, { memo: first.memo, now: NOW + MINUTE, answers: { server } });
  expect(next.changes).toEqual([]);
  expect(quotaWith(next, 50_000).expectedPrice(modelOf(more.spec))).toBeUndefined();
});

it('an object that is released with Retain during a change of unknown price leaves the last price', async () => {
  const object = changing({ sentAt: TIME, isUnpriced: true }, { product: 'VPSX8', deletionPolicy: 'Retain' });
  const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } };
  const next = await visited(deleted, { maxPrice: 1500, taken: 0 });
  expect(next.object).toBeUndefined();
  const wanted = { ...modelOf(wanting({}).spec), product: 'VPSX2' };
  expect(next.quota.reserve('default', 'uid-of-next', wanted)).not.toHaveProperty('full');
  expect(next.quota.reserve('default', 'uid-of-more', { ...wanted, listed: 501 })).toMatchObject({ sum: 1000 });
});

it.each<[string, Given]>([
  ['ignores the shutdown', {}],
  ['cannot be shut down', { answers: { power: new ResponseError(504, 'no answer in time') } }],
])('a server that %s stops no order, although its change has no known price', async (_what, answers) => {
  const spec = { changePolicy: 'AllowStop', product: 'VPSX16', advanced: { tablet: false } } as const;
  const given: Given = { maxPrice: 50_000, taken: 0, ...answers };
  let last = await visited(wanting(spec), given);
  expect(placeIn(last).price).toBeUndefined();
  for (let minutes = 10; minutes < 240; minutes += 10) last = await after(minutes, last, given);
  expect(pendingIn(last)).toBe('StopRequired');
  const place = quotaWith(last, 50_000).reserve('default', 'uid-of-next', modelOf(wanting({}).spec));
  expect(place).not.toHaveProperty('full');
});

it('an order of a model of unknown price does not end a change whose server is off for it', async () => {
  const spec = { changePolicy: 'AllowStop', product: 'VPSX8', advanced: { tablet: false } } as const;
  const given: Given = { maxPrice: 50_000, taken: 1, price: 1500 };
  const first = await visited(wanting(spec), given);
  expect([first.switches, noteIn(first)?.price]).toEqual([['shutdown'], 1500]);
  const other = webWith({ ...TASKED, owner: 'uid-of-next' }, { spec: { product: 'VPSX16' } });
  const beside = { ...other, metadata: { ...other.metadata, name: 'next', uid: 'uid-of-next' } };
  const off = await after(5, first, { ...given, beside, answers: { server: OFF } });
  expect(off.changes).toEqual([{ product: 'VPSX8', tablet: false }]);
  expect(placeIn(off).price).toBe(1500);
});

describe('the policy Never and back sends a change again', () => {
  const edited = (minutes: number, before: Visited, changePolicy: 'Never' | 'Online'): Promise<Visited> => {
    const object = shown(before);
    const { generation } = object.metadata;
    const metadata = { ...object.metadata, generation: generation + 1 };
    const more = { ...object, metadata, spec: { ...object.spec, changePolicy } };
    return visited(more, { memo: before.memo, now: NOW + minutes * MINUTE });
  };

  it('that had no effect', async () => {
    let next = await visited(wanting({ product: 'VPSX8' }));
    for (let minutes = 1; minutes < 60; minutes += 1) next = await after(minutes, next);
    expect(pendingIn(next)).toBe('ChangeRefused');
    const never = await edited(61, next, 'Never');
    expect(messageIn(never)).toContain('spec.changePolicy is Never');
    const again = await edited(62, never, 'Online');
    expect([again.changes, pendingIn(again)]).toEqual([[{ product: 'VPSX8' }], 'Changing']);
  });

  it('that may have been made, once reads have shown that it was not', async () => {
    const never = { product: 'VPSX8', changePolicy: 'Never' } as const;
    const first = await visited(changing({ refused: 'bad gateway', price: 5000 }, never));
    expect(messageIn(first)).toContain('does not send this change again: bad gateway');
    const later = await after(OPEN, first);
    expect(messageIn(later)).toContain('spec.changePolicy is Never');
    const again = await edited(OPEN + 1, later, 'Online');
    expect(again.changes).toEqual([{ product: 'VPSX8' }]);
  });
});

it.each([
  ['this process', true],
  ['the next one', false],
])('a change that cannot be made stays pending for %s when the policy becomes Never', async (_who, isSame) => {
  const server = { ...DEVICES, specs: { diskSize: 20480 } };
  const first = await visited(wanting({ diskSize: 10240 }), { answers: { server } });
  expect(pendingIn(first)).toBe('ChangeRefused');
  const never = { ...shown(first), spec: { ...shown(first).spec, changePolicy: 'Never' as const } };
  const next = await visited(never, { ...(isSame && { memo: first.memo }), now: NOW + MINUTE, answers: { server } });
  expect([pendingIn(next), next.changes]).toEqual(['ChangeRefused', []]);
});
