/** Checks of the source before any test runs: types, lint, format. */
import type { Counts } from './counts.ts';
import { runProgram } from './run-program.ts';

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

/** Each check counts as one; all run, so one report shows everything to fix. */
export async function runChecks(checks = CHECKS): Promise<Counts> {
  const counts = { passed: 0, failed: 0 };
  for (const { name, command, args } of checks) {
    const passed = (await runProgram(command, args)) === 0;
    console.log(`${passed ? 'passed' : 'FAILED'}: ${name}`);
    counts[passed ? 'passed' : 'failed'] += 1;
  }
  return counts;
}
