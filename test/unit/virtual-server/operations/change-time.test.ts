/** How long a change in place may take, and how often a server is stopped for it: by the clock of this process. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { KNOWN, NOW, SERVER, TIMING, webWith } from '../../../fixtures/decision.ts';
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
  const edited = { ...object, spec: { ...object.spec, ...spec } };
  return visited(edited, { memo, now: NOW + minutes * MINUTE, ...given });
}

const pendingIn = ({ object }: Visited): string | undefined =>
  object?.status?.conditions?.find(({ type }) => type === 'ChangePending')?.reason;

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

describe('a server that starts by itself', () => {
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
    const over = await after(12 + TIMING.takeoverMs / MINUTE, late, { answers: { server: done } });
    expect(over.object && knownRecord(over.object)).not.toHaveProperty('change');
  },
);
