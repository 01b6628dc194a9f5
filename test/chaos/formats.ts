/** Scenarios with records that another version of the operator has written; added to those in `scenarios.ts`. */
import { ADOPT_ANNOTATION, RECONCILE_AT_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../src/api/names.ts';
import { RECORD_FORMAT } from '../../src/api/record.ts';
import { without } from '../../src/base/without.ts';
import { begin, stopped } from './acts.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';

const HOUR_MS = 3_600_000;

/** While no operator runs, `web` gets the record of another version. */
async function replaced(stage: Stage, change: (copy: Record<string, unknown>) => object): Promise<void> {
  await stopped(stage);
  await stage.people.rewriteRecord('web', change);
}

const askedAt = (stage: Stage): string | undefined => stage.objects.object('web')?.status?.cancelRequestedAt;

function stillAsked(stage: Stage, since: string | undefined): void {
  const now = askedAt(stage);
  if (now !== since)
    stage.violations.push(`status.cancelRequestedAt was ${since ?? 'unset'}, and is ${now ?? 'unset'} now`);
}

export const FORMATS: Readonly<Record<string, Scenario>> = {
  /** The format before leaves the doubt to the conditions. A write of the annotation may be refused, so that only the status gets it. */
  'upgraded-adopted-doubt': {
    async act(stage) {
      const { fleet } = stage.simulator;
      fleet.setAddresses('none');
      const { identifier } = fleet.addServer('default');
      await begin(stage);
      await stage.people.apply('web', {}, { [ADOPT_ANNOTATION]: identifier });
      await stage.rests('web');
      fleet.removeServer(identifier);
      await stage.people.edit('web', { annotations: { [ADOPT_ANNOTATION]: null, [RECONCILE_AT_ANNOTATION]: 'now' } });
      await stage.reaches('web', 'AbsenceUnproven', 'ServerMissing');
      fleet.reuseIdentifier(identifier, 'default');
      // From now on, a cancellation would hit a server that web does not own.
      stage.retained.add(identifier);
      await stage.reaches('web', 'IdentityUnproven');
      await replaced(stage, (copy) => without(copy, 'format', ...(copy.missingAt === undefined ? ['doubt'] : [])));
      await stage.people.remove('web');
      stage.leader.start();
      await stage.reaches('web', 'IdentityUnproven');
      await stage.people.edit('web', { annotations: { [SERVER_GONE_ANNOTATION]: identifier } });
      await stage.gone('web');
    },
  },
  /** A newer version asks for the cancellation, this version parks the object, and the newer one returns. */
  'parked-cancellation': {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      // The server stays visible. After a kill, the first answer to a DELETE that the operator hears is that to the next one.
      stage.simulator.fleet.setLag({ cancelMs: HOUR_MS, cancelAgain: 200 });
      await stage.people.remove('web');
      await stage.until('the cancellation to be asked for', () => askedAt(stage) !== undefined);
      const since = askedAt(stage);
      await replaced(stage, (copy) => ({ ...copy, format: RECORD_FORMAT + 1 }));
      stage.leader.start();
      await stage.reaches('web', 'RecordTooNew');
      stillAsked(stage, since);
      await replaced(stage, (copy) => ({ ...copy, format: RECORD_FORMAT }));
      stage.leader.start();
      const isRead = (): boolean => ![undefined, 'RecordTooNew'].includes(stage.reason('web'));
      await stage.until('the record to be read', isRead);
      stillAsked(stage, since);
      stage.simulator.fleet.setLag({ cancelMs: 0 });
      await stage.gone('web');
    },
  },
};
