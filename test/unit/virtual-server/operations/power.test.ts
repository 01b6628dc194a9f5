import { describe, expect, it } from 'vitest';
import { FORCE_OFF_ANNOTATION, PAUSED_ANNOTATION, REBOOT_ANNOTATION } from '../../../../src/api/names.ts';
import { parseRecord, type Held } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { NOW, PRICED, SERVER, webWith, type Shape } from '../../../fixtures/decision.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';
import { conditionsOf } from './support.ts';

const ASKED = '2026-01-02T00:00:00Z';
const READY: Held = { ...PRICED, readyAt: '2026-01-01T01:00:00Z' };
const OFF = { ...SERVER, status: 'shut down' };
const SENT = new Set(['power-on', 'power-off', 'shutdown', 'dormant', 'wake', 'reboot']);

/** The object, whose server was last read in this state. */
const withPower = (
  power: 'On' | 'Off' | 'Dormant' | undefined,
  serverStatus: string,
  shape: Shape = {},
): VirtualServer =>
  webWith(READY, { ...shape, spec: { ...shape.spec, ...(power && { power }) }, status: { serverStatus } });

const sentIn = ({ calls }: Visited): string[] => calls.filter((call) => SENT.has(call));
const recordOf = ({ object }: Visited) => {
  const parsed = parseRecord(object?.metadata.annotations?.['vps-operator.dev/record']);
  return parsed.ok ? parsed.value : undefined;
};

/** Visits the object, whose server this read shows. */
const visited = (object: VirtualServer, server = SERVER, given: Given = {}): Promise<Visited> =>
  visit(object, { ...given, answers: { server, power: 'accepted', ...given.answers } });

describe('a call about power', () => {
  it('follows the read that has shown it to be missing, after a live read of the object', async () => {
    const result = await visited(withPower('Off', 'running'));
    expect(result.calls).toEqual(['read', 'write', 'live', 'shutdown']);
    expect(conditionsOf(result.object)).toEqual({ Ready: 'False Stopping', Reconciling: 'True Stopping' });
    expect(result.requeueAfterMs).toBe(2_000);
    expect(result.memo.evidence.power).toMatchObject({ due: undefined, last: { call: 'shutdown', count: 1 } });
  });

  it('needs a read in the same visit: the machine may have been suspended since an earlier one', async () => {
    const object = withPower('Off', 'running');
    const first = await visited(object, SERVER, { refusesStatus: new KubeError('Unreachable', 'away'), fails: true });
    expect(first.calls).toEqual(['read', 'refused']);
    expect(first.memo.evidence.power?.due).toMatchObject({ call: 'shutdown' });
    const later = await visited(object, SERVER, { memo: first.memo });
    expect(later.calls).toEqual(['read', 'write', 'live', 'shutdown']);
    expect(sentIn(await visited(object, OFF, { memo: first.memo }))).toEqual([]);
  });

  it('is not repeated by the next read, which comes soon', async () => {
    const first = await visited(withPower('Off', 'running'));
    const again = await visited(first.object ?? withPower('Off', 'running'), SERVER, {
      memo: first.memo,
      now: NOW + 2_000,
    });
    expect(again.calls).toEqual(['read']);
    const off = await visited(first.object ?? withPower('Off', 'running'), OFF, { memo: first.memo, now: NOW + 4_000 });
    expect(sentIn(off)).toEqual([]);
    expect(conditionsOf(off.object)).toEqual({ Ready: 'True PoweredOff' });
    expect(off.requeueAfterMs).toBeGreaterThan(60_000);
  });

  it.each<[string, VirtualServer, VirtualServer | null]>([
    ['gone', withPower('Off', 'running'), null],
    ['being deleted', withPower('Off', 'running'), withPower('Off', 'running', { deleting: true })],
    [
      'paused',
      withPower('Off', 'running'),
      withPower('Off', 'running', { annotations: { [PAUSED_ANNOTATION]: 'true' } }),
    ],
    ['edited', withPower('Off', 'running'), edited(withPower(undefined, 'running'))],
  ])('is not sent if the object turns out to be %s', async (what, object, live) => {
    const answers = { removed: 'cancelled', ...(what === 'being deleted' && { server: [SERVER, SERVER] }) };
    const result = await visited(object, SERVER, { live, answers });
    expect(sentIn(result)).toEqual([]);
  });

  it.each<[string, Given]>([
    ['another process leads', { leads: false }],
    ['the read is too old', { waits: 30_000 }],
  ])('is not sent if %s', async (_what, given) => {
    const result = await visited(withPower('Off', 'running'), SERVER, given);
    expect(sentIn(result)).toEqual([]);
    expect(result.requeueAfterMs).toBeGreaterThan(0);
  });

  it('is not sent for a server that may be another one', async () => {
    const result = await visited(withPower('Off', 'running'), { ...SERVER, macs: ['00:00:5e:00:53:ff'] });
    expect(sentIn(result)).toEqual([]);
    expect(conditionsOf(result.object)['Stalled']).toBe('True IdentityUnproven');
  });

  it('is not sent for a server that two objects hold', async () => {
    const others = { withServer: () => ['default/other'] };
    expect(sentIn(await visited(withPower('Off', 'running'), SERVER, { others }))).toEqual([]);
  });

  it('is not sent by an operator that only observes, which says what it would do', async () => {
    const result = await visited(withPower('Off', 'running'), SERVER, { observes: 'reporting' });
    expect(sentIn(result)).toEqual([]);
    expect(result.object?.status?.conditions?.[0]?.message).toContain('it would shut server srv1 down');
  });

  it('is not sent for a deleted object that keeps its server for a while', async () => {
    const object = withPower('Off', 'running', { deleting: true, spec: { deletionDelay: '24h' } });
    expect(sentIn(await visited(object))).toEqual([]);
  });

  it('is not sent once the server expires', async () => {
    const object = withPower('Off', 'running', { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
    const result = await visited(object, SERVER, { answers: { removed: 'cancelled' } });
    expect(sentIn(result)).toEqual([]);
    expect(result.calls).toContain('delete');
  });

  it('that the provider lacks is told once, and not sent again', async () => {
    const first = await visited(withPower('Off', 'running'), SERVER, { answers: { power: 'notOffered' } });
    expect(conditionsOf(first.object)['Stalled']).toBe('True PowerUnavailable');
    const again = await visited(first.object ?? withPower('Off', 'running'), SERVER, {
      memo: first.memo,
      now: NOW + 3_600_000,
    });
    expect(sentIn(again)).toEqual([]);
    expect(conditionsOf(again.object)['Stalled']).toBe('True PowerUnavailable');
  });

  it('that is refused is quoted', async () => {
    const power = new ResponseError(400, 'failed: Server is locked', { said: 'Server is locked' });
    const result = await visited(withPower('Dormant', 'running'), SERVER, { answers: { power } });
    expect(conditionsOf(result.object)['Stalled']).toBe('True PowerBlocked');
    expect(result.object?.status?.conditions?.[0]?.message).toContain('Server is locked');
  });

  it.each([
    new ProviderError('PROVIDER_TIMEOUT', 'no answer within 30 s'),
    new ResponseError(503, 'the provider answered 503'),
  ])('without an answer is sent again after a pause: $message', async (power) => {
    const object = withPower('On', 'shut down');
    const first = await visited(object, OFF, { answers: { power } });
    expect(conditionsOf(first.object)).toEqual({ Ready: 'False Starting', Reconciling: 'True Starting' });
    expect(first.object?.status?.conditions?.[0]?.message).toContain('The last request failed');
    const soon = await visited(first.object ?? object, OFF, { memo: first.memo, now: NOW + 5_000 });
    const later = await visited(first.object ?? object, OFF, { memo: first.memo, now: NOW + 11_000 });
    expect([sentIn(soon), sentIn(later)]).toEqual([[], ['power-on']]);
  });
});

/** The object after a user has edited it. */
function edited(object: VirtualServer): VirtualServer {
  return { ...object, metadata: { ...object.metadata, generation: object.metadata.generation + 1 } };
}

describe.each([
  ['reboot', 'reboot', REBOOT_ANNOTATION, undefined],
  ['forceOff', 'power-off', FORCE_OFF_ANNOTATION, 'Off'],
] as const)('a call that is sent once: %s', (once, call, annotation, power) => {
  const object = withPower(power, 'running', { annotations: { [annotation]: ASKED } });

  it('is noted in the record before it is sent, and with its answer', async () => {
    const before = await visited(object, SERVER, { dies: call, fails: true });
    expect(recordOf(before)?.[once]).toEqual({ asked: ASKED });
    expect(before.calls.slice(-3)).toEqual(['live', 'write', call]);
    const after = await visited(object);
    expect(recordOf(after)?.[once]).toEqual({ asked: ASKED, answer: 'Accepted' });
    expect(sentIn(after)).toEqual([call]);
  });

  it('is not sent again after a crash before the answer', async () => {
    const died = await visited(object, SERVER, { dies: call, fails: true });
    const next = await visited(died.object ?? object);
    expect(sentIn(next)).not.toContain(call);
    if (once === 'reboot') expect(conditionsOf(next.object)['Rebooted']).toBe('False RebootFailed');
  });

  it('names no command that asks again for a call that the provider does not have', async () => {
    const { object: after } = await visited(object, SERVER, { answers: { power: 'notOffered' } });
    const told = after?.status?.conditions?.find(({ type }) => type === 'Rebooted')?.message;
    if (once === 'reboot')
      expect(told).toContain('has no such call. Restart the server from inside, or in the provider');
    expect(told ?? '').not.toContain('kubectl vps reboot');
  });

  it('is not sent again if another process had noted it in a version that the read did not know', async () => {
    const done = { ...READY, [once]: { asked: ASKED, answer: 'Accepted' as const } };
    const { spec, status = {} } = object;
    const live = webWith(done, { annotations: { [annotation]: ASKED }, spec, status });
    const result = await visited(object, SERVER, { live });
    expect(sentIn(result)).not.toContain(call);
    expect(recordOf(result)?.[once]).toEqual({ asked: ASKED, answer: 'Accepted' });
  });

  it('is not sent if the record cannot be written', async () => {
    const refusesMetadata = new KubeError('Invalid', 'denied by a policy', { status: 422 });
    const result = await visited(object, SERVER, { refusesMetadata, fails: true });
    expect(result.calls).toContain('refused');
    expect(sentIn(result)).toEqual([]);
  });

  it('may be sent again if it certainly was not sent', async () => {
    const refusals = { power: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', { retryAfterMs: 60_000 }) };
    for (const given of [{ answers: refusals }, { leads: false }]) {
      const first = await visited(object, SERVER, given);
      expect(recordOf(first)?.[once]).toBeUndefined();
      const later = await visited(first.object ?? object, SERVER, { memo: first.memo, now: NOW + 120_000 });
      expect(sentIn(later)).toEqual([call]);
    }
  });

  it.each<[unknown, unknown]>([
    [new ResponseError(400, 'failed: locked', { said: 'locked' }), { answer: 'Refused', said: 'locked' }],
    ['notOffered', { answer: 'Refused', said: 'the provider API has no such call' }],
    [new ProviderError('PROVIDER_TIMEOUT', 'no answer'), {}],
    [new ResponseError(502, 'bad gateway'), {}],
  ])('ends, whatever the answer is: %s', async (answer, came) => {
    const first = await visited(object, SERVER, { answers: { power: answer as Error } });
    expect(recordOf(first)?.[once]).toEqual({ asked: ASKED, ...(came as object) });
    const later = await visited(first.object ?? object, SERVER, { memo: first.memo, now: NOW + 24 * 3_600_000 });
    expect(sentIn(later)).not.toContain(call);
  });
});

it('a restarted server may be booting', async () => {
  const object = withPower(undefined, 'running', {
    annotations: { [REBOOT_ANNOTATION]: ASKED },
    spec: { sshCheck: 'Proxy' },
  });
  const up = { ok: true, value: { banner: 'SSH-2.0-OpenSSH_10.0' } } as const;
  const first = await visited(object, SERVER, { probe: up });
  expect(conditionsOf(first.object)).toMatchObject({ Ready: 'True Available', Rebooted: 'True Rebooted' });
  const down = { ok: false, error: 'connection refused' } as const;
  const next = await visited(first.object ?? object, SERVER, { probe: down, memo: first.memo, now: NOW + 10_000 });
  expect(conditionsOf(next.object)['Ready']).toBe('False Booting');
});

it('checks no SSH server while the server is off on purpose', async () => {
  const object = withPower('Off', 'shut down', { spec: { sshCheck: 'Proxy' } });
  const result = await visited(object, OFF);
  expect(result.calls).not.toContain('probe');
  expect(conditionsOf(result.object)).toEqual({ Ready: 'True PoweredOff', Reachable: 'False PoweredOff' });
});
