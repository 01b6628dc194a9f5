/** What is asked of the source before any test runs: types, lint, format. */
import type { Counts } from './counts.ts';
import { runProgram } from './run-program.ts';

const CHECKS = [
  { name: 'types (tsc)', command: 'tsc', args: ['--noEmit', '-p', '.'] },
  { name: 'lint (eslint)', command: 'eslint', args: ['.'] },
  {
    name: 'format (prettier; npm run format mends it)',
    command: 'prettier',
    args: ['--check', '--log-level=warn', '.'],
  },
];

/** Each check counts as one; all run, so that one report shows all there is to mend. */
export async function runChecks(): Promise<Counts> {
  const counts = { passed: 0, failed: 0 };
  for (const { name, command, args } of CHECKS) {
    const passed = (await runProgram(command, args)) === 0;
    console.log(`${passed ? 'passed' : 'FAILED'}: ${name}`);
    counts[passed ? 'passed' : 'failed'] += 1;
  }
  return counts;
}
