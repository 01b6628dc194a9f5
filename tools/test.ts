/**
 * `npm test`: types, lint, format, then the tests; the last line of output is `N passed, N failed`. The first argument
 * names the suite. Further arguments go to vitest, e.g. the name of a file, which may then belong to any project.
 */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHECKS, runChecks, type Check } from './checks.ts';
import { readCounts, type Counts } from './counts.ts';
import type { GoProgram } from './go-program.ts';
import { buildGoPrograms, GITOPS_PROGRAMS, GO_PROGRAMS } from './go-programs.ts';
import { runProgram } from './run-program.ts';

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

async function runTests(args: string[]): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-test-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  return readCounts(report, await runProgram('vitest', ['run', ...reporters, ...args]));
}

/** What a whole run does: a test replaces both. */
export interface Steps {
  build(programs: Record<string, GoProgram>): Promise<void>;
  test(projects: string[]): Promise<Counts>;
}

const STEPS: Steps = {
  build: buildGoPrograms,
  test: (projects) => runTests(projects.map((project) => `--project=${project}`)),
};

/** First what needs no control plane, so that its result comes before the first builds, which take minutes. */
export async function runWhole({ projects, programs }: Suite, steps: Steps = STEPS): Promise<Counts> {
  const sum = { passed: 0, failed: 0 };
  await steps.build(programs);
  const withCluster = projects.filter((project) => project !== WITHOUT_CLUSTER);
  for (const group of [projects.filter((project) => project === WITHOUT_CLUSTER), withCluster]) {
    if (group.length === 0) continue;
    const { passed, failed } = await steps.test(group);
    sum.passed += passed;
    sum.failed += failed;
  }
  return sum;
}

async function main(): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2);
  const suite = (SUITES as Record<string, Suite>)[name];
  if (suite === undefined) throw new Error(`the first argument must be one of ${Object.keys(SUITES).join(', ')}`);
  const checks = await runChecks(suite.checks);
  const tests = args.length === 0 ? await runWhole(suite) : await runTests(args);
  const failed = checks.failed + tests.failed;
  if (suite.leaves !== undefined && args.length === 0) console.log(`\nnot run here: ${suite.leaves}`);
  console.log(`\nchecks: ${checks.passed} passed, ${checks.failed} failed`);
  console.log(`tests: ${tests.passed} passed, ${tests.failed} failed\n`);
  console.log(`${checks.passed + tests.passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (import.meta.main) await main();
