/**
 * `npm run release -- STEP`: the steps of a release, which .github/workflows/release.yaml runs (docs/how-to/release.md).
 * Results go to standard output as `name=value`, and to the workflow's outputs.
 */
import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { imageName, ROOT, version } from '../image-build.ts';
import { notesOf } from './changelog.ts';
import { pushChart } from './chart.ts';
import { writeExecutable } from './executable.ts';
import { writeRelease } from './files.ts';
import { pushImage } from './image.ts';
import { releaseNotes } from './notes.ts';
import { setVersion } from './version.ts';

const OUT = join(ROOT, 'dist/release');
const NOTES = join(ROOT, 'dist/release-notes.md');

interface Flags {
  digest?: string | undefined;
  node?: string | undefined;
  executables?: string | undefined;
  site?: string | undefined;
  out?: string | undefined;
  registry?: string | undefined;
  'plain-http'?: boolean | undefined;
}
interface Step {
  /** The argument and the flags that it takes, for the usage. */
  usage: string;
  run(flags: Flags, argument: string | undefined): Promise<void>;
}

const STEPS: Record<string, Step> = {
  version: {
    usage: 'X.Y.Z',
    async run(_, argument) {
      for (const path of await setVersion(needed(argument, 'the new version'), new Date())) console.log(path);
    },
  },
  check: {
    usage: 'TAG',
    async run(_, argument) {
      const number = await version();
      if (needed(argument, 'the tag') !== `v${number}`)
        throw new Error(
          `the tag ${argument} does not match package.json, whose version is ${number}: tag it v${number}`,
        );
      notesOf(await changelog(), number);
      await output({ version: number, prerelease: number.includes('-') });
    },
  },
  image: {
    usage: 'operator|simulator',
    async run(_, argument) {
      if (argument !== 'operator' && argument !== 'simulator') throw new Error('name the image: operator or simulator');
      await output({ ...(await pushImage(argument)) });
    },
  },
  executable: {
    usage: '[--out FOLDER]',
    async run({ out = 'dist/executables' }) {
      const path = relative(ROOT, await writeExecutable(resolve(ROOT, out)));
      // The shell of the workflow is bash on Windows too.
      await output({ path: path.replaceAll('\\', '/') });
    },
  },
  chart: {
    usage: '[--registry HOST/OWNER] [--plain-http]',
    async run({ registry, 'plain-http': plainHttp }) {
      const { reference, digest } = await pushChart(registry, plainHttp);
      await output({ name: reference, digest });
    },
  },
  files: {
    usage: '[--digest sha256:...] [--node VERSION] [--executables FOLDER] [--site FOLDER]',
    async run({ digest, node = '', executables, site }) {
      // Without an image, the Node of the source, which the image also uses.
      const used = node || (await readFile(join(ROOT, '.nvmrc'), 'utf8')).trim();
      for (const name of await writeRelease(OUT, { digest, node: used, executables, site })) {
        const { size } = await stat(join(OUT, name));
        console.log(`dist/release/${name}  ${(size / 1024 / 1024).toFixed(2)} MiB`);
      }
    },
  },
  notes: {
    usage: '--digest sha256:...',
    async run({ digest }) {
      const text = releaseNotes(await changelog(), await imageName(), needed(digest, '--digest'));
      await mkdir(join(ROOT, 'dist'), { recursive: true });
      await writeFile(NOTES, text);
      console.log(relative(ROOT, NOTES));
    },
  },
};

const changelog = (): Promise<string> => readFile(join(ROOT, 'CHANGELOG.md'), 'utf8');

function needed(value: string | undefined, what: string): string {
  if (value === undefined) throw new Error(`${what} is missing`);
  return value;
}

async function output(values: Record<string, string | boolean>): Promise<void> {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
  process.stdout.write(lines.join(''));
  const file = process.env['GITHUB_OUTPUT'];
  if (file !== undefined) await appendFile(file, lines.join(''));
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      digest: { type: 'string' },
      node: { type: 'string' },
      executables: { type: 'string' },
      site: { type: 'string' },
      out: { type: 'string' },
      registry: { type: 'string' },
      'plain-http': { type: 'boolean' },
    },
    allowPositionals: true,
  });
  const [name = '', argument] = positionals;
  const step = STEPS[name];
  if (step === undefined) {
    const usages = Object.entries(STEPS).map(([one, { usage }]) => `  npm run release -- ${one} ${usage}`.trimEnd());
    throw new Error(`name one of the steps:\n${usages.join('\n')}`);
  }
  await step.run(values, argument);
}

try {
  await main();
} catch (error) {
  console.error(`npm run release: ${(error as Error).message}`);
  process.exitCode = 1;
}
