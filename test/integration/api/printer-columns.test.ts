/** What `kubectl get` prints of our objects fits a terminal of 80 columns; the rest needs `-o wide`. */
import { expect, it } from 'vitest';
import { REASONS, SET_REASONS } from '../../../src/api/conditions.ts';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { kubectl } from '../kube/support.ts';
import { CREATE, lostOrder } from '../support/creates.ts';
import { readyServer } from '../support/records.ts';
import { createSet } from '../support/sets.ts';
import { createWorld, type World } from '../support/world.ts';

const COLUMNS = 80;
/** The longest age that kubectl prints. */
const AGE_LENGTH = '7y364d'.length;
const NAME = 'database-primary-eu1';
const other = (n: number): string => NAME.slice(0, -1) + String(n);
const IPV6 = '2001:0db8:1234:5678:9abc:def0:1234:5678';

/** The lines that kubectl prints, each with an age of the greatest length. */
async function linesOf(world: World, ...words: string[]): Promise<string[]> {
  const printed = await kubectl('get', '--namespace', world.namespace, ...words);
  return printed.trimEnd().split('\n').map(aged);
}

function aged(line: string, row: number): string {
  return row === 0 ? line : line.replace(/\S+$/, (age) => age.padEnd(AGE_LENGTH, '#'));
}

const tooLong = (lines: string[]): string[] => lines.filter((line) => line.length > COLUMNS);

it('prints servers that run, are ordered, failed or are being deleted, and sets, in 80 columns', async () => {
  const world = await createWorld();
  const { fleet, faults } = world.simulator;
  fleet.setTaskDuration(0);
  const { status } = await readyServer(world, NAME);
  fleet.updateServer(status?.identifier ?? '', { ipv6: [IPV6] });
  await world.annotate(NAME, { 'reconcile-at': 'now' });
  await world.waitFor(NAME, (object) => object.status?.ipv6?.[0] === IPV6);
  await readyServer(world, other(2), withSpec({ deletionProtection: true }));
  await world.delete(other(2));
  await world.waitForReason(other(2), 'DeletionProtected', 'Ready');
  await lostOrder(world, other(3), true);
  faults.inject({ match: CREATE, action: { kind: 'status', status: 422 } });
  await world.create(virtualServer(other(4)));
  await world.waitForReason(other(4), 'CreateRejected', 'Ready');
  await world.create(virtualServer(other(5), withAnnotations({ 'vps-operator.dev/adopt': 'vs9999' })));
  await world.waitForReason(other(5), 'ServerNotVisible', 'Ready');
  const set = await createSet(world, { replicas: 2 });
  await set.waitForReason('Available');
  fleet.setTaskDuration(Infinity);
  await world.create(virtualServer(other(6)));
  await world.waitForReason(other(6), 'Creating', 'Ready');

  fleet.setTaskDuration(0);
  await readyServer(world, other(7));
  await world.annotate(other(7), { paused: 'true' });
  await world.waitFor(other(7), (object) => object.status?.conditions?.some(({ type }) => type === 'Paused') === true);

  const servers = await linesOf(world, 'vps');
  expect(servers[0]).toMatch(/^NAME +READY +REASON +ENDS +AGE$/);
  expect(servers).toHaveLength(1 + 7 + 2);
  expect(servers.find((line) => line.startsWith(other(7)))).toMatch(/ True +Paused /);
  expect(tooLong(servers)).toEqual([]);
  const wide = await linesOf(world, 'vps', '--output', 'wide');
  expect(wide[0]).toMatch(/ AGE +PRODUCT +IDENTIFIER +IPV6 +SSH +IMAGE +ZONE +PRICE +PROGRESS +MESSAGE$/);
  expect(wide.find((line) => line.startsWith(NAME))).toContain(` ${IPV6} `);
  const sets = await linesOf(world, 'vpsset');
  expect(sets[0]).toMatch(/^NAME +DESIRED +READY +UPDATED +AVAILABLE +PRICE +AGE$/);
  expect(tooLong(sets)).toEqual([]);
});

it('shows when servers end in 80 columns', async () => {
  const world = await createWorld();
  const [first, second, third] = [NAME, other(2), other(3)];
  await readyServer(world, first, withSpec({ expiresAt: '2999-12-31T00:00:00Z' }));
  await readyServer(world, second, withSpec({ ttl: '24h' }));
  await readyServer(world, third, withSpec({ expiresAt: '2999-12-31T00:00:00Z' }));
  await world.annotate(third, { paused: 'true' });
  await world.waitFor(third, (object) => object.status?.conditions?.some(({ type }) => type === 'Paused') === true);
  const lines = await linesOf(world, 'vps');
  expect(tooLong(lines)).toEqual([]);
  const lineOf = (name: string): string | undefined => lines.find((line) => line.startsWith(name));
  expect(lineOf(first)).toMatch(/ Available +2999-12-31T00:00:00Z /);
  expect(lineOf(second)).toMatch(/ Available +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ /);
  expect(lineOf(third)).toMatch(/ Paused +2999-12-31T00:00:00Z /);
});

it('has room for a name of 20 characters with the longest reason, also in lists of sets and catalogs', async () => {
  const world = await createWorld({ operator: false });
  const reasons = Object.entries({ ...REASONS, ...SET_REASONS }).flatMap(([reason, meaning]) =>
    'ready' in meaning ? [reason] : [],
  );
  const condition = (reason: string) => ({
    type: 'Ready',
    status: 'Unknown',
    reason,
    message: '',
    lastTransitionTime: new Date().toISOString(),
  });
  const longest = reasons.reduce((a, b) => (a.length >= b.length ? a : b));
  await world.create(virtualServer(NAME, withSpec({ product: 'vps-128-ssd' })));
  await world.patch(NAME, { status: { conditions: [condition(longest)] } }, '/status');
  const set = await createSet(world, { replicas: 100 });
  const counts = { replicas: 100, readyReplicas: 100, updatedReplicas: 100, availableReplicas: 100, price: 12_345.67 };
  await set.patch({ status: { ...counts, conditions: [condition(longest)] } }, '/status');
  const folder = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
  const catalog = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: NAME }, spec: {} };
  await world.http.call({ method: 'POST', path: folder, body: catalog });

  for (const kind of ['vps', 'vpsset', 'vpscat']) {
    const lines = await linesOf(world, kind);
    expect(lines).toHaveLength(2);
    expect(tooLong(lines)).toEqual([]);
  }
});
