/** Scenarios with records that another version of the operator has written; added to those in `scenarios.ts`. */
import { ADOPT_ANNOTATION, RECONCILE_AT_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../src/api/names.ts';
import { without } from '../../src/base/without.ts';
import { begin, stopped } from './acts.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';

/** While no operator runs, `web` gets the record of another version. */
async function replaced(stage: Stage, change: (copy: Record<string, unknown>) => object): Promise<void> {
  await stopped(stage);
  await stage.people.rewriteRecord('web', change);
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
};
