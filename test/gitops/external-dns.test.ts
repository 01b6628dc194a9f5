/** The real external-dns, with the flags and the rights of our example, publishes the addresses of servers. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { goProgram } from '../../tools/go-program.ts';
import { GITOPS_PROGRAMS } from '../../tools/go-programs.ts';
import { virtualServer, withAnnotations } from '../fixtures/virtual-server.ts';
import { PAUSED_ANNOTATION } from '../../src/api/names.ts';
import { kubectl } from '../integration/kube/support.ts';
import { readyServer } from '../integration/support/records.ts';
import { createSet } from '../integration/support/sets.ts';
import { createWorld } from '../integration/support/world.ts';
import { startZone, type DnsZone } from './dns-zone.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/external-dns/external-dns.yaml');
/** The flag of the example that the test replaces. */
const PROVIDER = '--provider=';

interface Workload {
  kind: string;
  spec: { template: { spec: { serviceAccountName: string; containers: { args: string[] }[] } } };
}

let program: string;
let kubeconfig: string;
let args: string[];

beforeAll(async () => {
  program = await goProgram(GITOPS_PROGRAMS.externalDns);
  await kubectl('apply', '--server-side', '-f', EXAMPLE);
  const documents = parseAllDocuments(await readFile(EXAMPLE, 'utf8')).map((each) => each.toJS() as Workload);
  const deployment = documents.find(({ kind }) => kind === 'Deployment');
  if (deployment === undefined) throw new Error('the example has no Deployment');
  const { serviceAccountName, containers } = deployment.spec.template.spec;
  args = containers.flatMap((container) => container.args).filter((arg) => !arg.startsWith(PROVIDER));
  kubeconfig = await kubeconfigOf(serviceAccountName);
  // The authorizer follows a watch.
  const asUser = ['--all-namespaces', `--kubeconfig=${kubeconfig}`];
  await vi.waitFor(() => kubectl('auth', 'can-i', 'list', 'vps', ...asUser), { timeout: 30_000 });
});
afterAll(async () => {
  await kubectl('delete', '--wait=false', '-f', EXAMPLE);
  await rm(join(kubeconfig, '..'), { recursive: true });
});

/** Resolves with the path of a kubeconfig with the rights of a ServiceAccount in the namespace default. */
async function kubeconfigOf(serviceAccount: string): Promise<string> {
  const token = (await kubectl('create', 'token', serviceAccount, '--namespace=default')).trim();
  const config = parse(await readFile(inject('kubeconfigPath'), 'utf8')) as { users: { user: object }[] };
  for (const each of config.users) each.user = { token };
  const path = join(await mkdtemp(join(tmpdir(), 'vps-operator-dns-')), 'kubeconfig');
  await writeFile(path, stringify(config), { mode: 0o600 });
  return path;
}

/** Runs external-dns once, as the example does, with another DNS provider. */
async function publish(zone: DnsZone, namespace: string): Promise<void> {
  const flags = [
    ...['--once', `--kubeconfig=${kubeconfig}`, `--namespace=${namespace}`, '--metrics-address=127.0.0.1:0'],
    ...['--provider=webhook', `--webhook-provider-url=${zone.url}`],
  ];
  await promisify(execFile)(program, [...args, ...flags], { timeout: 60_000 });
}

it('publishes the IPv6 addresses of servers, until the server expires or its object is deleted', async () => {
  const zone = await startZone();
  onTestFinished(() => zone.close());
  const world = await createWorld();
  const { namespace } = world;
  const nameOf = (name: string): string => `${name}.${namespace}.servers.example.org`;
  const addressesOf = async (name: string): Promise<string[]> =>
    (await readyServer(world, name)).status?.ipv6?.toSorted() ?? [];
  const web = { [nameOf('web')]: await addressesOf('web') };
  const db = { [nameOf('db')]: await addressesOf('db') };
  expect(Object.values({ ...web, ...db }).every((addresses) => addresses.length > 0)).toBe(true);
  // Without a server, and so without an address.
  await world.create(virtualServer('paused', withAnnotations({ [PAUSED_ANNOTATION]: 'true' })));
  await world.waitForReason('paused', 'Paused', 'Paused');

  await publish(zone, namespace);
  expect(zone.records('AAAA')).toEqual({ ...web, ...db });
  await publish(zone, namespace);
  expect(zone.records('AAAA')).toEqual({ ...web, ...db });

  await world.patch('db', { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
  await world.waitForReason('db', 'Expired', 'Stalled');
  await publish(zone, namespace);
  expect(zone.records('AAAA')).toEqual(web);

  await world.delete('web');
  await world.waitGone('web');
  await publish(zone, namespace);
  expect(zone.records('AAAA')).toEqual({});
});

it('publishes the addresses of the Ready members of a set under one name', async () => {
  const zone = await startZone();
  onTestFinished(() => zone.close());
  const world = await createWorld();
  const { namespace, simulator } = world;
  await createSet(world, { replicas: 2 });
  const members = await Promise.all(['web-0', 'web-1'].map((name) => world.waitForReason(name, 'Available', 'Ready')));
  const [first = [], second = []] = members.map(({ status }) => status?.ipv6 ?? []);
  const published = (): string[] | undefined => zone.records('AAAA')[`web.${namespace}.sets.example.org`];
  await publish(zone, namespace);
  expect(published()).toEqual([...first, ...second].toSorted());
  expect(zone.records('AAAA')[`web-1.${namespace}.servers.example.org`]).toEqual(second.toSorted());

  simulator.fleet.updateServer(members[1]?.status?.identifier ?? '', { status: 'stopped' });
  await world.annotate('web-1', { 'reconcile-at': 'now' });
  await world.waitForReason('web-1', 'ServerNotRunning', 'Ready');
  await publish(zone, namespace);
  expect(published()).toEqual(first.toSorted());
});
