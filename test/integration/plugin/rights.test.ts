/** Each command with exactly the rights that the page lists for it, compared with what it asks for by the audit log. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import {
  API_VERSION,
  CATALOG_KIND,
  CATALOG_PLURAL,
  GROUP,
  RECORD_ANNOTATION,
  SERVER_PLURAL,
  SET_KIND,
  SET_PLURAL,
} from '../../../src/api/names.ts';
import { ORPHANS_EXIT } from '../../../src/plugin/commands/orphans.ts';
import { EXIT } from '../../../src/plugin/terminal/failure.ts';
import { createProgram } from '../../../src/plugin/program/program.ts';
import type { Terminal } from '../../../src/plugin/terminal/terminal.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { SSH_KEY, virtualServer, withAnnotations } from '../../fixtures/virtual-server.ts';
import { useAudit } from '../support/audit.ts';
import { lostOrder } from '../support/creates.ts';
import { startKubelet } from '../support/kubelet.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { accountIn, grant, userOf, type Right } from '../support/service-account.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
const audited = useAudit();

const PAGE = join(import.meta.dirname, '../../../docs/reference/kubectl-plugin.md');
const TAB = 'Tab after ';
const GROUPS: Record<string, string> = {
  [SERVER_PLURAL]: GROUP,
  [SET_PLURAL]: GROUP,
  [CATALOG_PLURAL]: GROUP,
  leases: 'coordination.k8s.io',
};
const CLUSTER_WIDE: Record<string, string> = {
  namespaces: '',
  customresourcedefinitions: 'apiextensions.k8s.io',
  validatingadmissionpolicies: 'admissionregistration.k8s.io',
  validatingadmissionpolicybindings: 'admissionregistration.k8s.io',
};

/** A row of the table on the page; a right is `verb resource`. */
interface Row {
  what: string;
  calls: string[];
  needed: string[];
  useful: string[];
}

const rows = rowsOf(readFileSync(PAGE, 'utf8'));

function rowsOf(page: string): Row[] {
  const [, section = ''] = page.split('\n## Rights\n');
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(1).map((line) => {
    const [, what = '', needed, useful] = line.split('|').map((cell) => cell.trim());
    return { what, calls: spansOf(what), needed: rightsIn(needed), useful: rightsIn(useful) };
  });
}

function spansOf(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
}

function rightsIn(cell?: string): string[] {
  return spansOf(cell).flatMap((span) => {
    const [verbs = '', resources = ''] = span.split(' ');
    return resources.split(',').flatMap((resource) => verbs.split(',').map((verb) => `${verb} ${resource}`));
  });
}

function rightOf(text: string): Right {
  const [verb = '', resource = ''] = text.split(' ');
  const group = CLUSTER_WIDE[resource];
  if (group !== undefined) return { verb, resource, group, isClusterWide: true };
  return { verb, resource, group: GROUPS[resource] ?? '' };
}

/** The reviews of the user's own name and rights. */
const OF_EVERY_USER = ['authentication.k8s.io', 'authorization.k8s.io'];

/** How late a line of the log may be; only an upper bound. */
const LOGGED_MS = 10_000;

/** What the user has asked for, as `verb resource`; not what every user may ask. */
async function asked(user: string): Promise<{ allowed: string[]; refused: string[] }> {
  const lines = (await audited(`"username":"${user}"`)).flatMap(({ verb, objectRef, annotations }) => {
    if (objectRef === undefined || OF_EVERY_USER.includes(objectRef.apiGroup ?? '')) return [];
    const { resource, subresource } = objectRef;
    const text = `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
    return [{ text, decision: annotations['authorization.k8s.io/decision'] }];
  });
  const of = (wanted: string): string[] =>
    [...new Set(lines.filter(({ decision }) => decision === wanted).map(({ text }) => text))].sort();
  return { allowed: of('allow'), refused: of('forbid') };
}

const collection = (world: World, plural: string): string =>
  `/apis/${API_VERSION}/namespaces/${world.namespace}/${plural}`;

/** A set `web` whose one member is available, with an earlier revision. */
async function createSet(world: World): Promise<void> {
  const path = collection(world, SET_PLURAL);
  const specOf = (image: string) => ({ replicas: 1, template: { spec: { ...virtualServer('x').spec, image } } });
  const spec = specOf('cloudinit-debian-trixie.raw.gz');
  const body = { apiVersion: API_VERSION, kind: SET_KIND, metadata: { name: 'web' }, spec };
  await world.http.call({ method: 'POST', path, body });
  await world.waitForReason('web-0', 'Available', 'Ready');
  const change = {
    body: { spec: specOf('cloudinit-ubuntu-noble.raw.gz') },
    contentType: 'application/merge-patch+json',
  };
  await world.http.call({ method: 'PATCH', path: `${path}/web`, ...change });
  await world.waitForReason('web-1', 'Available', 'Ready');
  await world.waitGone('web-0');
}

async function createCatalog(world: World, secret = 'vps-api-key', more: object = {}): Promise<void> {
  const path = collection(world, CATALOG_PLURAL);
  const spec = { apiKeySecretRef: { name: secret }, ...more };
  const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: secret }, spec };
  await world.http.call({ method: 'POST', path, body });
  const read = async () =>
    (await world.http.call({ path: `${path}/${secret}` })) as { status?: { products?: unknown } };
  await world.until(async () => (await read()).status?.products !== undefined, 'the lists of the catalog');
}

/** A Secret that no server uses, with a catalog. */
async function createOther(world: World): Promise<void> {
  await world.putSecret('other', DEFAULT_KEY);
  await createCatalog(world, 'other');
}

async function createUserData(world: World): Promise<void> {
  const body = { metadata: { name: 'setup' }, data: { 'user-data': '#cloud-config' } };
  await world.http.call({ method: 'POST', path: `/api/v1/namespaces/${world.namespace}/configmaps`, body });
}

/** No garbage collector runs here. */
async function deleteAll(world: World): Promise<void> {
  await world.http.call({ method: 'DELETE', path: `${collection(world, SET_PLURAL)}/web`, absent: 'web' });
  for (const name of ['web-1', 'web']) await world.delete(name);
}

/** An object whose server has no line in the operator's log. */
async function createLogged(world: World): Promise<void> {
  await (await startKubelet(world.http, world.namespace)).addPod('leader', world.log);
  await world.create(virtualServer('quiet'));
}

async function createCopy(world: World): Promise<void> {
  const record = JSON.stringify({ owner: 'before', mode: 'create', identifier: 'vs1' });
  await world.create(virtualServer('copy', withAnnotations({ [RECORD_ANNOTATION]: record })));
  await world.waitForReason('copy', 'RecordMismatch', 'Stalled');
}

/** The server of `web` keeps running for an hour after its deletion. */
async function delayEnd(world: World): Promise<void> {
  await world.patch('web', { spec: { deletionDelay: '1h' } });
}

async function deleteDelayed(world: World): Promise<void> {
  await delayEnd(world);
  await world.delete('web');
  await world.waitForReason('web', 'DeletionDelayed', 'Ready');
}

/** What a row needs besides a ready server `web`, in this order. */
const BEFORE: [row: RegExp, prepare: (world: World) => Promise<unknown>][] = [
  [/set\/|rollout/, createSet],
  [/deleted/, deleteAll],
  [/lost/, (world) => lostOrder(world, 'lost', false)],
  [/resolve lost`/, (world) => createCatalog(world, 'vps-api-key', { listServers: true })],
  [/copy|csv|record/, createCopy],
  [/catalog|product|login/, (world) => createCatalog(world)],
  [/plan/, createUserData],
  [/logout/, createOther],
  [/logs/, createLogged],
  [/undelete/, deleteDelayed],
  [/cancel/, delayEnd],
];

const ORDER = `--product VPSX4 --image cloudinit-debian-trixie.raw.gz --disk-size 10240 --ssh-key '${SSH_KEY}'`;
const LIST = "printf '%s\\n' namespace,name,identifier ,copy,vs1 > servers.csv";

interface Spelled {
  /** What the page leaves out: a command before, and flags. */
  before?: string;
  flags?: string;
  /** Exit codes of the call; default: 0. */
  codes?: readonly number[];
}

function spelled(call: string, { simulator, namespace }: World): Spelled {
  const [command = ''] = call.split(' ');
  switch (command) {
    case 'ssh':
    case 'scp':
      return { flags: '--ssh-option ProxyCommand=false', codes: [255] };
    case 'logs':
      return { flags: `--operator-namespace=${namespace}` };
    case 'doctor':
      return { flags: `--operator-namespace=${namespace}`, codes: [EXIT.ok, EXIT.failed] };
    case 'orphans':
      // Here, no catalog lists servers.
      return { codes: [ORPHANS_EXIT.unknown] };
    case 'import':
      return { codes: [EXIT.failed] };
    case 'login':
      return { before: `printf '%s\\n' '${simulator.keyId}' '${simulator.secret}' |`, flags: '--yes' };
    case 'new':
      return { flags: ORDER };
    case 'adopt':
      return { before: `${LIST};`, flags: '--yes' };
    case 'plan':
      return {
        before: `for n in web new; do kubectl vps new $n ${ORDER} --ttl 24h; echo ---; done > web.yaml; kubectl vps new setup ${ORDER} --user-data-from configmap/setup/user-data >> web.yaml;`,
      };
    case 'resolve':
      // Without an answer, it finds no list of servers here.
      return { flags: '--yes', codes: call === 'resolve lost' ? [EXIT.failed] : [0] };
    case 'cancel':
    case 'suspend':
    case 'start-over':
    case 'replace':
    case 'logout':
      return { flags: '--yes' };
    default:
      return {};
  }
}

/** Resolves with what the call says if it fails. */
async function failureOf(plugin: Plugin, world: World, { what }: Row, call: string): Promise<string> {
  if (call === 'new web2') {
    const session = plugin.terminal('kubectl vps new web2');
    await session.shows(/Product/);
    session.type('\u0003');
    return (await session.ended) === EXIT.interrupted ? '' : session.text();
  }
  if (what.startsWith(TAB)) {
    const { code, stdout } = await plugin.shell(`kubectl __complete vps ${call} ''`);
    return code === 0 ? '' : stdout;
  }
  const { before = '', flags = '', codes = [0] } = spelled(call, world);
  const { code, stdout, stderr } = await plugin.shell(`${before} kubectl vps ${call} ${flags}`);
  return codes.includes(code) ? '' : `${call}: exit code ${code}\n${stdout}${stderr}`;
}

it.each(rows)('needs what the page lists: $what', async (row) => {
  const world = await createWorld();
  await readyServer(world, 'web');
  for (const [pattern, prepare] of BEFORE) if (pattern.test(row.what)) await prepare(world);
  const failuresAs = async (account: string, rights: readonly string[]): Promise<string[]> => {
    const plugin = await createPlugin(folder(), world.namespace, await accountIn(world, account));
    await grant(world, account, rights.map(rightOf));
    const failures: string[] = [];
    for (const call of row.calls) failures.push(await failureOf(plugin, world, row, call));
    return failures.filter(Boolean);
  };
  if (row.useful.length > 0) {
    expect(await failuresAs('least', row.needed)).toEqual([]);
    // Both accounts create it.
    if (row.what.includes('--apply')) await world.delete('web2').then(() => world.waitGone('web2'));
    // Both accounts replace it.
    if (row.what.includes('replace')) await world.delete('web-v2').then(() => world.waitGone('web-v2'));
    if (row.what.includes('replace')) await readyServer(world, 'web');
  }
  const all = [...row.needed, ...row.useful].sort();
  // These ask for the servers of all namespaces first.
  const refused = /plan|orphans|import|resolve lost`|^`(new|replace) /.test(row.what) ? ['list virtualservers'] : [];
  expect(await failuresAs('all', all)).toEqual([]);
  // A long answer may arrive before its line in the log.
  await expect.poll(() => asked(userOf(world, 'all')), { timeout: LOGGED_MS }).toEqual({ allowed: all, refused });
});

it('has a row for each command', () => {
  const terminal = { out: new PassThrough(), err: new PassThrough() } as unknown as Terminal;
  const { commands } = createProgram({ terminal, version: '0', exitWith: () => undefined });
  const names = commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((each) => `${command.name()} ${each.name()}`),
  );
  const calls = rows.filter(({ what }) => !what.startsWith(TAB)).flatMap((row) => row.calls);
  expect(names.filter((name) => !calls.some((call) => `${call} `.startsWith(`${name} `)))).toEqual([]);
});
