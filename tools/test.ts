/** `npm test`: types, lint, format, then every test; the last line of output is `N passed, N failed`. */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChecks } from './checks.ts';
import { readCounts, type Counts } from './counts.ts';
import { buildGoPrograms } from './go-programs.ts';
import { runProgram } from './run-program.ts';

/** Further arguments go to vitest, for example the name of a file. */
async function runTests(args: string[]): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-test-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  return readCounts(report, await runProgram('vitest', ['run', ...reporters, ...args]));
}

const args = process.argv.slice(2);
const checks = await runChecks();
if (args.length === 0) await buildGoPrograms();
const tests = await runTests(args);
const failed = checks.failed + tests.failed;
console.log(`\nchecks: ${checks.passed} passed, ${checks.failed} failed`);
console.log(`tests: ${tests.passed} passed, ${tests.failed} failed\n`);
console.log(`${checks.passed + tests.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
