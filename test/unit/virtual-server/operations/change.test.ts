/** When a server is changed in place, what is sent, and what each answer means. */
import { describe, expect, it } from 'vitest';
import { PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { RecordedChange, ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { timestamp } from '../../../../src/base/duration.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { KNOWN, NOW, SERVER, denials, memo, webWith, type Shape } from '../../../fixtures/decision.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const READY = { serverStatus: 'running' };
const TIME = '2026-01-01T23:50:00Z';
const DEVICES = { ...SERVER, cpuMode: 'performance', tablet: true } satisfies Server;
const OFF = { ...DEVICES, status: 'shut down' };
const REFUSED = new ResponseError(400, 'Changing the server failed: the provider answered 400: Out of stock');
const BROKEN = new ProviderError('PROVIDER_TIMEOUT', 'Changing the server failed: no answer');
const TABLET = { advanced: { tablet: false } };

const change = (more: Partial<RecordedChange> = {}): RecordedChange => ({
  identifier: 'srv1',
  change: '{"tablet":false}',
  since: TIME,
  ...more,
});

const wanting = (spec: Partial<VirtualServerSpec>, own: ServerRecord = KNOWN, more: Shape = {}): VirtualServer =>
  webWith(own, { status: READY, ...more, spec: { changePolicy: 'Online', ...spec } });
const stopping = (more: Partial<RecordedChange> = {}, spec: Partial<VirtualServerSpec> = TABLET): VirtualServer =>
  wanting(
    { changePolicy: 'AllowStop', ...spec },
    {
      ...KNOWN,
      change: change({ phase: 'stop', stoppedAt: TIME, ...more }),
    },
  );

const visited = (object: VirtualServer, given: Given = {}): Promise<Visited> =>
  visit(object, {
    ...given,
    answers: { server: DEVICES, changed: 'accepted', power: 'accepted', ...given.answers },
  });

const MINUTE = 60_000;

/** A process that has known the change for so long, and how far it is, `ago` minutes each. */
function knowing(object: VirtualServer, { since, at }: { since: number; at: number }, isAsked?: true): Given {
  const { change: known = change() } = knownRecord(object) ?? {};
  const { phase = '', stoppedAt = '', acceptedAt = '' } = known;
  const state = `${phase} ${stoppedAt} ${acceptedAt}`;
  const acceptedSince = acceptedAt === '' ? undefined : -since * MINUTE;
  const seen = { change: known.change, state, at: -at * MINUTE, acceptedSince };
  return { memo: memo({ change: { identifier: 'srv1', failures: 0, isAsked, seen } }) };
}

function later(minutes: number, { object, memo: before }: Visited, given: Given = {}): Promise<Visited> {
  if (object === undefined) throw new Error('the object is gone');
  return visited(object, { memo: before, now: NOW + minutes * MINUTE, ...given });
}

const noteIn = ({ object }: Visited): RecordedChange | undefined => object && knownRecord(object)?.change;
const pendingIn = ({ object }: Visited): string | undefined =>
  object?.status?.conditions?.find(({ type }) => type === 'ChangePending')?.reason;
const messageIn = ({ object }: Visited): string | undefined =>
  object?.status?.conditions?.find(({ type }) => type === 'ChangePending')?.message;

describe('what is sent', () => {
  it.each<[string, Partial<VirtualServerSpec>, object]>([
    ['product', { product: 'VPSX8' }, { product: 'VPSX8' }],
    ['a larger disk', { diskSize: 20480 }, { specs: { disk_size: 20480 } }],
    ['the name', { serverName: 'shop' }, { name: 'shop' }],
    ['a name that differs only in case', { serverName: 'Web' }, { name: 'Web' }],
    ['all that differs', { product: 'VPSX8', diskSize: 20480 }, { product: 'VPSX8', specs: { disk_size: 20480 } }],
  ])('is %s', async (_what, spec, body) => {
    const next = await visited(wanting(spec), { answers: { server: { ...SERVER, specs: { diskSize: 10240 } } } });
    expect(next.changes).toEqual([body]);
    expect(next.switches).toEqual([]);
    expect(noteIn(next)).toMatchObject({ acceptedAt: '2026-01-02T00:00:00Z' });
  });

  it.each<[string, VirtualServer, Partial<Server>]>([
    ['without the policy', wanting({ changePolicy: 'Never', product: 'VPSX8' }), {}],
    ['to a paused object', wanting({ product: 'VPSX8' }, KNOWN, { annotations: { [PAUSED_ANNOTATION]: 'true' } }), {}],
    [
      'to an object that is being deleted',
      wanting({ product: 'VPSX8', deletionProtection: true }, KNOWN, { deleting: true }),
      {},
    ],
    ['where the server is as spec says', wanting({}), {}],
    ['of a value that the provider does not show', wanting(TABLET), { tablet: undefined }],
    ['to a server that may be another one', wanting({ product: 'VPSX8' }), { macs: ['00:00:5e:00:53:ff'] }],
    ['to a server that shows no proof of who it is', wanting({ product: 'VPSX8' }), { macs: [], ipv6: [] }],
    ['that would make a disk smaller', wanting({ diskSize: 5120 }), { specs: { diskSize: 10240 } }],
    ['that needs the server off', wanting(TABLET), {}],
  ])('is nothing %s', async (_when, object, shown) => {
    const next = await visited(object, { answers: { server: { ...DEVICES, ...shown } } });
    expect(next.changes).toEqual([]);
    expect(next.switches).toEqual([]);
  });

  it('is nothing while the server is in doubt', async () => {
    const next = await visited(wanting({ product: 'VPSX8' }), {
      memo: memo({ denials: denials('server srv1') }),
      answers: { server: { ...DEVICES, macs: [], ipv6: [] } },
    });
    expect(next.changes).toEqual([]);
  });

  it.each<[string, Given]>([
    ['of a process that no longer leads', { leads: false }],
    ['long after the live reads', { waits: 60_000 }],
    [
      'to an object that changed its mind',
      { live: wanting({ changePolicy: 'Never', product: 'VPSX8' }, KNOWN, { generation: 2 } as Shape) },
    ],
    ['to an object that is gone', { live: null }],
  ])('is nothing %s', async (_when, given) => {
    expect((await visited(wanting({ product: 'VPSX8' }), given)).changes).toEqual([]);
  });
});

describe('a start after a change', () => {
  const stopped = stopping({ phase: 'start', refused: 'no' });

  it.each<[string, Partial<Server>, string[]]>([
    ['is asked for while the read proves less than before', { macs: [], ipv6: [] }, ['power-on']],
    ['is not asked for if the read shows another server', { macs: ['00:00:5e:00:53:ff'], ipv6: [] }, []],
  ])('%s', async (_what, shown, switches) => {
    const next = await visited(stopped, { answers: { server: [OFF, { ...OFF, ...shown }, OFF] } });
    expect(next.switches).toEqual(switches);
  });
});

describe('the answer to a change', () => {
  const asked = wanting({ product: 'VPSX8' });

  const sent = wanting(
    { product: 'VPSX8' },
    { ...KNOWN, change: change({ change: '{"product":"VPSX8"}', acceptedAt: TIME }) },
  );

  it('is not repeated before reads should show it', async () => {
    for (const given of [{}, knowing(sent, { since: 1, at: 1 })]) {
      const next = await visited(sent, given);
      expect(next.changes).toEqual([]);
      expect(pendingIn(next)).toBe('Changing');
    }
    const later = await visited(sent, knowing(sent, { since: 2, at: 2 }));
    expect(later.changes).toEqual([{ product: 'VPSX8' }]);
    expect((await visited(sent, knowing(sent, { since: 6, at: 2 }))).changes).toEqual([]);
  });

  it('is given up after half an hour without effect', async () => {
    const next = await visited(sent, knowing(sent, { since: 31, at: 3 }));
    expect(next.changes).toEqual([]);
    expect(pendingIn(next)).toBe('ChangeRefused');
  });

  it.each(['2026-01-02T01:00:00Z', '2026-01-01T23:00:00Z'])(
    'is repeated and given up in time by a process that is told the time %s of another clock',
    async (time) => {
      const own = { ...KNOWN, change: change({ change: '{"product":"VPSX8"}', since: time, acceptedAt: time }) };
      const object = wanting({ product: 'VPSX8' }, own);
      expect((await visited(object)).changes).toEqual([]);
      expect((await visited(object, knowing(object, { since: 2, at: 2 }))).changes).toHaveLength(1);
      expect(pendingIn(await visited(object, knowing(object, { since: 31, at: 3 })))).toBe('ChangeRefused');
    },
  );

  it.each([
    ['refuses it', REFUSED, 'ChangeRefused', 'Out of stock'],
    ['has no such call', 'notOffered' as const, 'ChangeUnavailable', 'no call to change a server'],
  ])('is final if the provider %s', async (_what, changed, reason, says) => {
    const next = await visited(asked, { answers: { changed } });
    expect(pendingIn(next)).toBe(reason);
    expect(messageIn(next)).toContain(says);
    const own = next.object && knownRecord(next.object);
    const again = await visited(wanting({ product: 'VPSX8' }, own));
    expect(again.changes).toEqual([]);
    expect((await visited(wanting({ product: 'VPSX16' }, own as ServerRecord))).changes).toHaveLength(1);
  });

  it('leads to another try if it is lost', async () => {
    const next = await visited(asked, { answers: { changed: BROKEN } });
    expect(next.changes).toHaveLength(1);
    expect(noteIn(next)).not.toHaveProperty('acceptedAt');
    expect(pendingIn(next)).toBe('Changing');
    expect(next.requeueAfterMs).toBeLessThan(60_000);
    const ready = next.object?.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready).toMatchObject({ status: 'True', reason: 'Available' });
  });

  it('is no matter of the price limit if the server gets no dearer', async () => {
    const own = { ...KNOWN, price: { identifier: 'srv1', amount: 2000, product: 'VPSX8', diskSize: 10240 } };
    const limit = { maxPrice: 2000, taken: 1, price: 1000 };
    const shown = { ...DEVICES, product: 'VPSX8', price: 2000 };
    const cheaper = await visited(wanting({}, own), { ...limit, answers: { server: shown } });
    expect(cheaper.changes).toEqual([{ product: 'VPSX4' }]);
  });

  it('is given up if the price limit leaves no room once the server is off: the server runs again', async () => {
    const own = stopping({}, { ...TABLET, product: 'VPSX8' });
    const next = await visited(own, { maxPrice: 5000, taken: 4, price: 1400, answers: { server: OFF } });
    expect(next.changes).toEqual([]);
    expect(next.switches).toEqual(['power-on']);
    expect(noteIn(next)).toMatchObject({ phase: 'start', refused: expect.stringContaining('price limit') as string });
  });

  it('does not come while the price limit leaves no room', async () => {
    const next = await visited(asked, { maxPrice: 5000, taken: 4, price: 1400 });
    expect(next.changes).toEqual([]);
    expect(pendingIn(next)).toBe('ChangeLimited');
    expect(messageIn(next)).toContain('--max-price-per-namespace');
  });
});

describe('a change that needs the server off', () => {
  it('is noted before the shutdown, and sent once the server is off', async () => {
    const asked = wanting({ changePolicy: 'AllowStop', ...TABLET });
    const next = await visited(asked, { dies: 'power' });
    expect(noteIn(next)).toMatchObject({ phase: 'stop', change: '{"tablet":false}' });
    expect(next.changes).toEqual([]);
    const all = await visited(asked, {
      answers: {
        server: [
          DEVICES,
          DEVICES,
          OFF,
          OFF,
          { ...OFF, tablet: false },
          { ...OFF, tablet: false },
          { ...DEVICES, tablet: false },
        ],
      },
    });
    expect(all.switches).toEqual(['shutdown', 'power-on']);
    expect(all.changes).toEqual([{ tablet: false }]);
    expect(noteIn(all)).toBeUndefined();
    expect(pendingIn(all)).toBeUndefined();
  });

  it('needs no stop if the server is off already', async () => {
    const next = await visited(wanting({ changePolicy: 'AllowStop', ...TABLET }), {
      answers: { server: [OFF, OFF, { ...OFF, tablet: false }] },
    });
    expect(next.changes).toEqual([{ tablet: false }]);
    expect(next.switches).toEqual([]);
  });

  it.each<[string, VirtualServer]>([
    ['it is refused', stopping({ refused: 'Out of stock' })],
    ['you set the field back', stopping({}, { advanced: { tablet: true } })],
    ['you set the policy back', stopping({}, { changePolicy: 'Online', ...TABLET })],
    ['it was made before a crash', stopping({ acceptedAt: TIME }, { advanced: { tablet: true } })],
  ])('starts the server again if %s', async (_when, object) => {
    const next = await visited(object, { answers: { server: OFF } });
    expect(next.switches).toEqual(['power-on']);
    expect(noteIn(next)).toMatchObject({ phase: 'start', wasOff: true });
    expect(next.changes).toEqual([]);
  });

  it('starts the server again if the provider refuses the change, and does not stop it again', async () => {
    const next = await visited(stopping(), { answers: { server: OFF, changed: REFUSED } });
    expect(next.switches).toEqual(['power-on']);
    expect(noteIn(next)).toMatchObject({ phase: 'start', refused: REFUSED.message });
    const own = next.object && knownRecord(next.object);
    const after = await visited(wanting({ changePolicy: 'AllowStop', ...TABLET }, own), {
      memo: next.memo,
      now: NOW + 16 * MINUTE,
    });
    expect(after.switches).toEqual([]);
    expect(pendingIn(after)).toBe('ChangeRefused');
    expect(noteIn(after)).not.toHaveProperty('phase');
  });

  it('is not repeated if it had no effect', async () => {
    const own = { ...KNOWN, change: change({ phase: 'start', stoppedAt: TIME, acceptedAt: TIME, wasOff: true }) };
    const object = wanting({ changePolicy: 'AllowStop', ...TABLET }, own);
    const next = await visited(object, knowing(object, { since: 1, at: 1 }));
    expect(next.switches).toEqual([]);
    expect(pendingIn(next)).toBe('ChangeRefused');
  });

  it.each([
    ['no address', { macs: [], ipv6: [] }],
    ['no hardware address', { macs: [] }],
  ])('starts a server again that shows %s while it is off, and sends it no change', async (_what, addresses) => {
    let next = await visited(stopping());
    const answers = { server: { ...OFF, ...addresses } };
    const sent: string[] = [];
    for (let minute = 1; minute < 30; minute += 1) {
      next = await later(minute, next, { answers });
      sent.push(...next.switches, ...next.changes.map(() => 'change'));
    }
    expect(new Set(sent)).toEqual(new Set(['power-on']));
    const back = await later(40, next);
    expect([back.changes, back.switches, pendingIn(back)]).toEqual([[], [], 'ChangeRefused']);
  });

  it('stays off if another server answers for it', async () => {
    let next = await visited(stopping());
    const answers = { server: { ...OFF, macs: ['52:54:00:99:99:99'] } };
    for (let minute = 1; minute < 30; minute += 1) {
      next = await later(minute, next, { answers });
      expect([next.switches, next.changes]).toEqual([[], []]);
    }
  });

  it.each([0, 60, 72 * 60])(
    'is sent once if the process that shut the server down had a clock %d minutes ahead, and the server starts again',
    async (ahead) => {
      const at = timestamp(NOW + (ahead - 1) * MINUTE);
      let next = await visited(stopping({ since: at, stoppedAt: at }), { answers: { server: OFF } });
      const [changes, switches] = [[...next.changes], [...next.switches]];
      for (let minute = 1; minute < 20; minute += 1) {
        next = await later(minute, next, { answers: { server: OFF } });
        changes.push(...next.changes);
        switches.push(...next.switches);
      }
      expect([changes, switches.includes('power-on')]).toEqual([[{ tablet: false }], true]);
    },
  );

  it.each([1, 7])(
    'keeps the server off for no long pause if the shutdown had no answer %d times, and neither has the change',
    async (lost) => {
      let next = await visited(wanting({ changePolicy: 'AllowStop', ...TABLET }), { answers: { power: BROKEN } });
      let [asked, minute, off] = [1, 0, 0];
      for (; asked < lost; minute += 1) {
        next = await later(minute, next, { answers: { power: BROKEN } });
        asked += next.switches.length;
      }
      while (!next.switches.includes('power-on') && off < 120) {
        off += 1;
        next = await later(minute + off, next, { answers: { server: OFF, changed: BROKEN } });
      }
      expect(off).toBeLessThan(45);
    },
  );

  it.each([
    { minutes: 4, switches: [], refused: undefined },
    { minutes: 60, switches: ['power-on'], refused: 'Slow down' },
  ])('turned away for $minutes minutes while the server is off: $switches', async ({ minutes, switches, refused }) => {
    const busy = new ProviderError('PROVIDER_RATE_LIMITED', 'Slow down', { retryAfterMs: minutes * MINUTE });
    const next = await visited(stopping(), { answers: { server: OFF, changed: busy } });
    expect([next.switches, noteIn(next)?.refused]).toEqual([switches, refused]);
    const soon = await later(1, next, { answers: { server: refused === undefined ? OFF : DEVICES } });
    expect(soon.changes).toEqual([]);
  });

  it('asks you if the server ignores the shutdown, and forces nothing', async () => {
    const next = await visited(stopping(), knowing(stopping(), { since: 11, at: 11 }, true));
    expect(next.switches).toEqual([]);
    expect(pendingIn(next)).toBe('StopRequired');
    expect(messageIn(next)).toContain('never switches a server off by force');
  });

  it('starts a server again whose status after the shutdown may not mean off, and tells it', async () => {
    const halted = { ...DEVICES, status: 'halted' };
    const early = await visited(stopping(), { answers: { server: halted } });
    expect(early.switches).toEqual([]);
    const late = await visited(stopping(), {
      ...knowing(stopping(), { since: 11, at: 11 }, true),
      answers: { server: halted },
    });
    expect(late.switches).toEqual(['power-on']);
    expect(noteIn(late)).toMatchObject({ phase: 'start' });
    const started = stopping({ phase: 'start', refused: noteIn(late)?.refused ?? '' });
    const on = await visited(started, knowing(started, { since: 16, at: 16 }));
    expect(on.switches).toEqual([]);
    expect(on.changes).toEqual([]);
    expect(pendingIn(on)).toBe('ChangeRefused');
    expect(messageIn(on)).toContain('"halted"');
  });

  it('is watched for a while after you have changed your mind, since the server may still shut down', async () => {
    const changed = stopping({}, { advanced: { tablet: true } });
    const first = await visited(changed);
    expect([first.switches, noteIn(first)?.phase]).toEqual([[], 'start']);
    for (const stoppedAt of ['2026-01-01T22:00:00Z', TIME, '2026-01-02T01:00:00Z']) {
      const object = stopping({ phase: 'start', stoppedAt }, { advanced: { tablet: true } });
      expect(noteIn(await visited(object))).toMatchObject({ phase: 'start' });
      expect((await visited(object, { answers: { server: OFF } })).switches).toEqual(['power-on']);
      expect(noteIn(await visited(object, knowing(object, { since: 20, at: 16 })))).toBeUndefined();
    }
  });

  it('asks for the shutdown again after a crash, whatever the clock of the process before', async () => {
    for (const stoppedAt of ['2026-01-01T22:00:00Z', TIME, '2026-01-02T01:00:00Z']) {
      const next = await visited(stopping({ stoppedAt }));
      expect(next.switches).toEqual(['shutdown']);
      expect(noteIn(next)).toMatchObject({ phase: 'stop', stoppedAt: '2026-01-02T00:00:00Z' });
    }
  });

  it('shuts the server down again that has started on its own before the change was sent', async () => {
    const object = stopping();
    const off = await visited(object, {
      ...knowing(object, { since: 1, at: 1 }, true),
      answers: { server: OFF, changed: BROKEN },
    });
    expect(off.memo.evidence.change?.isAsked).toBeUndefined();
    expect((await visited(object, { memo: off.memo, now: NOW + 30 * MINUTE })).switches).toEqual(['shutdown']);
  });

  it('leaves the server running that has started on its own after the change was sent', async () => {
    const object = stopping({ acceptedAt: TIME });
    const next = await visited(object, knowing(object, { since: 3, at: 1 }));
    expect([next.switches, noteIn(next)?.phase]).toEqual([[], 'stop']);
    const late = await visited(object, knowing(object, { since: 3, at: 3 }));
    expect([late.switches, noteIn(late)?.phase]).toEqual([[], undefined]);
  });

  it('is watched until the shutdown that another process may have asked for can no longer arrive', async () => {
    const changed = { ...DEVICES, tablet: false };
    const object = stopping({ phase: 'start', wasOff: true, acceptedAt: TIME });
    const first = await visited(object, { answers: { server: changed } });
    expect(noteIn(first)).toMatchObject({ phase: 'start' });
    const off = await visited(object, {
      memo: first.memo,
      now: NOW + MINUTE,
      answers: { server: { ...changed, status: 'shut down' } },
    });
    expect(off.switches).toEqual(['power-on']);
    const later = await visited(object, { memo: first.memo, now: NOW + 16 * MINUTE, answers: { server: changed } });
    expect(noteIn(later)).toBeUndefined();
    const own = await visited(object, { ...knowing(object, { since: 1, at: 1 }), answers: { server: changed } });
    expect(noteIn(own)).toBeUndefined();
  });

  it('starts the server again also if spec has changed in the meantime', async () => {
    const next = await visited(stopping({ change: '{"tablet":true}' }), { answers: { server: OFF } });
    expect(next.changes).toEqual([{ tablet: false }]);
    expect(noteIn(next)).toMatchObject({ change: '{"tablet":false}', phase: 'stop', stoppedAt: TIME });
  });

  it('stops no server while the price limit leaves no room', async () => {
    const full = { maxPrice: 5000, taken: 4, price: 1400 };
    const spec = { changePolicy: 'AllowStop', ...TABLET, product: 'VPSX8' } as const;
    const next = await visited(wanting(spec), full);
    expect([next.switches, next.changes, noteIn(next)?.phase]).toEqual([[], [], undefined]);
    expect(pendingIn(next)).toBe('ChangeLimited');
    const free = await visited(wanting({ changePolicy: 'AllowStop', ...TABLET }), full);
    expect(free.switches).toEqual(['shutdown']);
  });

  it('waits for room after another process has begun to stop the server, and starts it if it was off', async () => {
    const full = { maxPrice: 5000, taken: 4, price: 1400 };
    const spec = { ...TABLET, product: 'VPSX8' };
    // Nothing is asked of the server again, and the other process may have stopped it.
    const between = await visited(stopping({ price: 1400 }, spec), full);
    expect(between.switches).toEqual([]);
    expect(noteIn(between)).toMatchObject({ phase: 'start' });
    expect(noteIn(between)).not.toHaveProperty('refused');
    expect(noteIn(between)).not.toHaveProperty('price');
    const after = (minutes: number, object: Visited, more: Given): Promise<Visited> =>
      visited(object.object ?? wanting({}), { memo: object.memo, now: NOW + minutes * MINUTE, ...more });
    const late = await after(5, between, { ...full, answers: { server: [OFF, OFF, OFF, DEVICES] } });
    expect(late.switches).toEqual(['power-on']);
    const waiting = await after(40, late, full);
    expect([waiting.switches, pendingIn(waiting)]).toEqual([[], 'ChangeLimited']);
    const free = await after(50, waiting, { ...full, taken: 1 });
    expect(free.switches).toEqual(['shutdown']);
  });

  it('is not tried again if the room was lost while the server was off', async () => {
    const full = { maxPrice: 5000, taken: 4, price: 1400 };
    const off = await visited(stopping({}, { ...TABLET, product: 'VPSX8' }), { ...full, answers: { server: OFF } });
    expect([off.switches, off.changes]).toEqual([['power-on'], []]);
    expect(noteIn(off)).toMatchObject({ phase: 'start', refused: expect.stringContaining('price limit') as string });
  });

  it('has its room in the price limit from the shutdown on, until it is given up', async () => {
    const spec = { changePolicy: 'AllowStop', ...TABLET, product: 'VPSX8' } as const;
    const next = await visited(wanting(spec), { maxPrice: 5000, taken: 1, price: 1400 });
    expect(next.switches).toEqual(['shutdown']);
    expect(noteIn(next)).toMatchObject({ phase: 'stop', price: 1400 });
    const given = await visited(stopping({ price: 1400 }, { ...TABLET, changePolicy: 'Online' }), {
      answers: { server: OFF },
    });
    expect(noteIn(given)).toMatchObject({ phase: 'start' });
    expect(noteIn(given)).not.toHaveProperty('price');
  });

  it.each<[string, Partial<VirtualServerSpec>]>([
    ['Retain', { deletionPolicy: 'Retain' }],
    ['a delay', { deletionDelay: '24h' }],
  ])('lets no object go with %s before its server runs', async (_what, spec) => {
    const own = { ...KNOWN, change: change({ phase: 'stop', stoppedAt: TIME }) };
    const object = wanting({ changePolicy: 'AllowStop', ...TABLET, ...spec }, own, { deleting: true });
    const next = await visited(object, { answers: { server: OFF } });
    expect(next.switches).toEqual(['power-on']);
    expect(next.object?.metadata.finalizers).toHaveLength(1);
    const known = knowing(object, { since: 1, at: 1 });
    const running = await visited(object, { ...known, answers: { server: [OFF, OFF, DEVICES] } });
    if (spec.deletionPolicy === 'Retain') expect(running.object).toBeUndefined();
    else expect(noteIn(running)).toBeUndefined();
  });

  it('restarts the server for a resize that waits for that, once', async () => {
    const spec = { changePolicy: 'AllowStop' as const, product: 'VPSX8' };
    const waits = { ...DEVICES, specs: { cores: 1 }, resize: { cores: 2 } };
    const own = { ...KNOWN, change: change({ change: '{"product":"VPSX8"}', acceptedAt: TIME }) };
    const next = await visited(wanting(spec, own), { answers: { server: waits } });
    expect(next.switches).toEqual(['shutdown']);
    expect(noteIn(next)).toMatchObject({ phase: 'stop', isRestarted: true });
    const again = { ...own, change: { ...own.change, isRestarted: true as const } };
    const after = await visited(wanting(spec, again), { answers: { server: waits } });
    expect(after.switches).toEqual([]);
    expect(pendingIn(after)).toBe('RestartPending');
  });
});

describe('a change that is not done when the policy becomes Never', () => {
  const never = (more: Partial<RecordedChange>): VirtualServer =>
    wanting(
      { changePolicy: 'Never', product: 'VPSX8' },
      { ...KNOWN, change: change({ change: '{"product":"VPSX8"}', ...more }) },
    );

  it.each<[string, VirtualServer]>([
    ['was refused', never({ refused: 'Out of stock' })],
    ['was sent', never({ acceptedAt: TIME })],
    ['was not sent yet', never({})],
  ])('still is none if it %s', async (_what, object) => {
    const next = await visited(object);
    expect(next.changes).toEqual([]);
    expect(pendingIn(next)).toBe('ChangeRefused');
    expect(messageIn(next)).toContain('spec.changePolicy is Never');
    const done = await visited(object, { answers: { server: { ...DEVICES, product: 'VPSX8' } } });
    expect([pendingIn(done), noteIn(done)]).toEqual([undefined, undefined]);
  });

  it.each<[string, Partial<VirtualServerSpec>, Given]>([
    ['waits for room in the price limit', { product: 'VPSX8' }, { maxPrice: 5000, taken: 4, price: 1400 }],
    ['needs the server off', TABLET, {}],
  ])('still is none after a crash if it %s', async (_what, spec, given) => {
    const own = (await visited(wanting(spec), given)).object;
    const next = await visited(wanting({ ...spec, changePolicy: 'Never' }, own && knownRecord(own)));
    expect(pendingIn(next)).toBe('ChangeRefused');
  });

  it('is tried again once the policy allows it', async () => {
    const next = await visited(never({ refused: 'Out of stock' }));
    const own = next.object && knownRecord(next.object);
    expect((await visited(wanting({ product: 'VPSX8' }, own))).changes).toEqual([{ product: 'VPSX8' }]);
  });
});

it('starts a server again that shows nothing but its identifier, but changes none', async () => {
  const unsure = { ...OFF, macs: [], ipv6: [] };
  const sent = await visited(stopping(), { answers: { server: [unsure, unsure] } });
  expect([sent.changes, sent.switches]).toEqual([[], []]);
  const started = await visited(stopping({ phase: 'start', wasOff: true }), { answers: { server: [unsure, unsure] } });
  expect([started.changes, started.switches]).toEqual([[], ['power-on']]);
});
