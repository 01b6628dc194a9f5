/**
 * `npm run test:e2e`: runs the image, the manifests and a simulated provider in real pods, on a temporary kind cluster
 * or on the cluster of E2E_KUBECONFIG. The last line of output is `N passed, N failed`. See CONTRIBUTING.md.
 *
 *   --if-possible   if a cluster, kubectl or Docker is missing, report it and count nothing
 *   --measure       no tests: measures the operator's memory and CPU in its pod
 *   --keep          keeps the kind cluster
 *
 * Further arguments go to vitest. E2E_IMAGE and E2E_SIMULATOR_IMAGE name images that are already built; E2E_KILL: see
 * support/operator.ts.
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

/** The images under test, by the variable that names each. */
const IMAGES = { E2E_IMAGE: 'operator', E2E_SIMULATOR_IMAGE: 'simulator' } as const;

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
  process.env['E2E_KUBECONFIG'] = cluster.kubeconfig;
  for (const [variable, target] of Object.entries(IMAGES)) {
    const image = process.env[variable] ?? (await buildImage([], target));
    await cluster.load(image);
    process.env[variable] = image;
  }
  return values.measure === true ? measure() : runTests();
}

function lackOfDocker(): string | undefined {
  const unbuilt = Object.keys(IMAGES).filter((variable) => process.env[variable] === undefined);
  if (unbuilt.length === 0 || hasCommand('docker', 'version')) return undefined;
  return `cannot reach the Docker engine to build the images: start it, or name built images in ${unbuilt.join(' and ')}`;
}

const counts = await main().catch((error: unknown) => {
  console.error(`npm run test:e2e: ${(error as Error).message}`);
  return { passed: 0, failed: 1 };
});
console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
// Exit handlers remove the cluster.
process.exit(counts.failed === 0 ? 0 : 1);
