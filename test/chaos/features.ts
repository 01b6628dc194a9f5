/** Scenarios with optional features of an object; added to those in `scenarios.ts`. */
import { CANCEL_NOW_ANNOTATION, HAND_OVER_ANNOTATION, RECONCILE_AT_ANNOTATION } from '../../src/api/names.ts';
import type { SimulatedProduct } from '../../src/simulator/index.ts';
import { recordOf } from '../fixtures/records.ts';
import { begin, removed } from './acts.ts';
import { shows } from '../oracles/catalogs.ts';
import { checkTrusted, keepsFirstKey, SECRET } from './host-keys.ts';
import { isOrder } from './labels.ts';
import type { Scenario, Unusual } from './scenarios.ts';
import type { Stage } from './stage.ts';

const SMALL = { code: 'VPSX4', ram: 1024, cores: 1, price: 1018 };
const LARGE = { code: 'VPSX256', ram: 65_536, cores: 8, price: 200_000 };
const OTHER_KEY = { keyId: 'another-key', secret: 'the-secret-of-another-key' };
const CATALOG = 'catalog';

/** Puts every ordered server behind the stage's SSH host. */
const behindSshHost: Unusual = async (exchange, forward, stage) => {
  const answer = await forward();
  const ssh_proxy = { hostname: '127.0.0.1', port: stage.sshHost.port };
  if (isOrder(exchange))
    for (const { identifier } of stage.simulator.aliveServers())
      stage.simulator.fleet.updateServer(identifier, { ssh_proxy });
  return answer;
};

function offer(stage: Stage, products: SimulatedProduct[]): void {
  stage.simulator.provider.setCatalog({ products });
}

/** Waits until the object has settled, reports that SSH answers, and trusts the key of the host. */
async function answered(stage: Stage): Promise<void> {
  stage.sshHost.answers = true;
  await stage.rests('web');
  checkTrusted(stage, stage.sshHost.key);
  const { conditions = [] } = stage.objects.object('web')?.status ?? {};
  if (!conditions.some(({ type, status }) => type === 'Reachable' && status === 'True'))
    stage.violations.push(`web is Available but not Reachable: ${JSON.stringify(conditions)}`);
}

async function unanswered(stage: Stage): Promise<void> {
  stage.sshHost.answers = false;
  await stage.reaches('web', 'Unreachable');
}

async function catalogShows(stage: Stage): Promise<void> {
  const lists = await stage.panel.lists();
  await stage.until('the catalog to show what the provider lists', () => shows(stage.objects.catalog, lists));
}

/** There is room for one server in the limit, and its price is known. */
const oneAtATime: Unusual = (exchange, forward, stage) => {
  const alive = stage.simulator.aliveServers().map(({ identifier }) => identifier);
  if (isOrder(exchange) && alive.length > 0)
    stage.violations.push(`a server was ordered beside ${alive.join()}, which passes the limit in money`);
  return forward();
};

/** Nothing may be ordered or cancelled from here until the returned function is called. */
function unchanged(stage: Stage): () => void {
  const { ledger } = stage.simulator;
  const counts = (): string => `${ledger.creates().length} orders, ${ledger.cancels().length} cancellations`;
  const before = counts();
  return () => {
    if (counts() !== before) stage.violations.push(`after a hand-over there are ${counts()} instead of ${before}`);
  };
}

/** `web` is deleted, and is to hand its server over to `next`. */
async function given(stage: Stage): Promise<{ sshKeys: string[] | undefined; check: () => void }> {
  await begin(stage);
  await stage.people.apply('web', { deletionDelay: '1h' });
  await stage.rests('web');
  const sshKeys = stage.objects.object('web')?.spec.sshKeys;
  const check = unchanged(stage);
  await stage.people.remove('web');
  await stage.reaches('web', 'DeletionDelayed');
  await stage.people.edit('web', { annotations: { [HAND_OVER_ANNOTATION]: 'next' } });
  return { sshKeys, check };
}

export const FEATURES: Readonly<Record<string, Scenario>> = {
  'handed-over': {
    async act(stage) {
      const { sshKeys, check } = await given(stage);
      await stage.people.apply('next', { deletionDelay: '1h', sshKeys });
      await stage.gone('web');
      await stage.rests('next');
      check();
      await stage.people.remove('next');
      await stage.reaches('next', 'DeletionDelayed');
      check();
      const identifier = stage.objects.object('next')?.status?.identifier ?? '';
      await stage.people.edit('next', { annotations: { [CANCEL_NOW_ANNOTATION]: identifier } });
      await stage.gone('next');
    },
  },
  'handed-over-refused': {
    async act(stage) {
      const { sshKeys, check } = await given(stage);
      await stage.people.apply('next', { sshKeys, expiresAt: '2026-01-01T00:00:00Z' });
      await stage.reaches('next', 'HandOverRefused');
      check();
      await stage.people.edit('next', { spec: { expiresAt: null } });
      await stage.gone('web');
      await stage.rests('next');
      check();
      await removed(stage, 'next');
    },
  },
  'handed-over-and-left': {
    async act(stage) {
      const { sshKeys, check } = await given(stage);
      stage.retained.add(sshKeys?.join('\n'));
      await stage.people.apply('next', { deletionPolicy: 'Retain', sshKeys });
      await stage.until('the server to be taken over', () => {
        const next = stage.objects.object('next');
        return next !== undefined && recordOf(next)?.takenFrom !== undefined;
      });
      // Without the taker, nothing but its record would keep the first object from the server.
      await stage.people.remove('next');
      await stage.people.edit('web', { spec: { deletionDelay: null }, annotations: { [HAND_OVER_ANNOTATION]: null } });
      await stage.gone('web');
      await stage.gone('next');
      check();
    },
  },
  'cancelled-late': {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      const { spec, status } = stage.objects.object('web') ?? {};
      // The provider answers the DELETE with 200, and may cancel the server at any time.
      stage.simulator.fleet.setCancelTakes(Infinity);
      await stage.people.remove('web');
      await stage.reaches('web', 'CancellationUnconfirmed');
      await stage.people.edit('web', { annotations: { [HAND_OVER_ANNOTATION]: 'next' } });
      await stage.people.apply('next', { sshKeys: spec?.sshKeys });
      await stage.reaches('next', 'HandOverRefused');
      await stage.reaches('web', 'CancellationUnconfirmed');
      const check = unchanged(stage);
      stage.simulator.fleet.setCancelTakes(0);
      stage.simulator.fleet.removeServer(status?.identifier ?? '');
      // Nothing is ordered in place of the server until you say so.
      await stage.reaches('web', 'HandOverRefused');
      await stage.reaches('next', 'HandOverRefused');
      check();
      await stage.people.edit('web', { annotations: { [HAND_OVER_ANNOTATION]: null } });
      await stage.gone('web');
      await stage.rests('next');
      await removed(stage, 'next');
    },
  },
  expired: {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      await stage.people.edit('web', { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
      await stage.reaches('web', 'Expired');
      // An extension after the expiry comes too late, and must not order another server.
      await stage.people.edit('web', { spec: { expiresAt: '2100-01-01T00:00:00Z' } });
      await stage.reaches('web', 'Expired');
      await removed(stage, 'web');
    },
  },
  reachable: {
    provider: behindSshHost,
    async act(stage) {
      stage.sshHost.answers = false;
      await begin(stage);
      await stage.people.apply('web', { sshCheck: 'Proxy' });
      // An object that adopts its server after a lost order does not know that the server is booting.
      await stage.reaches('web', 'Booting', 'Unreachable');
      await answered(stage);
      await unanswered(stage);
      await answered(stage);
      await removed(stage, 'web');
    },
  },
  'reachable-with-changing-keys': {
    provider: behindSshHost,
    flags: ['--connection-secrets'],
    async act(stage) {
      const first = stage.sshHost.key;
      const second = stage.sshHost.replaceKeyAfterNext();
      await begin(stage);
      await stage.people.apply('web', { sshCheck: 'Proxy', connectionSecretName: SECRET });
      await stage.rests('web');
      await keepsFirstKey(stage, first, second);
      await removed(stage, 'web');
    },
  },
  'at-price-limit': {
    provider: oneAtATime,
    flags: ['--max-price-per-namespace=2035'],
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      await stage.people.apply('db');
      await stage.reaches('db', 'PriceLimit');
      await removed(stage, 'web');
      await stage.rests('db');
      await removed(stage, 'db');
    },
  },
  catalog: {
    async act(stage) {
      await stage.people.putSecret();
      await stage.people.applyCatalog(CATALOG);
      await stage.start();
      await catalogShows(stage);
      offer(stage, [SMALL, LARGE]);
      // The request is made only once, so a process that dies must not take it along.
      const annotations = { [RECONCILE_AT_ANNOTATION]: 'now' };
      await stage.people.editCatalog(CATALOG, { metadata: { annotations } });
      await catalogShows(stage);
      // A second key, whose first read the catalog may or may not share with the check of a new server.
      offer(stage, [SMALL]);
      stage.simulator.accounts.addKey('default', OTHER_KEY);
      await stage.people.putSecret(OTHER_KEY, 'other');
      const spec = { apiKeySecretRef: { name: 'other' } };
      await Promise.all([stage.people.editCatalog(CATALOG, { spec }), stage.people.apply('web', spec)]);
      await catalogShows(stage);
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
};
