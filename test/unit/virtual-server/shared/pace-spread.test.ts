import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { spread } from '../../../../src/virtual-server/shared/pace.ts';
import { HELD, NOW, doubted, webWith } from '../../../fixtures/decision.ts';

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
});
