/** A change in place that needs the server off, of an object that also says whether its server runs. */
import { expect, it } from 'vitest';
import type { RecordedChange } from '../../../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { KNOWN, NOW, SERVER, webWith } from '../../../fixtures/decision.ts';
import { shownBy, visit, type Visited } from '../../../fixtures/visits.ts';

const RUNNING = { ...SERVER, tablet: true };
const OFF = { ...RUNNING, status: 'shut down' };
const CHANGED = { tablet: false };
const TIME = '2026-01-01T23:50:00Z';

const wanting = (spec: Partial<VirtualServerSpec>, change?: Partial<RecordedChange>): VirtualServer =>
  webWith(
    {
      ...KNOWN,
      ...(change && {
        change: { identifier: 'srv1', change: '{"tablet":false}', since: TIME, stoppedAt: TIME, ...change },
      }),
    },
    {
      status: { serverStatus: 'running' },
      spec: { changePolicy: 'AllowStop', advanced: { tablet: false }, ...spec },
    },
  );

const visited = (object: VirtualServer, server: (typeof RUNNING)[]): Promise<Visited> =>
  visit(object, { answers: { server, changed: 'accepted', power: 'accepted' } });

const changeIn = ({ object }: Visited): RecordedChange | undefined => object && knownRecord(object)?.change;

it.each(['Off', 'Dormant'] as const)('a server that should be %s is not started after the change', async (power) => {
  const next = await visited(wanting({ power }, { phase: 'start', wasOff: true, acceptedAt: TIME }), [
    { ...OFF, ...CHANGED },
  ]);
  expect(next.switches).toEqual(power === 'Off' ? [] : ['dormant']);
  expect(changeIn(next)).toBeUndefined();
});

it.each(['Off', 'Dormant'] as const)(
  'a server that is now to be %s is not started to end the change',
  async (power) => {
    const next = await visited(wanting({ power }, { phase: 'stop', acceptedAt: TIME }), [{ ...OFF, ...CHANGED }]);
    expect(next.switches).toEqual(power === 'Off' ? [] : ['dormant']);
    expect(changeIn(next)).toBeUndefined();
  },
);

it('a server that should be off is shut down by spec.power alone, then changed', async () => {
  const next = await visited(wanting({ power: 'Off' }), [RUNNING]);
  expect(next.switches).toEqual(['shutdown']);
  expect(changeIn(next)?.phase).toBeUndefined();
});

it('a server that another client has made dormant is neither changed nor started', async () => {
  const next = await visited(wanting({}, { phase: 'stop' }), [{ ...OFF, isDormant: true }]);
  expect(next.changes).toEqual([]);
  expect(next.switches).toEqual([]);
  expect(changeIn(next)?.phase).toBeUndefined();
});

it('a server that became dormant during a change is woken if it should be On', async () => {
  const next = await visited(wanting({ power: 'On' }, { phase: 'start', wasOff: true }), [{ ...OFF, isDormant: true }]);
  expect(next.switches).toEqual(['wake']);
});

it('a server that should be On is started by the change, and by nothing else', async () => {
  const next = await visited(wanting({ power: 'On' }, { phase: 'start', wasOff: true, acceptedAt: TIME }), [
    { ...OFF, ...CHANGED },
  ]);
  expect(next.switches).toEqual(['power-on']);
  expect(changeIn(next)).toMatchObject({ phase: 'start' });
});

it('a server that is off for a change is not started before the change', async () => {
  const next = await visited(wanting({ power: 'On' }, { phase: 'stop' }), [OFF]);
  expect(next.switches).toEqual([]);
  expect(next.changes).toEqual([{ tablet: false }]);
});

it('a server that is off on purpose is changed without being switched', async () => {
  const next = await visited(wanting({ power: 'Off' }), [OFF, OFF, { ...OFF, ...CHANGED }]);
  expect(next.changes).toEqual([{ tablet: false }]);
  expect(next.switches).toEqual([]);
  expect(shownBy(next).reason).toBe('PoweredOff');
});

it('a server that should be off is shown so, whether its change is about to be sent or waits for its pause', async () => {
  const isBusy = new ResponseError(409, 'busy', {});
  const object = wanting({ power: 'Off', changePolicy: 'Online', advanced: undefined, serverName: 'shop' });
  const answers = { server: [OFF, OFF, OFF], changed: isBusy, power: 'accepted' as const };
  const first = await visit(object, { answers });
  expect(first.changes).toHaveLength(1);
  const second = await visit(first.object ?? object, { answers, memo: first.memo, now: NOW + 200 });
  expect(second.changes).toEqual([]);
  for (const each of [first, second]) {
    expect(shownBy(each).reason).toBe('PoweredOff');
    expect(each.events.map(({ reason }) => reason)).not.toContain('ServerNotRunning');
  }
});
