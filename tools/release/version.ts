/**
 * `npm run release:version X.Y.Z`: changes the version in every file that names it, and gives the changes since the last
 * release their heading in CHANGELOG.md.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHART, chartYaml } from '../chart/main.ts';
import { ROOT, version } from '../image-build.ts';
import { withRelease } from './changelog.ts';

/** https://semver.org without build metadata, which tags of images cannot contain. */
const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
/** What users copy from, and what is published. */
const PLACES = ['README.md', 'docs', 'deploy', 'examples'];
/** Measurements keep the version that was measured. */
const MEASURED = /^docs\/reference\/performance\./;
/** The text before a version of this project, and before no other version. */
const BEFORE = [
  // Images, archives and charts, also in a registry of the user.
  String.raw`vps-operator(?:-[a-z]+)?[:-]v?`,
  'kubectl-vps-',
  // Remote bases of kustomize, and links.
  '[?&]ref=v',
  '/(?:download|tag|tree|blob|vps-operator)/v',
  String.raw`app\.kubernetes\.io/version: ["']?`,
  // A line of the operator's log.
  '"version":"',
  // A command that installs the chart, Chart.yaml, and the badges of the chart's README.
  '--version[ =]v?',
  `^(?:version|appVersion): ["']?`,
  String.raw`!\[(?:App)?Version: `,
  '/badge/(?:App)?Version-',
];
const run = promisify(execFile);

/** The text with the project's version `from` replaced by `to`. */
export function withVersion(text: string, from: string, to: string): string {
  const pattern = String.raw`(?<=${BEFORE.join('|')})${from.replaceAll('.', String.raw`\.`)}(?!\d)`;
  return text.replaceAll(RegExp(pattern, 'gm'), to);
}

/** The files, other than npm's, that may name the version. */
export async function versionedFiles(): Promise<string[]> {
  const { stdout } = await run('git', ['ls-files', '-z', '--', ...PLACES], { cwd: ROOT });
  return stdout.split('\0').filter((path) => /\.(?:json|md|tpl|txt|ya?ml)$/.test(path) && !MEASURED.test(path));
}

/** Resolves with the files that have changed. Throws if `to` is not a version, or if CHANGELOG.md has no changes for it. */
export async function setVersion(to: string, date: Date): Promise<string[]> {
  if (!SEMVER.test(to)) throw new Error(`${to} is not a version such as 1.2.3 or 1.2.3-rc.1`);
  const from = await version();
  const changelog = withRelease(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'), to, date);
  const changed = ['CHANGELOG.md'];
  await writeFile(join(ROOT, 'CHANGELOG.md'), changelog);
  if (from === to) return changed;
  await run('npm', ['version', to, '--no-git-tag-version', '--allow-same-version'], { cwd: ROOT });
  changed.push('package.json', 'package-lock.json');
  for (const path of await versionedFiles()) {
    const text = await readFile(join(ROOT, path), 'utf8');
    const replaced = withVersion(text, from, to);
    if (replaced === text) continue;
    await writeFile(join(ROOT, path), replaced);
    changed.push(path);
  }
  // It also says whether the version is a prerelease.
  await writeFile(join(CHART, 'Chart.yaml'), await chartYaml(to));
  return changed;
}
