/** How often a server is stopped and changed for one generation of spec, also by one process after another. */
import { describe, expect, it } from 'vitest';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { wantedText } from '../../../../src/virtual-server/decision/change-fields.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { KNOWN, NOW, SERVER, webWith } from '../../../fixtures/decision.ts';
import { visit, type Answers, type Visited } from '../../../fixtures/visits.ts';

const MINUTE = 60_000;
const DEVICES = { ...SERVER, tablet: true, netDevice: 'e1000', diskBus: 'sata' } satisfies Server;
const TABLET = { advanced: { tablet: false } } as const;
const BOTH = { advanced: { netDevice: 'virtio', diskBus: 'virtio' } } as const;

const wanting = (spec: Partial<VirtualServerSpec>, own: ServerRecord = KNOWN): VirtualServer =>
  webWith(own, { status: { serverStatus: 'running' }, spec: { changePolicy: 'AllowStop', ...spec } });

/** Only one of two fields can have its value: a change of one takes the other back. */
const excluding = (server: Server): Server =>
  server.netDevice === 'virtio'
    ? { ...server, netDevice: 'e1000', diskBus: 'virtio' }
    : { ...server, netDevice: 'virtio', diskBus: 'sata' };

interface World {
  object: VirtualServer;
  server: Server;
  stops: number;
  changes: number;
}

/** How the world continues. */
interface Course {
  minutes: number;
  /** What a change makes of the server. Default: nothing. */
  changed?: (server: Server) => Server;
  /** What a call about power is answered after so many requests to shut down. Default: accepted. */
  power?: (asked: number) => ResponseError | 'accepted';
  answer?: Answers['changed'];
  /** A new process begins so often (minutes). Default: never. */
  restarts?: number;
  /** The server starts unasked before the next visit. */
  startsItself?: true;
}

const begin = (spec: Partial<VirtualServerSpec>, server: Server = DEVICES): World => ({
  object: wanting(spec),
  server,
  stops: 0,
  changes: 0,
});

/** A visit every minute to a server that does at once what it is told to. */
async function run(world: World, course: Course): Promise<World> {
  const { changed = (server: Server): Server => server, power = () => 'accepted', answer = 'accepted' } = course;
  const next = { ...world };
  const stopped = next.stops;
  let last: Visited | undefined;
  const answers: Answers = {
    get server() {
      return next.server;
    },
    get power() {
      return power(next.stops);
    },
    changed: answer,
  };
  const onCall = (call: string): void => {
    if (call === 'change') next.server = changed(next.server);
    if (call === 'shutdown') {
      const isAccepted = power(next.stops) === 'accepted';
      next.stops += 1;
      if (isAccepted) next.server = { ...next.server, status: 'shut down' };
    }
    if (call === 'power-on') next.server = { ...next.server, status: 'running' };
  };
  for (let minute = 0; minute < course.minutes; minute += 1) {
    if (course.startsItself && next.stops > stopped) next.server = { ...next.server, status: 'running' };
    const isNew = course.restarts !== undefined && minute % course.restarts === 0;
    const memo = isNew ? undefined : last?.memo;
    last = await visit(next.object, { now: NOW + minute * MINUTE, answers, onCall, ...(memo && { memo }) });
    next.changes += last.changes.length;
    if (last.object === undefined) throw new Error('the object is gone');
    next.object = last.object;
  }
  return next;
}

const edited = (world: World, spec: Partial<VirtualServerSpec>): World => {
  const { metadata, ...object } = world.object;
  const more = {
    ...object,
    metadata: { ...metadata, generation: metadata.generation + 1 },
    spec: { ...object.spec, ...spec },
  };
  return { ...world, object: more };
};

const pendingIn = ({ object }: World): string | undefined =>
  object.status?.conditions?.find(({ type }) => type === 'ChangePending')?.reason;
const messageIn = ({ object }: World): string | undefined =>
  object.status?.conditions?.find(({ type }) => type === 'ChangePending')?.message;

describe('a server with two fields that exclude each other', () => {
  it.each([
    ['one process', undefined],
    ['a new process every 20 minutes', 20],
  ])('is stopped three times by %s, and runs in the end', async (_who, restarts) => {
    const end = await run(begin(BOTH), { minutes: 240, changed: excluding, ...(restarts && { restarts }) });
    expect([end.stops, end.server.status, pendingIn(end)]).toEqual([3, 'running', 'ChangeRefused']);
    expect(messageIn(end)).toContain('was shut down three times for it, and still differs');
    expect(knownRecord(end.object)?.change).not.toHaveProperty('phase');
  });

  it('is stopped again for a new spec, and not for one that differs in something else', async () => {
    const end = await run(begin(BOTH), { minutes: 60, changed: excluding });
    const same = await run(edited(end, { deletionProtection: true }), { minutes: 60, changed: excluding });
    expect(same.stops).toBe(3);
    const done = await run(edited(end, TABLET), { minutes: 60, changed: (server) => ({ ...server, tablet: false }) });
    expect([done.stops, done.server.tablet, pendingIn(done)]).toEqual([4, false, undefined]);
  });

  it('is stopped again for the same spec after the policy was Never', async () => {
    const end = await run(begin(BOTH), { minutes: 60, changed: excluding });
    const never = await run(edited(end, { changePolicy: 'Never' }), { minutes: 60, changed: excluding });
    expect([never.stops, messageIn(never)]).toEqual([3, expect.stringContaining('spec.changePolicy is Never')]);
    const again = await run(edited(never, { changePolicy: 'AllowStop' }), { minutes: 60, changed: excluding });
    expect([again.stops, pendingIn(again)]).toEqual([6, 'ChangeRefused']);
  });

  it('gets no change after the third that takes one back, if no stop is needed', async () => {
    const extras = (extraCores: number, extraMemory: number): Server => ({
      ...DEVICES,
      specs: { ...DEVICES.specs, extraCores, extraMemory },
    });
    const changed = ({ specs }: Server): Server => (specs?.extraCores === 2 ? extras(0, 2) : extras(2, 0));
    const spec = { changePolicy: 'Online', advanced: { extraCores: 2, extraMemory: 2 } } as const;
    for (const restarts of [undefined, 20]) {
      const end = await run(begin(spec, extras(0, 0)), { minutes: 120, changed, ...(restarts && { restarts }) });
      expect([end.changes, pendingIn(end)]).toEqual([5, 'ChangeRefused']);
      expect(messageIn(end)).toContain('it takes another one back');
    }
  });

  it('gets every change of a provider that makes one field after another', async () => {
    const all = { netDevice: 'virtio', diskBus: 'virtio', tablet: false, cpuMode: 'Performance' } as const;
    const start = { ...DEVICES, status: 'shut down', cpuMode: 'compatibility' };
    const changed = (server: Server): Server => {
      if (server.netDevice !== 'virtio') return { ...server, netDevice: 'virtio' };
      if (server.diskBus !== 'virtio') return { ...server, diskBus: 'virtio' };
      return server.tablet === true ? { ...server, tablet: false } : { ...server, cpuMode: 'performance' };
    };
    const end = await run(begin({ power: 'Off', advanced: all }, start), { minutes: 60, changed });
    expect([end.changes, pendingIn(end)]).toEqual([4, undefined]);
  });
});

describe('a server whose changes fail', () => {
  it.each([20, 40])(
    'and that starts on its own is stopped three times, with a new process every %d minutes',
    async (restarts) => {
      const answer = new ResponseError(503, 'later');
      const end = await run(begin(TABLET), { minutes: 240, answer, restarts, startsItself: true });
      expect([end.stops, end.server.status, pendingIn(end)]).toEqual([3, 'running', 'ChangeRefused']);
    },
  );

  it.each([20, 40])(
    'because no shutdown has an answer is asked so often only, with a new process every %d minutes',
    async (restarts) => {
      const power = (): ResponseError => new ResponseError(504, 'no answer in time');
      const end = await run(begin(TABLET), { minutes: 240, power, restarts });
      expect(end.stops).toBeLessThanOrEqual(24);
      expect(pendingIn(end)).toBe('ChangeRefused');
      expect(messageIn(end)).toContain('was asked at least three times to shut down for it, and runs again or still');
    },
  );

  it('and that starts on its own is stopped three times besides the requests in a row that had no answer', async () => {
    const power = (asked: number): ResponseError | 'accepted' =>
      asked < 5 ? new ResponseError(504, 'no answer in time') : 'accepted';
    const answer = new ResponseError(503, 'later');
    const end = await run(begin(TABLET), { minutes: 240, answer, power, startsItself: true });
    expect([end.stops, end.server.status, pendingIn(end)]).toEqual([8, 'running', 'ChangeRefused']);
  });

  it('because the server is busy has used up no stop', async () => {
    const busy = await run(begin(TABLET), { minutes: 60, power: () => new ResponseError(409, 'busy'), restarts: 20 });
    expect([busy.stops, pendingIn(busy)]).toEqual([24, 'StopRequired']);
    const done = await run(busy, { minutes: 60, changed: (server) => ({ ...server, tablet: false }) });
    expect([done.server.tablet, done.server.status, pendingIn(done)]).toEqual([false, 'running', undefined]);
  });

  it('is not restarted for a resize after three stops', async () => {
    const change = {
      identifier: 'srv1',
      change: '{"product":"VPSX8"}',
      since: '2026-01-01T23:50:00Z',
      acceptedAt: '2026-01-01T23:50:00Z',
    };
    const server = { ...DEVICES, product: 'VPSX8', specs: { cores: 1 }, resize: { cores: 2 } };
    const spec = { product: 'VPSX8' };
    for (const wanted of [wantedText(wanting(spec)), 'what spec asked for before']) {
      const tries = { identifier: 'srv1', wanted, stops: 3, takenBack: 0 };
      const end = await run(
        { ...begin({}, server), object: wanting(spec, { ...KNOWN, change, tries }) },
        { minutes: 5 },
      );
      expect(end.stops > 0).toBe(wanted !== wantedText(wanting(spec)));
    }
  });
});

it('counts no stop of another server', async () => {
  const wanted = wantedText(wanting(TABLET));
  const tries = { identifier: 'srv0', wanted, stops: 3, takenBack: 0 };
  const end = await run(
    { ...begin({}), object: wanting(TABLET, { ...KNOWN, tries }) },
    {
      minutes: 30,
      changed: (server) => ({ ...server, tablet: false }),
    },
  );
  expect([end.stops, end.server.tablet, pendingIn(end)]).toEqual([1, false, undefined]);
  expect(knownRecord(end.object)?.tries).toEqual({ identifier: 'srv1', wanted, stops: 1, takenBack: 0 });
});

it('a shutdown without an answer counts although the request after it was turned away for now', async () => {
  // The server shuts down three minutes after the request, and the provider is busy until then.
  let [object, server] = [wanting(BOTH), DEVICES as Server];
  let [minute, dueAt, stops] = [0, Infinity, 0];
  let memo: Visited['memo'] | undefined;
  const isOff = (): boolean => server.status === 'shut down';
  const answers: Answers = {
    get server() {
      return server;
    },
    get power() {
      if (isOff()) return 'accepted';
      const isFirst = dueAt === Infinity;
      dueAt = Math.min(dueAt, minute + 3);
      return new ResponseError(isFirst ? 504 : 409, 'no');
    },
    changed: 'accepted',
  };
  const onCall = (call: string): void => {
    if (call === 'change') server = excluding(server);
    if (call === 'power-on') server = { ...server, status: 'running' };
  };
  for (; minute < 600; minute += 1) {
    if (minute >= dueAt) {
      [dueAt, stops] = [Infinity, stops + 1];
      server = { ...server, status: 'shut down' };
    }
    const next = await visit(object, { now: NOW + minute * MINUTE, answers, onCall, ...(memo && { memo }) });
    if (next.object === undefined) throw new Error('the object is gone');
    ({ object, memo } = { object: next.object, memo: next.memo });
  }
  expect([stops, isOff(), pendingIn({ object, server, stops, changes: 0 })]).toEqual([3, false, 'ChangeRefused']);
});
