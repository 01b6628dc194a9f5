/** /metrics of a real operator process over a life and its failures: which series exist, and that they are right. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CONDITION_TYPES, REASONS } from '../../../src/api/conditions.ts';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL } from '../../../src/api/names.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { CREATE } from '../support/creates.ts';
import { readyServer } from '../support/records.ts';
import { spawnOperator } from '../support/process.ts';
import { pageUrl, scrape, valueOf, type Family } from '../support/scrape.ts';
import { createWorld, type World } from '../support/world.ts';

const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const METRICS = '--metrics-bind-address=127.0.0.1:0';
const SERVERS = { controller: 'virtualserver' };
const CREATED = { operation: 'createServer', result: 'success' };

async function observedWorld(flags: string[] = []): Promise<{ world: World; url: string }> {
  const world = await createWorld({ operator: false });
  await spawnOperator(world, [METRICS, ...flags]);
  return { world, url: await pageUrl(world, '/metrics') };
}

/** Waits until a scrape shows the value. */
async function shows(
  world: World,
  url: string,
  name: string,
  labels: Record<string, string>,
  value: number,
): Promise<Family[]> {
  let families: Family[] = [];
  await world.until(
    async () => valueOf((families = await scrape(url)), name, labels) === value,
    () => `${name}${JSON.stringify(labels)} ${value}; it is ${String(valueOf(families, name, labels))}`,
  );
  return families;
}

/** Series from prom-client. */
const isOfNode = ({ name }: Family): boolean => name.startsWith('process_') || name.startsWith('nodejs_');

/** The only label with a user's name in it, a namespace; an administrator has to enable it. */
const NAMESPACE_LABEL = 'object_namespace';
/** Families without a sample before the first server, set or listing catalog, and the labels of their samples. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  vps_operator_catalog_servers: [NAMESPACE_LABEL, 'catalog', 'state'],
  vps_operator_namespace_servers: [NAMESPACE_LABEL],
  vps_operator_namespace_servers_price: [NAMESPACE_LABEL],
  vps_operator_set_spec_replicas: [NAMESPACE_LABEL, 'set'],
  vps_operator_set_status_replicas: [NAMESPACE_LABEL, 'set', 'state'],
  vps_operator_set_min_available: [NAMESPACE_LABEL, 'set'],
  vps_operator_set_status_price: [NAMESPACE_LABEL, 'set'],
};
const isLater = ({ name }: Family): boolean => Object.hasOwn(LATER, name);

describe('the metrics of an operator', () => {
  it('all exist from the start, as docs/reference/metrics.md lists them', async () => {
    const { world, url } = await observedWorld();
    const families = await scrape(url);
    await world.until(() => world.log.some(({ msg }) => msg === 'operator runs'), 'the operator to run');
    const own = families.filter((family) => !isOfNode(family));
    const names = (family: Family): string[] => [
      ...new Set(family.samples.flatMap(({ labels }) => Object.keys(labels)).filter((label) => label !== 'le')),
    ];
    const rows = own.map((family) => {
      const labels = (LATER[family.name] ?? names(family)).map((label) => `\`${label}\``);
      return `| \`${family.name}\` | ${family.type} | ${labels.join(', ')} | ${family.help.replace('<', '\\<')} |`.replace(
        '|  |',
        '| |',
      );
    });
    const docs = await readFile(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');
    expect(
      docs
        .slice(docs.indexOf('## Metrics'))
        .split('\n')
        .filter((line) => line.startsWith('| `'))
        .sort(),
    ).toEqual(rows.sort());
    expect(own.filter((family) => family.samples.length === 0 && !isLater(family))).toEqual([]);
    expect(families.filter(({ name }) => name === 'process_resident_memory_bytes')).toHaveLength(1);
    expect(families.filter(({ name, type }) => (type === 'counter') !== name.endsWith('_total'))).toEqual([]);
  });

  it('follow a server from its order to its end', async () => {
    const { world, url } = await observedWorld();
    await readyServer(world, 'web');
    const ready = await shows(world, url, 'vps_operator_servers', { ready: 'True', reason: 'Available' }, 1);
    const values = (name: string, labels?: Record<string, string>) => valueOf(ready, name, labels);
    expect(values('vps_operator_servers_price')).toBe(1018);
    const here = { [NAMESPACE_LABEL]: world.namespace };
    expect(values('vps_operator_namespace_servers', here)).toBe(1);
    expect(values('vps_operator_namespace_servers_price', here)).toBe(1018);
    expect(values('vps_operator_provider_requests_total', CREATED)).toBe(1);
    expect(values('vps_operator_provider_request_duration_seconds_count', { operation: 'createServer' })).toBe(1);
    expect(values('vps_operator_token_logins_total', { result: 'success' })).toBe(1);
    expect(values('vps_operator_provisioning_duration_seconds_count')).toBe(1);
    // Starts with the second in which the order was recorded, and ends after the task, which takes 300 ms.
    expect(values('vps_operator_provisioning_duration_seconds_sum')).toBeGreaterThanOrEqual(0.3);
    expect(values('controller_runtime_max_concurrent_reconciles', SERVERS)).toBe(4);
    expect(values('leader_election_master_status', { name: 'vps-operator' })).toBe(1);
    expect(values('vps_operator_build_info', { version })).toBe(1);
    expect(values('vps_operator_interval_stretch_ratio', { interval: 'poll' })).toBe(1);
    for (const name of ['workqueue_adds_total', 'workqueue_queue_duration_seconds_count'])
      expect(values(name, { name: 'virtualserver' })).toBeGreaterThan(0);
    expect(values('rest_client_requests_total', { code: '200', method: 'PATCH' })).toBeGreaterThan(0);
    expect(values('controller_runtime_reconcile_time_seconds_count', SERVERS)).toBe(
      ['success', 'error', 'requeue', 'requeue_after'].reduce(
        (sum, result) => sum + (values('controller_runtime_reconcile_total', { ...SERVERS, result }) ?? 0),
        0,
      ),
    );

    await world.delete('web');
    await world.waitGone('web');
    const gone = await shows(world, url, 'vps_operator_servers', { ready: 'True', reason: 'Available' }, 0);
    expect(valueOf(gone, 'vps_operator_servers_price')).toBe(0);
    expect(
      valueOf(gone, 'vps_operator_provider_requests_total', { operation: 'deleteServer', result: 'success' }),
    ).toBe(1);
    expect(valueOf(gone, 'vps_operator_lost_servers_total')).toBe(0);
    expect(valueOf(gone, 'controller_runtime_reconcile_errors_total', SERVERS)).toBe(0);
  });

  it('follow a catalog from a missing key to its lists and its end', async () => {
    const { world, url } = await observedWorld();
    const folder = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
    const spec = { apiKeySecretRef: { name: 'later' } };
    const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec };
    await world.http.call({ method: 'POST', path: folder, body });
    const catalogs = 'vps_operator_catalogs';
    const missing = await shows(world, url, catalogs, { ready: 'False', reason: 'SecretNotFound' }, 1);
    expect(valueOf(missing, 'vps_operator_servers', { ready: 'True' })).toBe(0);
    await world.putSecret('later', DEFAULT_KEY);
    const ready = await shows(world, url, catalogs, { ready: 'True', reason: 'Available' }, 1);
    expect(valueOf(ready, catalogs, { reason: 'SecretNotFound' })).toBeUndefined();
    const controller = 'servercatalog';
    const visits = { controller, result: 'requeue_after' };
    // A visit is counted when it ends, after it has written the status.
    let counted = ready;
    await world.until(
      async () => (valueOf((counted = await scrape(url)), 'controller_runtime_reconcile_total', visits) ?? 0) >= 2,
      'two visits of the catalog',
    );
    expect(valueOf(counted, 'workqueue_adds_total', { name: controller })).toBeGreaterThanOrEqual(2);
    expect(valueOf(counted, 'controller_runtime_reconcile_errors_total', { controller })).toBe(0);
    await world.http.call({ method: 'DELETE', path: `${folder}/catalog` });
    await shows(world, url, catalogs, { ready: 'True', reason: 'Available' }, 0);
  });

  it('show an order with an unknown outcome, its held deletion, and its removal by force', async () => {
    const { world, url } = await observedWorld();
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'drop', after: true } });
    await world.create(virtualServer('web'));
    const parked = await shows(world, url, 'vps_operator_parked_creates', {}, 1);
    expect(valueOf(parked, 'vps_operator_servers', { ready: 'Unknown', reason: 'CreateOutcomeUnknown' })).toBe(1);
    const lost = { operation: 'createServer', result: 'unreachable' };
    expect(valueOf(parked, 'vps_operator_provider_requests_total', lost)).toBe(1);
    expect(valueOf(parked, 'vps_operator_provider_requests_total', CREATED)).toBe(0);
    expect(valueOf(parked, 'vps_operator_deleting_servers')).toBe(0);

    await world.delete('web');
    const deleting = await shows(world, url, 'vps_operator_deleting_servers', {}, 1);
    const age = valueOf(deleting, 'vps_operator_oldest_deletion_seconds');
    await world.until(
      async () => (valueOf(await scrape(url), 'vps_operator_oldest_deletion_seconds') ?? 0) > (age ?? 0),
      'the oldest deletion to grow older',
    );

    await world.patch('web', { metadata: { finalizers: null } });
    const forced = await shows(world, url, 'vps_operator_lost_servers_total', {}, 1);
    expect(valueOf(forced, 'vps_operator_parked_creates')).toBe(0);
    expect(valueOf(forced, 'vps_operator_deleting_servers')).toBe(0);
    expect(valueOf(forced, 'vps_operator_oldest_deletion_seconds')).toBe(0);
    // A reason that no object has must have no series either.
    expect(valueOf(forced, 'vps_operator_servers', { reason: 'CreateOutcomeUnknown' })).toBeUndefined();
  });

  it('have no name, identifier or secret in any label, and only known values', async () => {
    const { world, url } = await observedWorld();
    const { status } = await readyServer(world, 'a-telling-name');
    const samples = (await scrape(url))
      .filter((family) => !isOfNode(family) && !isLater(family))
      .flatMap((family) => family.samples);
    const text = JSON.stringify(samples.map(({ labels }) => labels));
    for (const word of ['a-telling-name', world.namespace, status?.identifier ?? '?', 'simulated', 'token-'])
      expect(text).not.toContain(word);
    const reasons = new Set<string | undefined>([...Object.keys(REASONS), ...CONDITION_TYPES, 'Other']);
    for (const { labels } of samples) {
      if (labels.reason !== undefined) expect(reasons).toContain(labels.reason);
      if (labels.code !== undefined) expect(labels.code).toMatch(/^(\d{3}|<error>)$/);
      if (labels.method !== undefined) expect(labels.method).toMatch(/^(GET|POST|PUT|PATCH|DELETE)$/);
    }
  });
});
