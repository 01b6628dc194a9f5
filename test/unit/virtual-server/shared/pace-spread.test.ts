import { describe, expect, it } from 'vitest';
import { FORCE_OFF_ANNOTATION, REBOOT_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import type { StoredRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { spread } from '../../../../src/virtual-server/shared/pace.ts';
import { HELD, NOW, doubted, web, webWith, type Shape } from '../../../fixtures/decision.ts';

const READY = { ...HELD, readyAt: '2026-01-01T00:00:00Z' };
const INTERVAL_MS = 600_000;
const COUNT = 2_000;

function ready(uid: string, observedGeneration = 1): VirtualServer {
  const object = webWith({ ...READY, owner: uid }, { status: { serverStatus: 'running', observedGeneration } });
  return { ...object, metadata: { ...object.metadata, uid } };
}

const servers = Array.from({ length: COUNT }, (_, index) => ready(`uid-${index}`));

/** When a start at `now` plans to read each object, by uid. */
function planned(listed: readonly VirtualServer[], now: number, interval = INTERVAL_MS): Map<string, number> {
  const times = new Map<string, number>();
  const remember = (uid: string, { plan }: Memo): void => void times.set(uid, plan?.at ?? NaN);
  spread(listed, { remember }, now, () => interval);
  return times;
}

describe('the reads after a start', () => {
  it('are spread evenly over the next interval', () => {
    const times = [...planned(servers, NOW).values()];
    expect(times.every((at) => at > NOW && at <= NOW + INTERVAL_MS)).toBe(true);
    const perTenth = Array.from({ length: 10 }, (_, tenth) => {
      const from = NOW + (tenth * INTERVAL_MS) / 10;
      return times.filter((at) => at > from && at <= from + INTERVAL_MS / 10).length;
    });
    expect(Math.max(...perTenth)).toBeLessThan((1.3 * COUNT) / 10);
    expect(Math.min(...perTenth)).toBeGreaterThan((0.7 * COUNT) / 10);
  });

  it('are as few in a loop of ten restarts as after one start', () => {
    const restarts = Array.from({ length: 10 }, (_, index) => NOW + index * 6_000);
    const end = NOW + 60_000;
    const reads = (starts: readonly number[]): number =>
      starts.flatMap((start, index) => {
        const until = starts[index + 1] ?? end;
        return [...planned(servers, start).values()].filter((at) => at <= until);
      }).length;
    expect(reads(restarts)).toBe(reads([NOW]));
    expect(reads([NOW])).toBeGreaterThan(0);
  });

  it('are not planned for an object that was edited while no operator ran, or was never ready, is being deleted, does not run, or is in doubt', () => {
    const running = { serverStatus: 'running', observedGeneration: 1 };
    const others = [
      webWith(HELD, { status: running }),
      webWith(READY, { status: { ...running, serverStatus: 'stopped' } }),
      webWith(doubted(READY, 'AbsenceUnproven'), { status: running }),
      webWith(READY, { status: running, deleting: true }),
      webWith({ ...READY, missingAt: '2026-01-02T00:00:00Z' }, { status: running }),
    ];
    expect(planned([ready('edited', 0), ...others], NOW).size).toBe(0);
  });

  const running = { serverStatus: 'running', observedGeneration: 1 };
  const change = { identifier: 'srv1', change: '{"tablet":false}', since: '2026-01-01T23:59:00Z' };
  const stopped: StoredRecord = { ...READY, change: { ...change, phase: 'stop', stoppedAt: '2026-01-01T23:59:00Z' } };
  const asking = (annotation: string, value: string, spec: Shape['spec'] = {}): VirtualServer =>
    webWith(READY, { status: running, spec, annotations: { [annotation]: value } });
  it.each([
    ['that the last process has shut down for a change', web({ annotated: stopped, mirror: READY, status: running })],
    ['that only the mirror knows as shut down', web({ annotated: READY, mirror: stopped, status: running })],
    ['of which a change is under way', webWith({ ...READY, change }, { status: running })],
    ['whose restart is overdue', asking(REBOOT_ANNOTATION, '2026-01-01T23:59:00Z')],
    ['whose restart is yet to come', asking(REBOOT_ANNOTATION, '2026-01-02T00:09:00Z')],
    ['that will be switched off by force', asking(FORCE_OFF_ANNOTATION, '2026-01-01T23:59:00Z')],
    ['that you have said to be gone', asking(SERVER_GONE_ANNOTATION, 'srv1')],
    ['that runs and should be off', webWith(READY, { status: running, spec: { power: 'Off' } })],
    ['that runs and should be dormant', webWith(READY, { status: running, spec: { power: 'Dormant' } })],
  ])('are not planned for a server %s', (_what, object) => {
    expect(planned([object], NOW).size).toBe(0);
  });

  it('are planned for a server that is off as asked, and for one whose restart was carried out', () => {
    const asked = '2026-01-01T23:59:00Z';
    const restarted = webWith(
      { ...READY, reboot: { asked, answer: 'Accepted' } },
      { status: running, annotations: { [REBOOT_ANNOTATION]: asked } },
    );
    const off = webWith(READY, { status: { ...running, serverStatus: 'shut down' }, spec: { power: 'Off' } });
    expect([planned([restarted], NOW).size, planned([off], NOW).size]).toEqual([1, 1]);
  });
});
