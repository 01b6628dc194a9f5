/** How long a change in place may take, and how often a server is stopped for it: by the clock of this process. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { without } from '../../../../src/base/without.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { Server } from '../../../../src/provider/types.ts';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { spread } from '../../../../src/virtual-server/shared/pace.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { KNOWN, NOW, PRICED, SERVER, TIMING, webWith } from '../../../fixtures/decision.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const MINUTE = 60_000;
const DEVICES = { ...SERVER, cpuMode: 'performance', tablet: true } satisfies Server;
const OFF = { ...DEVICES, status: 'shut down' };
const TABLET = { advanced: { tablet: false } };
const STOPPED = { changePolicy: 'AllowStop', ...TABLET } as const;

const wanting = (spec: Partial<VirtualServerSpec>): VirtualServer =>
  webWith(KNOWN, { status: { serverStatus: 'running' }, spec: { changePolicy: 'Online', ...spec } });

const visited = (object: VirtualServer, given: Given = {}): Promise<Visited> =>
  visit(object, { ...given, answers: { server: DEVICES, changed: 'accepted', power: 'accepted', ...given.answers } });

/** The next visit of the same process, so many minutes after the first. */
function after(
  minutes: number,
  { object, memo }: Visited,
  given: Given,
  spec: Partial<VirtualServerSpec> = {},
): Promise<Visited> {
  if (object === undefined) throw new Error('the object is gone');
  const generation = object.metadata.generation + Object.keys(spec).length;
  const edited = { ...object, metadata: { ...object.metadata, generation }, spec: { ...object.spec, ...spec } };
  return visited(edited, { memo, now: NOW + minutes * MINUTE, ...given });
}

function shown({ object }: Visited): VirtualServer {
  if (object === undefined) throw new Error('the object is gone');
  return object;
}

const pendingIn = ({ object }: Visited): string | undefined =>
  object?.status?.conditions?.find(({ type }) => type === 'ChangePending')?.reason;
const messageIn = ({ object }: Visited): string | undefined =>
  object?.status?.conditions?.find(({ type }) => type === 'ChangePending')?.message;

describe('the time that a change has to appear begins when it is sent, after it', () => {
  const sent = (body: object, next: Visited): void => {
    expect(next.changes).toEqual([body]);
    expect(pendingIn(next)).toBe('Changing');
  };

  it('has waited for room in the price limit', async () => {
    const full = { maxPrice: 5000, taken: 4, price: 1400 };
    const first = await visited(wanting({ product: 'VPSX8' }), full);
    const still = await after(35, first, full);
    expect(pendingIn(still)).toBe('ChangeLimited');
    const next = await after(40, still, { ...full, taken: 1 });
    sent({ product: 'VPSX8' }, next);
    const last = await after(69, next, { ...full, taken: 1 });
    expect(pendingIn(last)).toBe('Changing');
    expect(pendingIn(await after(100, last, full))).toBe('ChangeRefused');
  });

  it('has waited for the server to wake up', async () => {
    const first = await visited(wanting({ product: 'VPSX8' }), { answers: { server: { ...OFF, isDormant: true } } });
    sent({ product: 'VPSX8' }, await after(60, first, {}));
  });

  it('has waited for a policy that allows it', async () => {
    const first = await visited(wanting(TABLET));
    expect(pendingIn(first)).toBe('StopRequired');
    sent({ tablet: false }, await after(60, first, { answers: { server: OFF } }, { changePolicy: 'AllowStop' }));
  });
});

it('repeats a change that is not shown two minutes after it was sent, however long it has waited before', async () => {
  const full = { maxPrice: 5000, taken: 4, price: 1400 };
  const first = await visited(wanting({ product: 'VPSX8' }), full);
  const next = await after(20, first, { ...full, taken: 1 });
  expect(next.changes).toHaveLength(1);
  const again = await after(23, next, { ...full, taken: 1 });
  expect(again.changes).toHaveLength(1);
});

describe('a server that starts on its own', () => {
  /** A day of visits every ten minutes. The server comes back ten minutes after each shutdown. */
  async function day(changed: ResponseError): Promise<{ stops: number; last: Visited; isOn: boolean }> {
    let last = await visited(wanting(STOPPED), { answers: { changed } });
    let stops = 1;
    let isOn = false;
    for (let minutes = 10; minutes < 24 * 60; minutes += 10) {
      last = await after(minutes, last, { answers: { server: isOn ? DEVICES : OFF, changed } });
      const asked = last.switches.filter((call) => call === 'shutdown').length;
      stops += asked;
      isOn = asked === 0;
    }
    return { stops, last, isOn };
  }

  it('is shut down three times for a change that fails', async () => {
    const { stops, last, isOn } = await day(new ResponseError(503, 'later'));
    expect([stops, isOn, pendingIn(last)]).toEqual([3, true, 'ChangeRefused']);
    expect(last.object && knownRecord(last.object)?.change).not.toHaveProperty('phase');
  });

  it('is changed after failed shutdowns even if the first try of the change fails', async () => {
    const later = new ResponseError(503, 'later');
    const first = await visited(wanting(STOPPED), { answers: { power: later } });
    const second = await after(10, first, { answers: { power: later } });
    const third = await after(20, second, { answers: { power: later } });
    const stopped = await after(40, third, {});
    expect(stopped.switches).toEqual(['shutdown']);
    const failed = await after(41, stopped, { answers: { server: OFF, changed: later } });
    expect([failed.changes, failed.switches]).toEqual([[{ tablet: false }], []]);
    const done = await after(60, failed, { answers: { server: OFF } });
    expect(done.changes).toEqual([{ tablet: false }]);
  });
});

it.each(['before', 'never before'])(
  'watches a server after a lost shutdown of a change that was noted %s',
  async (noted) => {
    const first = noted === 'before' ? await visited(wanting(TABLET)) : await visited(wanting({}));
    const power = new ProviderError('PROVIDER_TIMEOUT', 'no answer');
    const lost = await after(10, first, { answers: { power } }, STOPPED);
    expect(lost.switches).toEqual(['shutdown']);
    const [changed, done] = [
      { ...OFF, tablet: false },
      { ...DEVICES, tablet: false },
    ];
    const server = [DEVICES, DEVICES, OFF, OFF, changed, changed, done];
    const again = await after(10.5, lost, { answers: { server } });
    expect(again.switches).toEqual(['shutdown', 'power-on']);
    const running = await after(11.5, again, { answers: { server: done } });
    // The lost request arrives.
    const late = await after(13, running, { answers: { server: changed } });
    expect(late.switches).toEqual(['power-on']);
    const still = await after(24, late, { answers: { server: changed } });
    expect(still.switches).toEqual(['power-on']);
    const over = await after(27, still, { answers: { server: done } });
    expect(over.object && knownRecord(over.object)).not.toHaveProperty('change');
  },
);

describe('shutdowns for a change', () => {
  it('are followed at once by the next step if their process dies', async () => {
    const own = { ...PRICED, readyAt: '2026-01-01T01:00:00Z' };
    const status = { serverStatus: 'running', identifier: 'srv1', observedGeneration: 1 };
    const dead = await visited(webWith(own, { status, spec: STOPPED }), { dies: 'shutdown' });
    const memos: Memo[] = [];
    spread([shown(dead)], { remember: (_uid, memo) => void memos.push(memo) }, NOW, () => TIMING.resyncMs);
    const [memo] = memos;
    const next = await visited(shown(dead), { ...(memo && { memo }), now: NOW + 1000, answers: { server: OFF } });
    expect(next.calls).toContain('change');
  });

  const [CHANGED, DONE] = [
    { ...OFF, tablet: false },
    { ...DEVICES, tablet: false },
  ];

  /** Visits every minute until `end`. What the server shows depends on whether it was last shut down or started. */
  async function minutes(
    first: Visited,
    [from, end]: [number, number],
    given: (isOn: boolean) => Given,
  ): Promise<{ last: Visited; calls: string[] }> {
    let last = first;
    const calls = [...first.switches];
    for (let minute = from; minute < end; minute += 1) {
      last = await after(minute, last, given(calls.at(-1) !== 'shutdown'));
      calls.push(...last.switches);
    }
    return { last, calls };
  }
  const stopsIn = (calls: readonly string[]): number => calls.filter((call) => call === 'shutdown').length;
  it.each<[string, Server]>([
    ['hides the field', without(OFF, 'tablet')],
    ['shows what is wanted', CHANGED],
  ])('end after the third if the provider, while the server is off, %s', async (_how, off) => {
    const first = await visited(wanting(STOPPED));
    const { last, calls } = await minutes(first, [1, 180], (isOn) => ({ answers: { server: isOn ? DEVICES : off } }));
    expect([stopsIn(calls), calls.at(-1), pendingIn(last)]).toEqual([3, 'power-on', 'ChangeRefused']);
    expect(messageIn(last)).toContain('was shut down three times for it, and still differs');
  });

  it.each([504, 409])('end after eight in a row that got a %d', async (status) => {
    const given: Given = { answers: { power: new ResponseError(status, 'no') } };
    const { last, calls } = await minutes(await visited(wanting(STOPPED), given), [1, 360], () => given);
    expect([stopsIn(calls), pendingIn(last)]).toEqual([8, 'StopRequired']);
    expect(messageIn(last)).toContain('the last 8 requests to shut it down failed');
    expect(messageIn(last)).not.toContain('asked');
    // Shut down by you, it is changed and started.
    const off = await after(361, last, { answers: { server: [OFF, OFF, CHANGED, CHANGED, DONE] } });
    expect([off.changes, off.switches]).toEqual([[{ tablet: false }], ['power-on']]);
  });

  it('are asked for again after the policy was Never', async () => {
    const given: Given = { answers: { power: new ResponseError(503, 'later') } };
    const { last } = await minutes(await visited(wanting(STOPPED), given), [1, 360], () => given);
    const never = await minutes(await after(361, last, {}, { changePolicy: 'Never' }), [362, 380], () => ({}));
    const first = await after(381, never.last, given, { changePolicy: 'AllowStop' });
    const again = await minutes(first, [382, 390], () => given);
    expect(stopsIn(again.calls)).toBeGreaterThan(1);
  });

  it('are asked for again after a 503, although an earlier one was ignored', async () => {
    const first = await visited(wanting(STOPPED));
    const never = await after(5, first, {}, { changePolicy: 'Never' });
    const { last } = await minutes(never, [6, 60], () => ({}));
    const later: Given = { answers: { power: new ResponseError(503, 'later') } };
    const again = await after(60, last, later, { changePolicy: 'AllowStop' });
    expect(again.switches).toEqual(['shutdown']);
    expect((await after(62, again, {})).switches).toEqual(['shutdown']);
  });

  it('that have no call by now, after a lost one, leave no server off', async () => {
    const first = await visited(wanting(STOPPED), { answers: { power: new ProviderError('PROVIDER_TIMEOUT', 'no') } });
    const second = await after(2, first, { answers: { power: 'notOffered' } });
    expect(second.switches).toEqual(['shutdown']);
    const off = await after(10, second, { answers: { server: OFF } });
    expect(off.switches).toEqual(['power-on']);
    const running = await after(12, off, {});
    expect([running.switches, pendingIn(await after(30, running, {}))]).toEqual([[], 'ChangeUnavailable']);
  });

  it('that two processes have asked for leave no server off, if the second takes effect late', async () => {
    const first = await visited(wanting(STOPPED));
    const second = await visited(shown(first), { now: NOW + MINUTE });
    expect(second.switches).toEqual(['shutdown']);
    const server = [OFF, OFF, CHANGED, CHANGED, DONE];
    const changed = await after(5, second, { answers: { server } });
    expect(changed.switches).toEqual(['power-on']);
    const running = await after(7, changed, { answers: { server: DONE } });
    expect((await after(8, running, { answers: { server: CHANGED } })).switches).toEqual(['power-on']);
  });

  it('that fail take no try from the change', async () => {
    const later = new ResponseError(503, 'later');
    const first = await visited(wanting(STOPPED));
    const failed = await after(10, first, { answers: { server: OFF, changed: later } });
    const once = await after(20, failed, { answers: { power: later } });
    const twice = await after(30, once, { answers: { power: later } });
    const stopped = await after(40, twice, {});
    expect(stopped.switches).toEqual(['shutdown']);
    const again = await after(50, stopped, { answers: { server: OFF, changed: later } });
    expect([again.changes, again.switches]).toEqual([[{ tablet: false }], []]);
    expect(knownRecord(shown(again))?.change).not.toHaveProperty('refused');
  });
});

it('restarts no server for a resize that another client has asked for, after it has changed the name', async () => {
  const named = { changePolicy: 'AllowStop', serverName: 'shop' } as const;
  const first = await visited(wanting(named), { answers: { server: { ...DEVICES, name: 'web' } } });
  expect(first.changes).toEqual([{ name: 'shop' }]);
  const specs = { ...DEVICES.specs, ram: 4096 };
  const server = { ...DEVICES, name: 'shop', specs, resize: { ram: 8192 } };
  const next = await after(3, first, { answers: { server } });
  expect([next.switches, pendingIn(next)]).toEqual([[], 'RestartPending']);
});

it('says that a server which ignores its shutdown should restart, if nothing else is to change', async () => {
  const resized = { ...SERVER, product: 'VPSX8' };
  const first = await visited(wanting({ changePolicy: 'AllowStop', product: 'VPSX8' }));
  const server = { ...resized, specs: { ...resized.specs, ram: 4096 }, resize: { ram: 8192 } };
  const asked = await after(3, first, { answers: { server } });
  expect(asked.switches).toEqual(['shutdown']);
  const stopping = await after(4, asked, { answers: { server } });
  expect(messageIn(stopping)).toContain('The operator restarts server srv1. It asked the server to shut down at');
  const last = await after(20, asked, { answers: { server } });
  expect(pendingIn(last)).toBe('StopRequired');
  const message = messageIn(last);
  expect(message).toContain('to shut down for a restart, but the server is not off');
  expect(message).toContain('Shut the server down from inside; the operator then starts it again');
});
