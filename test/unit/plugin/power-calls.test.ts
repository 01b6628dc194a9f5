/** What objects show about calls that the provider does not have. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { needsCall, withoutCall, type PowerRequest } from '../../../src/plugin/decisions/power-calls.ts';
import { PRICED, webWith } from '../../fixtures/decision.ts';

const unavailable = (power: 'On' | 'Off' | 'Dormant'): VirtualServer =>
  webWith(PRICED, {
    spec: { power },
    status: {
      conditions: [
        {
          type: 'Stalled',
          status: 'True',
          reason: 'PowerUnavailable',
          message: '',
          lastTransitionTime: '2026-01-02T00:00:00Z',
          observedGeneration: 1,
        },
      ],
    },
  });
const notRestarted = webWith({
  ...PRICED,
  reboot: { asked: '2026-01-02T00:00:00Z', answer: 'Refused', said: 'the provider API has no such call' },
});

describe('a call that the provider does not have', () => {
  it.each<[PowerRequest, VirtualServer, boolean]>([
    ['Off', unavailable('Off'), true],
    ['On', unavailable('Off'), true],
    ['Dormant', unavailable('Off'), false],
    ['Dormant', unavailable('Dormant'), true],
    ['Off', unavailable('Dormant'), false],
    ['reboot', unavailable('Off'), false],
    ['reboot', notRestarted, true],
    ['Off', notRestarted, false],
    ['Off', webWith(PRICED), false],
  ])('for %s is known by what the object shows (%#)', (wanted, object, isKnown) => {
    expect(withoutCall(wanted, [webWith(PRICED), object])).toBe(isKnown ? object : undefined);
  });

  it('is not needed by a server that is on already', () => {
    const running = webWith(PRICED, { status: { serverStatus: 'running' } });
    const off = webWith(PRICED, { status: { serverStatus: 'shut down' } });
    expect([needsCall('On', running), needsCall('On', off), needsCall('Off', running)]).toEqual([false, true, true]);
  });
});
