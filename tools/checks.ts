/** Checks of the source: types, lint, format. */
import type { Counts } from './counts.ts';
import { runHeld } from './run-program.ts';

export interface Check {
  name: string;
  command: string;
  args: string[];
}

/**
 * Each check caches its results per file here. ESLint's cache considers only the file's own text, although some rules
 * use types from other files; `.ci/run` therefore starts without the cache.
 */
const CACHE = 'node_modules/.cache';

export const CHECKS: Check[] = [
  {
    name: 'types (tsc)',
    command: 'tsc',
    args: ['--noEmit', '-p', '.', '--incremental', '--tsBuildInfoFile', `${CACHE}/tsc.tsbuildinfo`],
  },
  {
    name: 'lint (eslint)',
    command: 'eslint',
    args: ['--cache', '--cache-strategy=content', `--cache-location=${CACHE}/eslint`, '.'],
  },
  {
    name: 'format (prettier; fix: npm run format)',
    command: 'prettier',
    args: [
      '--check',
      '--log-level=warn',
      '--cache',
      '--cache-strategy=content',
      `--cache-location=${CACHE}/prettier/checked`,
      '.',
    ],
  },
];

/**
 * Runs all at once, beside whatever else runs: each uses one processor. Each counts as one, and what it prints appears when it has
 * ended. `reports`: of those that failed.
 */
export async function runChecks(checks = CHECKS): Promise<Counts & { reports: string[] }> {
  const reports: string[] = [];
  await Promise.all(
    checks.map(async ({ name, command, args }) => {
      const { code, output } = await runHeld(command, args);
      const report = `${output}${code === 0 ? 'passed' : 'FAILED'}: ${name}`;
      console.log(report);
      if (code !== 0) reports.push(report);
    }),
  );
  return { passed: checks.length - reports.length, failed: reports.length, reports };
}
