/**
 * `npm run test:mutants -- [--only TEXT] [--shard 2/3] [--lives N] [--jobs N]`: injects faults into the product, one at a time, and
 * prints which seed, test or plan caught each one. TEXT is part of its name or of its file. A shard is that part of the list, in its order: all of it takes hours.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTANTS, type Mutant } from './mutants.ts';

const ROOT = join(import.meta.dirname, '../..');
const COPIED = [
  'src',
  'test',
  'tools',
  'deploy',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'vitest.config.ts',
  'README.md',
  'docs',
];
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    shard: { type: 'string', default: '1/1' },
    lives: { type: 'string', default: '10000' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});

const folders = await mkdtemp(join(tmpdir(), 'vps-operator-mutants-'));
const queue = shardOf(MUTANTS.filter(({ name, file }) => `${file} ${name}`.includes(values.only ?? ''))).values();
let survived = 0;
let caught = 0;
try {
  await Promise.all(Array.from({ length: Number(values.jobs) }, (_, index) => work(join(folders, String(index)))));
} finally {
  await rm(folders, { recursive: true, force: true });
}
process.stdout.write(`${caught} mutants caught, ${survived} survived\n`);
process.exitCode = survived === 0 ? 0 : 1;

function shardOf(mutants: readonly Mutant[]): readonly Mutant[] {
  const [, number, count] = (/^(\d+)\/(\d+)$/.exec(values.shard) ?? []).map(Number);
  if (number === undefined || count === undefined || number < 1 || number > count)
    throw new Error(`--shard ${values.shard}: write which part of how many, for example 2/3`);
  return mutants.slice(
    Math.ceil(((number - 1) * mutants.length) / count),
    Math.ceil((number * mutants.length) / count),
  );
}

/** Tries one mutant after another in a copy of the project. */
async function work(folder: string): Promise<void> {
  for (const path of COPIED) await cp(join(ROOT, path), join(folder, path), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const mutant of queue) {
    const witness = await tryMutant(folder, mutant);
    if (witness === undefined) survived += 1;
    else caught += 1;
    process.stdout.write(
      `${witness === undefined ? 'SURVIVED' : 'caught'}: ${mutant.name}${witness === undefined ? '' : ` (${witness})`}\n`,
    );
  }
}

/** The seed, test or plan that caught the mutant; undefined if it survived. */
async function tryMutant(
  folder: string,
  { name, file, find, replace, tests, plan }: Mutant,
): Promise<string | undefined> {
  const path = join(folder, file);
  const original = await readFile(path, 'utf8');
  if (original.split(find).length !== 2)
    throw new Error(`mutant "${name}": its line must occur exactly once in ${file}`);
  await writeFile(
    path,
    original.replace(find, () => replace),
  );
  try {
    if (plan !== undefined) return await play(folder, plan);
    return await (tests === undefined ? simulate(folder) : testRun(folder, tests));
  } finally {
    await writeFile(path, original);
  }
}

async function simulate(folder: string): Promise<string | undefined> {
  const { code, output } = await execute(folder, [
    'test/lives/main.ts',
    '--lives',
    values.lives,
    '--seed',
    '1',
    '--until-violation',
  ]);
  if (code === 0) return undefined;
  return /^seed \d+/m.exec(output)?.[0] ?? `the simulation exited: ${output.slice(-200)}`;
}

async function play(folder: string, plan: string): Promise<string | undefined> {
  const { code, output } = await execute(folder, ['test/chaos/main.ts', '--plan', plan]);
  if (code === 0) return undefined;
  const [, id, why] = /^FAILED (.*)\n(.*)/m.exec(output) ?? [];
  if (id === undefined) throw new Error(`plan ${plan} did not run: ${output.slice(-500)}`);
  return `${id}: ${why ?? ''}`;
}

async function testRun(folder: string, tests: string[]): Promise<string | undefined> {
  const { code, output } = await execute(folder, ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...tests]);
  if (/No test files found/.test(output)) throw new Error(`found no tests: ${tests.join(' ')}`);
  if (code === 0) return undefined;
  // eslint-disable-next-line no-control-regex -- vitest colors its output
  return /FAIL .*/.exec(output.replaceAll(/\u001b\[\d+m/g, ''))?.[0] ?? 'the test run failed';
}

function execute(folder: string, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr });
    });
  });
}
