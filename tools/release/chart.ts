/** Packs the Helm chart and pushes it to the registry. */
import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY, ROOT, version } from '../image-build.ts';

const CHART = join(ROOT, 'deploy/chart');
const OUT = join(ROOT, 'dist/chart');
const run = promisify(execFile);

export interface PushedChart {
  /** Without the tag, as cosign expects it. */
  reference: string;
  digest: string;
}

/**
 * Needs helm 3.8 or newer, and a login to the registry. `registry` replaces the one of the image; `plainHttp` is for a
 * registry without TLS, on your machine.
 */
export async function pushChart(registry = ownerOf(REPOSITORY), plainHttp = false): Promise<PushedChart> {
  const number = await version();
  await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  await run('helm', ['package', CHART, '--version', number, '--app-version', number, '--destination', OUT]);
  const archive = join(OUT, `vps-operator-${number}.tgz`);
  const target = `${registry}/charts`;
  const args = ['push', archive, `oci://${target}`, ...(plainHttp ? ['--plain-http'] : [])];
  const { stdout, stderr } = await run('helm', args);
  // Which of the two streams helm prints it to depends on its version.
  const [digest] = /sha256:[0-9a-f]{64}/.exec(stdout + stderr) ?? [];
  if (digest === undefined) throw new Error(`helm push reported no digest: ${stdout}${stderr}`);
  return { reference: `${target}/vps-operator`, digest };
}

/** `ghcr.io/OWNER` of `ghcr.io/OWNER/NAME`: the chart and the image have the same name. */
const ownerOf = (repository: string): string => repository.slice(0, repository.lastIndexOf('/'));
