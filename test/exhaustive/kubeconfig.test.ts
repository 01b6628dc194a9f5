/** Generated sets of kubeconfig files: the operator chooses the same cluster and user as kubectl. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { loadCluster } from '../../src/kube/config.ts';
import { Random } from '../lives/random.ts';

const SETS = 120;
const SEED = 20_261_122;
const NAMES = ['a', 'b', 'c'];
const PARALLEL = 4;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-kubeconfig-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** What was chosen; values name the file they come from. */
interface Choice {
  server: string;
  namespace: string | undefined;
  ca: string | undefined;
  token: string | undefined;
  impersonated: unknown[];
}

async function kubectlChoice(files: string, context: string | undefined): Promise<Choice | 'refused'> {
  const words = ['config', 'view', '--minify', '--raw', '--flatten', '-o', 'json'];
  if (context !== undefined) words.push('--context', context);
  const env = { KUBECONFIG: files, HOME: folder };
  const run = promisify(execFile)(inject('kubectl'), words, { cwd: folder, env }).catch(() => undefined);
  const stdout = (await run)?.stdout;
  if (stdout === undefined) return 'refused';
  const config = JSON.parse(stdout) as {
    clusters: { cluster: Record<string, string> }[] | null;
    users: { user: Record<string, unknown> }[] | null;
    contexts: { context: { namespace?: string } }[];
  };
  const cluster = config.clusters?.[0]?.cluster ?? {};
  const user = config.users?.[0]?.user ?? {};
  const ca = cluster['certificate-authority-data'];
  return {
    server: cluster['server'] ?? '',
    namespace: config.contexts[0]?.context.namespace,
    ca: ca === undefined ? undefined : Buffer.from(ca, 'base64').toString(),
    token: user['token'] as string | undefined,
    impersonated: [user['as'], user['as-uid'], user['as-groups'], user['as-user-extra']],
  };
}

async function ownChoice(files: string, context: string | undefined): Promise<Choice | 'refused'> {
  vi.stubEnv('KUBECONFIG', files);
  let cluster;
  try {
    cluster = loadCluster(undefined, { context });
  } catch {
    return 'refused';
  }
  const { headers, tls } = await cluster.credentials();
  const extra = headers['impersonate-extra-from'];
  return {
    server: cluster.server,
    namespace: cluster.namespace,
    ca: tls.ca === undefined ? undefined : String(tls.ca),
    token: headers['authorization']?.toString().replace('Bearer ', ''),
    impersonated: [
      headers['impersonate-user'],
      headers['impersonate-uid'],
      headers['impersonate-group'],
      extra === undefined ? undefined : { from: extra },
    ],
  };
}

/** Writes files with overlapping names, and returns the list of their paths for $KUBECONFIG. */
async function writeSet(random: Random, set: number): Promise<string> {
  const paths: string[] = [];
  const count = random.int(1, 5);
  for (let index = 0; index < count; index++) {
    const path = join(folder, String(set), `folder-${index}`, 'config');
    await mkdir(dirname(path), { recursive: true });
    await writeFile(join(dirname(path), 'ca.pem'), `ca of ${path}`);
    if (!random.chance(0.1)) await writeFile(path, fileText(random, path));
    // Absolute, because kubectl runs in another working directory.
    paths.push(path);
    if (random.chance(0.1)) paths.push(random.pick([path, '', join(folder, 'missing')]));
  }
  return paths.join(delimiter);
}

function fileText(random: Random, path: string): string {
  if (random.chance(0.1)) return random.pick(['', '\n \n', '# nothing\n', '---\n', 'null\n', '{}']);
  if (random.chance(0.03)) return random.pick(['kind: Pod\napiVersion: v1\n', '[]', 'clusters: {a: b}\n', 'a: {\n']);
  const some = <T>(probability: number, value: T): T | undefined => (random.chance(probability) ? value : undefined);
  const section = <T>(entry: (name: string) => T): T[] | null | undefined => {
    if (random.chance(0.1)) return undefined;
    if (random.chance(0.1)) return random.pick([null, []]);
    return NAMES.filter(() => random.chance(0.7)).map(entry);
  };
  const config = {
    ...(random.chance(0.7) && { apiVersion: 'v1', kind: 'Config' }),
    preferences: some(0.3, {}),
    'current-context': some(0.7, random.pick([...NAMES, ...NAMES, '', null])),
    clusters: section((name) => ({
      name,
      cluster: {
        server: `https://${name}.example.com${path}`,
        ...random.pick([
          {},
          { 'certificate-authority': 'ca.pem' },
          { 'certificate-authority': `../${path.split('/').at(-2)}/ca.pem` },
          { 'certificate-authority-data': Buffer.from(`data in ${path}`).toString('base64') },
        ]),
      },
    })),
    users: section((name) => ({
      name,
      user: random.chance(0.1)
        ? null
        : {
            token: some(0.7, `${name} in ${path}`),
            ...(random.chance(0.4) && {
              as: `as ${name} in ${path}`,
              'as-uid': some(0.5, `uid in ${path}`),
              'as-groups': some(0.5, [path, name]),
              'as-user-extra': some(0.5, { from: [path] }),
            }),
          },
    })),
    contexts: section((name) => ({
      name,
      context: {
        cluster: random.pick(NAMES),
        user: some(0.9, random.pick([...NAMES, ...NAMES, ''])),
        namespace: some(0.8, random.pick(['one', 'two', 'three'])),
      },
    })),
  };
  return random.pick([stringify, (value: object) => JSON.stringify(value, null, random.pick([0, 2, '\t']))])(config);
}

describe('the kubeconfig', () => {
  it(`chooses what kubectl chooses, in ${SETS} generated sets of files`, { timeout: 240_000 }, async () => {
    const random = new Random(SEED);
    const sets = [];
    for (let set = 0; set < SETS; set++) {
      const files = await writeSet(random, set);
      sets.push({ files, context: random.chance(0.3) ? random.pick(NAMES) : undefined });
    }
    const choices: (Choice | 'refused')[] = [];
    for (let set = 0; set < SETS; set += PARALLEL) {
      const some = sets.slice(set, set + PARALLEL);
      choices.push(...(await Promise.all(some.map(({ files, context }) => kubectlChoice(files, context)))));
    }
    // Checks that the sets are meaningful: many are usable, and some use impersonation.
    const usable = choices.filter((choice) => choice !== 'refused');
    expect(usable.length).toBeGreaterThan(SETS / 3);
    expect(usable.length).toBeLessThan(SETS);
    expect(usable.filter(({ impersonated }) => impersonated[0] !== undefined).length).toBeGreaterThan(5);
    for (const [set, { files, context }] of sets.entries()) {
      expect(await ownChoice(files, context), `set ${set}: ${files}, context ${context}`).toEqual(choices[set]);
    }
  });
});
