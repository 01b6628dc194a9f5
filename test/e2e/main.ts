/**
 * `npm run test:e2e`: runs the image, the manifests and a simulated provider in real pods, on a temporary kind cluster
 * or on the cluster of E2E_KUBECONFIG. The last line of output is `N passed, N failed`. See CONTRIBUTING.md.
 *
 *   --if-possible   if a cluster, kubectl or Docker is missing, report it and count nothing
 *   --measure       no tests: measures the operator's memory and CPU in its pod
 *   --keep          keeps the kind cluster
 *
 * Further arguments go to vitest. E2E_IMAGE names an image that is already built; E2E_KILL: see support/operator.ts.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCounts, type Counts } from '../../tools/counts.ts';
import { buildImage } from '../../tools/image-build.ts';
import { runProgram } from '../../tools/run-program.ts';
import { missing, openCluster } from './clusters.ts';
import { hasCommand } from './kind.ts';

const { values, positionals } = parseArgs({
  options: { 'if-possible': { type: 'boolean' }, measure: { type: 'boolean' }, keep: { type: 'boolean' } },
  allowPositionals: true,
});

async function runTests(): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-e2e-'));
  try {
    const report = join(folder, 'report.json');
    const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile=${report}`];
    const config = join(import.meta.dirname, 'vitest.config.ts');
    const code = await runProgram('vitest', ['run', `--config=${config}`, ...reporters, ...positionals]);
    return await readCounts(report, code);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measure(): Promise<Counts> {
  const code = await runProgram('node', [join(import.meta.dirname, 'measure.ts')]);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1 };
}

async function main(): Promise<Counts> {
  const lack = missing(process.env) ?? lackOfDocker();
  if (lack !== undefined && values['if-possible'] === true) {
    console.log(`the tests in real pods are SKIPPED: ${lack}`);
    return { passed: 0, failed: 0 };
  }
  if (lack !== undefined) throw new Error(lack);
  const cluster = await openCluster(process.env, values.keep ?? false);
  const image = process.env['E2E_IMAGE'] ?? (await buildImage());
  await cluster.load(image);
  process.env['E2E_KUBECONFIG'] = cluster.kubeconfig;
  process.env['E2E_IMAGE'] = image;
  return values.measure === true ? measure() : runTests();
}

function lackOfDocker(): string | undefined {
  if (process.env['E2E_IMAGE'] !== undefined || hasCommand('docker', 'version')) return undefined;
  return 'cannot reach the Docker engine to build the image: start it, or name a built image in E2E_IMAGE';
}

const counts = await main().catch((error: unknown) => {
  console.error(`npm run test:e2e: ${(error as Error).message}`);
  return { passed: 0, failed: 1 };
});
console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
// Exit handlers remove the cluster.
process.exit(counts.failed === 0 ? 0 : 1);
