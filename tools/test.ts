/**
 * `npm test`: types, lint and format, and beside them the tests; the last line of output is `N passed, N failed`. The first argument
 * names the suite. Further arguments go to vitest, e.g. the name of a file, which may then belong to any project.
 */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHECKS, runChecks, type Check } from './checks.ts';
import { readCounts, type TestCounts } from './counts.ts';
import type { GoProgram } from './go-program.ts';
import { buildGoPrograms, GITOPS_PROGRAMS, GO_PROGRAMS } from './go-programs.ts';
import { runProgram } from './run-program.ts';
import { SKIPPED_FILE, skippedIn } from './skipped.ts';

interface Suite {
  checks: Check[];
  /** Projects of vitest.config.ts. */
  projects: string[];
  /** Built before the tests of the projects. */
  programs: Record<string, GoProgram>;
  /** What the suite leaves to another command. */
  leaves?: string;
}

export const SUITES = {
  /** For a check between two edits. */
  quick: { checks: CHECKS.filter(({ command }) => command === 'tsc'), projects: ['unit'], programs: {} },
  /** For a finished change. */
  usual: {
    checks: CHECKS,
    projects: ['unit', 'integration'],
    programs: {},
    leaves:
      'npm run test:third-party: the alerts in Prometheus, the Helm chart, the health checks and actions in Argo CD and Flux, linters',
  },
  /** `.ci/run` adds these two. */
  exhaustive: { checks: [], projects: ['exhaustive'], programs: {} },
  'third-party': { checks: [], projects: ['third-party'], programs: GO_PROGRAMS },
  /** Complete third-party tools against a real API server; Go builds them in many minutes. */
  gitops: { checks: [], projects: ['gitops'], programs: GITOPS_PROGRAMS },
} satisfies Record<string, Suite>;

/** The project that needs no control plane. */
const WITHOUT_CLUSTER = 'unit';

async function runTests(folder: string, args: string[]): Promise<TestCounts> {
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  return readCounts(report, await runProgram('vitest', ['run', ...reporters, ...args]));
}

/** What a whole run does: a test replaces both. */
export interface Steps {
  build(programs: Record<string, GoProgram>): Promise<void>;
  test(projects: string[]): Promise<TestCounts>;
}

/** First what needs no control plane, so that its result comes before the first builds, which take minutes. */
export async function runWhole({ projects, programs }: Suite, steps: Steps): Promise<TestCounts> {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  await steps.build(programs);
  const withCluster = projects.filter((project) => project !== WITHOUT_CLUSTER);
  for (const group of [projects.filter((project) => project === WITHOUT_CLUSTER), withCluster]) {
    if (group.length === 0) continue;
    const { passed, failed, skipped } = await steps.test(group);
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
  }
  return sum;
}

async function main(): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2);
  const suite = (SUITES as Record<string, Suite>)[name];
  if (suite === undefined) throw new Error(`the first argument must be one of ${Object.keys(SUITES).join(', ')}`);
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-test-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  const skippedFile = join(folder, 'skipped');
  process.env[SKIPPED_FILE] = skippedFile;
  const steps: Steps = {
    build: buildGoPrograms,
    test: (projects) =>
      runTests(
        folder,
        projects.map((project) => `--project=${project}`),
      ),
  };
  const [checks, tests] = await Promise.all([
    runChecks(suite.checks),
    args.length === 0 ? runWhole(suite, steps) : runTests(folder, args),
  ]);
  const failed = checks.failed + tests.failed;
  // The checks ended long before the tests did.
  for (const report of checks.reports) console.log(`\n${report}`);
  for (const line of await skippedIn(skippedFile)) console.log(`\nskipped: ${line}`);
  if (suite.leaves !== undefined && args.length === 0) console.log(`\nnot run here: ${suite.leaves}`);
  console.log(`\nchecks: ${checks.passed} passed, ${checks.failed} failed`);
  console.log(`tests: ${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped\n`);
  console.log(`${checks.passed + tests.passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (import.meta.main) await main();
