import { describe, expect, it } from 'vitest';
import { isOffOnPurpose, powerStateOf, type PowerState } from '../../../../src/api/server-state.ts';
import { FORCE_OFF_ANNOTATION, PAUSED_ANNOTATION, REBOOT_ANNOTATION } from '../../../../src/api/names.ts';
import type { Held } from '../../../../src/api/record.ts';
import type { VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import type { PowerAnswer, PowerCall, PowerEvidence } from '../../../../src/virtual-server/decision/memo.ts';
import { rebooted } from '../../../../src/virtual-server/decision/rebooted.ts';
import { dueCall, powerStep, startsAfterChange, withCall } from '../../../../src/virtual-server/decision/power.ts';
import { readiness } from '../../../../src/virtual-server/decision/readiness.ts';
import { viewOf, type OwnView, type View } from '../../../../src/virtual-server/decision/view.ts';
import { ACCOUNT, KNOWN, NOW, SERVER, facts, memo, webWith, type Shape } from '../../../fixtures/decision.ts';

type Wanted = VirtualServerSpec['power'];

const MINUTE = 60_000;
const READY: Held = { ...KNOWN, readyAt: '2026-01-01T01:00:00Z' };
const STATUS: Record<PowerState, string> = {
  on: 'running',
  off: 'shut down',
  dormant: 'shut down',
  starting: 'paused',
  stopping: 'shutting down',
  unknown: 'installing',
};

interface Given {
  shape?: Shape;
  record?: Held;
  last?: Omit<NonNullable<PowerEvidence['last']>, 'count' | 'at'> & { count?: number; at?: number };
  /** On the monotonic clock (ms). */
  since?: number;
  now?: number;
}

const withPower = (power: Wanted, shape: Shape = {}): Shape => ({ ...shape, spec: { ...(power && { power }) } });

function viewed(power: Wanted, { shape, record = READY, last, since = 0, now = NOW }: Given = {}): View {
  const object = webWith(record, withPower(power, shape));
  const known = last && {
    identifier: 'srv1',
    inputs: inputsOf(object),
    since,
    last: { count: 1, at: 0, ...last },
  };
  return viewOf(object, facts({ now, ...(known && { memo: memo({ power: known }) }) }));
}

/** What follows from a read that shows this state. */
function stepOf(power: Wanted, state: PowerState, given: Given = {}) {
  const at = viewed(power, given);
  const server = { ...SERVER, status: STATUS[state], ...(state === 'dormant' && { isDormant: true }) };
  const step = powerStep(at, given.record ?? READY, server, ACCOUNT);
  return { ...step, call: step.evidence?.due?.call, reason: step.verdict?.reason, says: step.verdict?.message ?? '' };
}

const accepted = (call: PowerCall): Given['last'] => ({ call, answer: { state: 'accepted' } });
const refused: PowerAnswer = { state: 'refused', said: 'Server is locked', retryAfterMs: 0 };

describe('the state of a server', () => {
  it.each<[string | undefined, PowerState]>([
    ['running', 'on'],
    [' Running ', 'on'],
    ['shut down', 'off'],
    ['SHUT_DOWN', 'off'],
    ['shut-down', 'off'],
    ['stopped', 'off'],
    ['paused', 'starting'],
    ['Shutting  Down', 'stopping'],
    ['installing', 'unknown'],
    ['constructor', 'unknown'],
    ['', 'unknown'],
    [undefined, 'unknown'],
  ])('%j is %s', (status, state) => {
    expect(powerStateOf(status)).toBe(state);
    expect(powerStateOf(status, true)).toBe('dormant');
  });
});

describe('what a server that is not running needs', () => {
  const off = { ...SERVER, status: STATUS.off };
  const told = (power: Wanted, state: PowerState = 'unknown') =>
    readiness(viewed(power).object, { ...SERVER, status: STATUS[state] }, undefined, {
      identifier: 'srv1',
      since: 'over',
    }).verdict.message;

  it('is nothing from you, if the operator starts it after a change', () => {
    expect(startsAfterChange(viewed('On').object, off)).toEqual({
      reason: 'Starting',
      message:
        'Server srv1 has the status "shut down", and spec.power is On. The operator first changes the server, and then starts it',
    });
  });

  it.each<[Wanted, PowerState]>([
    ['Off', 'off'],
    ['Dormant', 'off'],
    [undefined, 'off'],
    ['On', 'on'],
  ])('is not told with power %s of a server that is %s', (power, state) => {
    expect(startsAfterChange(viewed(power).object, { ...SERVER, status: STATUS[state] })).toBeUndefined();
  });

  it('is that you start it, unless spec.power says what the operator does', () => {
    expect(told(undefined)).toContain("Start the server in the provider's control panel, or wait");
    for (const power of ['On', 'Off', 'Dormant'] as const) {
      expect(told(power)).toContain(
        `It does what spec.power: ${power} asks as soon as the provider reports a status that it knows`,
      );
      expect(told(power)).not.toContain('control panel');
      expect(told(power, 'stopping')).toContain(`It does what spec.power: ${power} asks as soon as that has changed`);
    }
  });
});

describe('the call that is missing', () => {
  it.each<[Wanted, PowerState, PowerCall | undefined, string | undefined]>([
    [undefined, 'on', undefined, undefined],
    [undefined, 'off', undefined, undefined],
    [undefined, 'dormant', undefined, undefined],
    ['On', 'on', undefined, undefined],
    ['On', 'off', 'power-on', 'Starting'],
    ['On', 'dormant', 'wake', 'Starting'],
    ['On', 'starting', undefined, 'Starting'],
    ['On', 'stopping', undefined, 'Starting'],
    ['On', 'unknown', undefined, undefined],
    ['Off', 'on', 'shutdown', 'Stopping'],
    ['Off', 'off', undefined, 'PoweredOff'],
    ['Off', 'dormant', 'wake', 'Stopping'],
    ['Off', 'starting', undefined, 'Stopping'],
    ['Off', 'stopping', undefined, 'Stopping'],
    ['Off', 'unknown', undefined, undefined],
    ['Dormant', 'on', 'dormant', 'Stopping'],
    ['Dormant', 'off', 'dormant', 'Stopping'],
    ['Dormant', 'dormant', undefined, 'Dormant'],
    ['Dormant', 'starting', undefined, 'Stopping'],
    ['Dormant', 'stopping', 'dormant', 'Stopping'],
    ['Dormant', 'unknown', undefined, undefined],
  ])('for power: %s and a server that is %s is %s', (wanted, state, call, reason) => {
    const step = stepOf(wanted, state);
    expect([step.call, step.reason]).toEqual([call, reason]);
  });

  it('names the product that a dormant server had', () => {
    expect(stepOf('On', 'dormant').evidence?.due).toMatchObject({
      product: SERVER.product,
      account: ACCOUNT,
      readAt: 0,
    });
  });

  it('names the product that the server had awake, if it is shown as another one while it is dormant', () => {
    const record = { ...READY, price: { identifier: 'srv1', product: 'VPSX8', isDormant: true } } as const;
    expect(stepOf('On', 'dormant', { record }).evidence?.due).toMatchObject({ product: 'VPSX8' });
  });

  it('is repeated with growing pauses while the server does not change', () => {
    const calls = (count: number, minutes: number): unknown =>
      stepOf('Off', 'on', {
        last: { ...accepted('shutdown'), count } as Given['last'] & object,
        now: NOW + minutes * MINUTE,
      }).call;
    expect([calls(1, 1), calls(1, 2), calls(2, 3), calls(2, 4), calls(20, 59), calls(20, 60)]).toEqual([
      undefined,
      'shutdown',
      undefined,
      'shutdown',
      undefined,
      'shutdown',
    ]);
  });

  it('follows at once after a change of the object, and after a call that made another one due', () => {
    const last = accepted('shutdown');
    expect(stepOf('On', 'off', { ...(last && { last }) }).call).toBe('power-on');
    const at = viewed('Off', { ...(last && { last }) });
    const edited = { ...at, inputs: 'other' };
    expect(powerStep(edited, READY, SERVER, ACCOUNT).evidence).toMatchObject({ due: { call: 'shutdown' }, since: 0 });
    expect(powerStep(edited, READY, SERVER, ACCOUNT).evidence?.last).toBeUndefined();
  });

  it.each(['shutdown', 'power-on'] as const)('is not sent again to a provider that has no such call: %s', (call) => {
    const [wanted, state] = call === 'shutdown' ? (['Off', 'on'] as const) : (['On', 'off'] as const);
    const last = { call, answer: { state: 'notOffered' } } as const;
    const step = stepOf(wanted, state, { last, now: NOW + 1000 * MINUTE });
    expect([step.call, step.reason]).toEqual([undefined, 'PowerUnavailable']);
    expect(step.says).toContain('the provider API has no call to');
  });

  it('quotes a refusal, and is sent again after a pause', () => {
    const last = { call: 'power-on', answer: refused } as const;
    const step = stepOf('On', 'off', { last, now: NOW + 9_000 });
    expect([step.call, step.reason]).toEqual([undefined, 'PowerBlocked']);
    expect(step.says).toContain('refused to start server srv1: Server is locked');
    expect(stepOf('On', 'off', { last, now: NOW + 10_000 }).call).toBe('power-on');
  });

  it('waits as long as the provider asks', () => {
    const last = { call: 'power-on', answer: { state: 'failed', said: 'slow down', retryAfterMs: 90_000 } } as const;
    expect(stepOf('On', 'off', { last, now: NOW + 89_000 })).toMatchObject({ call: undefined, reason: 'Starting' });
    expect(stepOf('On', 'off', { last, now: NOW + 90_000 }).call).toBe('power-on');
  });

  it('counts for the server and the inputs that were read, and not for long', () => {
    const { evidence } = stepOf('Off', 'on');
    const view = (now: number, inputs?: string): OwnView => {
      const at = viewOf(webWith(READY, withPower('Off')), facts({ now, memo: memo({ power: evidence }) }));
      return { ...at, own: READY, ...(inputs !== undefined && { inputs }) };
    };
    expect(dueCall(view(NOW + 29_000))).toBe('shutdown');
    expect(dueCall(view(NOW + 30_000))).toBeUndefined();
    expect(dueCall(view(NOW, 'other'))).toBeUndefined();
    expect(dueCall({ ...view(NOW), own: { ...READY, identifier: 'srv2' } })).toBeUndefined();
    const sent = withCall(memo({ power: evidence }), 'shutdown', { state: 'accepted' }, 0);
    expect(sent.evidence.power).toMatchObject({ due: undefined, last: { call: 'shutdown', count: 1 } });
  });
});

describe('a guest that ignores the request to shut down', () => {
  const last = { call: 'shutdown', answer: { state: 'accepted' } } as const;

  it.each(['on', 'stopping'] as const)('needs attention after five minutes, while it is %s', (state) => {
    const step = stepOf('Off', state, { last, now: NOW + 5 * MINUTE });
    expect(step.reason).toBe('PowerBlocked');
    expect(step.says).toContain('kubectl vps stop web --force');
    expect(stepOf('Off', state, { last, now: NOW + 4 * MINUTE }).reason).toBe('Stopping');
  });

  it('is told in words that do not change at each read', () => {
    const says = [6, 7, 9].map((minutes) => stepOf('Off', 'on', { last, now: NOW + minutes * MINUTE }).says);
    expect(new Set(says).size).toBe(1);
  });

  it.each(['on', 'stopping', 'starting', 'unknown'] as const)(
    'is switched off by force only once you ask: %s',
    (state) => {
      const shape = { annotations: { [FORCE_OFF_ANNOTATION]: '2026-01-02T00:00:00Z' } };
      expect(stepOf('Off', state, { shape }).call).toBe('power-off');
      const done = { ...READY, forceOff: { asked: '2026-01-02T00:00:00Z' } };
      expect(stepOf('Off', state, { shape, record: done }).call).not.toBe('power-off');
    },
  );

  it.each<[Wanted, PowerState]>([
    ['Off', 'off'],
    ['On', 'on'],
    [undefined, 'on'],
    ['Dormant', 'on'],
  ])('is not switched off later by an annotation from when that was in vain: %s, %s', (wanted, state) => {
    const shape = { annotations: { [FORCE_OFF_ANNOTATION]: '2026-01-02T00:00:00Z' } };
    const step = stepOf(wanted, state, { shape });
    expect(step.call).not.toBe('power-off');
    expect(step.record.forceOff).toEqual({ asked: '2026-01-02T00:00:00Z', answer: 'Skipped' });
  });
});

describe('the annotation reboot', () => {
  const asking = (value: string): Shape => ({ annotations: { [REBOOT_ANNOTATION]: value } });
  const conditionOf = (value: string, record: Held = READY): unknown => {
    const found = rebooted(webWith(record, asking(value)), record);
    return found && [found.status, found.reason];
  };

  it.each<[string, PowerState, PowerCall | undefined]>([
    ['2026-01-02T00:00:00Z', 'on', 'reboot'],
    ['2026-01-02T01:00:00+01:00', 'on', 'reboot'],
    ['2026-01-02T00:00:00Z', 'starting', undefined],
    ['2026-01-02T00:00:01Z', 'on', undefined],
    ['2026-01-01T01:00:00Z', 'on', undefined],
    ['now', 'on', undefined],
    ['2026-13-02T00:00:00Z', 'on', undefined],
    ['', 'on', undefined],
    [`2026-01-02T00:00:00.${'0'.repeat(60)}Z`, 'on', undefined],
  ])('%s for a server that is %s leads to %s', (value, state, call) => {
    expect(stepOf(undefined, state, { shape: asking(value) }).call).toBe(call);
    if (state === 'on') expect(stepOf('On', state, { shape: asking(value) }).call).toBe(call);
  });

  it('waits for a later time, at which the server is read', () => {
    const step = stepOf(undefined, 'on', { shape: asking('2026-01-02T00:05:00Z') });
    expect(step.afterMs).toBe(5 * MINUTE);
    expect(conditionOf('2026-01-02T00:05:00Z')).toEqual(['False', 'RebootPending']);
  });

  it.each(['off', 'dormant'] as const)(
    'is done for a server that is %s, so that it does not restart later',
    (state) => {
      for (const wanted of [undefined, 'On', 'Off'] as const) {
        const step = stepOf(wanted, state, { shape: asking('2026-01-02T00:00:00Z') });
        expect(step.call).not.toBe('reboot');
        expect(step.record.reboot).toEqual({ asked: '2026-01-02T00:00:00Z', answer: 'Skipped' });
      }
    },
  );

  it('waits while the server is to shut down', () => {
    expect(stepOf('Off', 'on', { shape: asking('2026-01-02T00:00:00Z') }).call).toBe('shutdown');
  });

  it.each([undefined, 'Accepted', 'Refused', 'Skipped'] as const)('counts once, whatever came of it: %s', (answer) => {
    const reboot = { asked: '2026-01-02T00:00:00Z', ...(answer && { answer }) };
    const record = { ...READY, reboot };
    expect(stepOf(undefined, 'on', { shape: asking(reboot.asked), record }).call).toBeUndefined();
    const isDone = answer === 'Accepted';
    expect(conditionOf(reboot.asked, record)).toEqual(isDone ? ['True', 'Rebooted'] : ['False', 'RebootFailed']);
  });

  it('promises nothing for a server that only ends, and a restart after a pause', () => {
    const later = asking('2026-01-02T00:05:00Z');
    const messageOf = (shape: Shape, record: Held = READY): string | undefined =>
      rebooted(webWith(record, shape), record)?.message;
    expect(messageOf(later)).toMatch(/^The operator restarts the server at .*, once the server runs$/);
    expect(messageOf({ ...later, deleting: true })).toBeUndefined();
    expect(messageOf(later, { ...READY, expiredAt: '2026-01-02T00:00:00Z' })).toBeUndefined();
    expect(messageOf({ ...asking('now'), deleting: true })).toMatch(/restarts nothing$/);
    const paused = { annotations: { ...later.annotations, [PAUSED_ANNOTATION]: 'true' } };
    expect(messageOf(paused)).toMatch(/, once the server runs and the object is no longer paused$/);
  });

  it('counts again with another time', () => {
    const record = { ...READY, reboot: { asked: '2026-01-01T02:00:00Z', answer: 'Accepted' as const } };
    expect(stepOf(undefined, 'on', { shape: asking('2026-01-02T00:00:00Z'), record }).call).toBe('reboot');
  });

  it('says what is wrong with it', () => {
    const found = rebooted(webWith(READY, asking('soon')), READY);
    expect(found).toMatchObject({ status: 'False', reason: 'RebootFailed' });
    expect(found?.message).toContain('"soon", which is no time such as');
    expect(conditionOf('2026-01-01T01:00:00Z')).toBeUndefined();
    expect(rebooted(webWith(READY), READY)).toBeUndefined();
  });
});

it.each<[Wanted, string, boolean]>([
  ['Off', 'shut down', true],
  ['Dormant', 'shut down', true],
  ['On', 'shut down', false],
  [undefined, 'shut down', false],
  ['Off', 'running', false],
])('with power: %s, a server that is %s is off on purpose: %s', (power, serverStatus, isOff) => {
  expect(isOffOnPurpose(webWith(READY, { ...withPower(power), status: { serverStatus } }))).toBe(isOff);
});
