/** Scenarios with a provider that lags, denies, fails and suspends; added to those in `scenarios.ts`. */
import { RECONCILE_AT_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../src/api/names.ts';
import { DEFAULT_KEY } from '../../src/simulator/index.ts';
import { begin, removed } from './acts.ts';
import { jsonAnswer, type Exchange } from './exchange.ts';
import { recordOf } from '../fixtures/records.ts';
import type { Scenario, Unusual } from './scenarios.ts';
import type { Stage } from './stage.ts';

const OTHER_KEY = { keyId: 'key-of-another-account', secret: 'the-secret-of-another-account' };

const isPoll = ({ path }: Exchange): boolean => path.includes('/queue/vps/');

/** Stages whose polls are answered; before that, polls fail until the key of the other account is in place. */
const polledLate = new WeakSet<Stage>();
const unpolledAtFirst: Unusual = (exchange, forward, stage) =>
  isPoll(exchange) && !polledLate.has(stage) ? Promise.resolve(jsonAnswer(503, {})) : forward();

function identifierOf(stage: Stage, name: string): string {
  const object = stage.objects.object(name);
  return (object && recordOf(object)?.identifier) ?? '';
}

export const WORSE: Readonly<Record<string, Scenario>> = {
  'lagging-reads': {
    async act(stage) {
      stage.simulator.fleet.setLag({ taskMs: 300, serverMs: 400, cancelMs: 300 });
      await begin(stage);
      await stage.people.apply('web');
      await stage.people.apply('db');
      // One object is deleted as soon as its order is known, the other once it is Ready.
      await stage.until('the order of web to be known', () => {
        const object = stage.objects.object('web');
        return object !== undefined && (recordOf(object)?.task !== undefined || stage.reason('web') === 'Available');
      });
      await stage.people.remove('web');
      await stage.rests('db');
      await removed(stage, 'db');
      await stage.gone('web');
    },
  },
  'cancelled-elsewhere': {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      stage.simulator.fleet.removeServer(identifierOf(stage, 'web'));
      await removed(stage, 'web');
    },
  },
  'identifier-given-to-another': {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      const identifier = identifierOf(stage, 'web');
      stage.simulator.fleet.removeServer(identifier);
      await stage.reaches('web', 'ServerMissing');
      // From now on, a cancellation would hit a server that web does not own.
      stage.simulator.fleet.reuseIdentifier(identifier, 'default');
      stage.retained.add(identifier);
      await removed(stage, 'web');
    },
  },
  'doubt-covered': {
    async act(stage) {
      stage.simulator.fleet.setAddresses('none');
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      const identifier = identifierOf(stage, 'web');
      stage.simulator.fleet.removeServer(identifier);
      await stage.people.edit('web', { annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } });
      await stage.reaches('web', 'AbsenceUnproven', 'ServerMissing');
      // No later process shows the doubt either.
      await stage.people.edit('web', { spec: { deletionProtection: true } });
      await stage.people.remove('web');
      await stage.reaches('web', 'DeletionProtected');
      stage.simulator.fleet.reuseIdentifier(identifier, 'default');
      stage.retained.add(identifier);
      await stage.people.edit('web', { spec: { deletionProtection: false } });
      await stage.reaches('web', 'IdentityUnproven');
      await stage.people.edit('web', { annotations: { [SERVER_GONE_ANNOTATION]: identifier } });
      await stage.gone('web');
    },
  },
  'task-failed': {
    async act(stage) {
      stage.tasksEnd = false;
      await begin(stage);
      await stage.people.apply('web');
      await stage.until('the order to be known', () => stage.simulator.ledger.creates().length > 0);
      const [create] = stage.simulator.ledger.creates();
      stage.simulator.fleet.failTask(create?.task ?? 0, { text: 'Failed: no space left', identifier: false });
      await stage.people.remove('web');
      await stage.gone('web');
    },
  },
  'account-suspended': {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      stage.simulator.accounts.suspend('default', 'login');
      stage.simulator.accounts.forgetTokens();
      await stage.reaches('web', 'InvalidCredentials');
      stage.simulator.accounts.resume('default');
      await stage.people.edit('web', { annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } });
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'key-of-another-account': {
    provider: unpolledAtFirst,
    async act(stage) {
      const { accounts, fleet } = stage.simulator;
      fleet.setTaskNumbering('account');
      accounts.addKey('other', OTHER_KEY);
      const foreign = { code: 'VPSX4', ram: 1024, cores: 1, price: 1018 };
      fleet.create('other', foreign, 10, { ssh_keys: 'elsewhere' });
      stage.retained.add('elsewhere');
      await begin(stage);
      await stage.people.apply('web');
      await stage.until('the order to be known', () => stage.simulator.ledger.creates().length > 1);
      await stage.people.putSecret(OTHER_KEY);
      await stage.people.remove('web');
      polledLate.add(stage);
      const noticed = ['IdentityUnproven', 'ServerNotVisible', 'CreateOutcomeUnknown'];
      // An operator that has just read the right key may complete the deletion with it.
      await stage.until('the wrong key to be noticed, the order to be open, or the object to be gone', () => {
        return stage.objects.object('web') === undefined || noticed.includes(stage.reason('web') ?? '');
      });
      await stage.people.putSecret(DEFAULT_KEY);
      await stage.gone('web');
    },
  },
};
