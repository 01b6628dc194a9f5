/** Finds the programs of a control plane: given, cached, downloaded, or built with Go. */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildPrograms } from './build-binaries.ts';
import { CONTROLLER_MANAGER, downloadControllerManager, downloadPrograms } from './download-binaries.ts';
import { withLock } from './lock.ts';
import type { ProgressListener } from './progress.ts';

/** Absolute paths of executable files. */
interface Binaries {
  kubeApiserver: string;
  etcd: string;
  kubectl: string;
  /** May not exist unless it was asked for. */
  kubeControllerManager: string;
}

interface ResolveOptions {
  /**
   * Uses KUBEBUILDER_ASSETS, XDG_CACHE_HOME, HOME, and the variables of the go command. Default: this process's
   * environment.
   */
  env?: NodeJS.ProcessEnv;
  /** URL of upstream's list of archives; default: upstream's own. */
  indexUrl?: string;
  /** URL of the folder of upstream's releases; default: upstream's own. */
  releaseUrl?: string;
  /** Also builds kube-controller-manager if it is missing; fails if that is impossible. Default false. */
  controllerManager?: boolean;
  /**
   * For a user who waits: builds only what is asked for and missing, and no kubectl if there is one in PATH. By default,
   * one build gives all programs, and kubectl is of the pinned version, whose output the tests compare.
   */
  hurry?: boolean;
}

const KUBECTL = 'kubectl';
const NEEDED = ['kube-apiserver', 'etcd', KUBECTL];
/** Minor version: the oldest of a cluster that the operator supports. */
const OLDEST_KUBECTL = 30;
const KUBECTL_MS = 10_000;
const MODULE = join(import.meta.dirname, 'go.mod');

/**
 * Searches in this order: the folder KUBEBUILDER_ASSETS, our cache, upstream's downloads (internet), a build with Go.
 * Downloads and builds stay in the cache, so only the first call on a machine takes long (a build takes minutes).
 * Throws one Error that names every attempt and what to install.
 */
export async function resolveBinaries(progress: ProgressListener, options: ResolveOptions = {}): Promise<Binaries> {
  const { env = process.env, hurry = false } = options;
  const all = options.controllerManager ? [...NEEDED, CONTROLLER_MANAGER] : NEEDED;
  if (env['KUBEBUILDER_ASSETS']) return given(resolve(env['KUBEBUILDER_ASSETS']), all);

  const { kubernetes, go } = await pinnedVersions();
  const cache = join(
    env['XDG_CACHE_HOME'] || join(env['HOME'] ?? homedir(), '.cache'),
    'vps-operator',
    'control-plane',
  );
  const folder = join(cache, kubernetes);
  const absentAtFirst = await missing(folder, all);
  if (absentAtFirst.length === 0) return paths(folder);
  const installed = hurry && absentAtFirst.includes(KUBECTL) ? await kubectlInPath(env) : undefined;
  const wanted = all.filter((name) => name !== KUBECTL || installed === undefined);
  const found = async (): Promise<Binaries> => {
    const [absent] = await missing(folder, [KUBECTL]);
    return { ...paths(folder), ...(absent !== undefined && installed !== undefined && { kubectl: installed }) };
  };
  if ((await missing(folder, wanted)).length === 0) return found();

  await mkdir(cache, { recursive: true });
  return withLock(join(cache, `${kubernetes}.lock`), progress, async () => {
    const failures: string[] = [];
    if ((await missing(folder, wanted)).some((name) => NEEDED.includes(name))) {
      const failure = await downloadPrograms({ version: kubernetes, folder, indexUrl: options.indexUrl, progress });
      if (failure !== undefined) failures.push(failure);
    }
    if (failures.length === 0 && (await missing(folder, wanted)).includes(CONTROLLER_MANAGER)) {
      const { releaseUrl } = options;
      const failure = await downloadControllerManager({ version: kubernetes, folder, releaseUrl, progress });
      if (failure !== undefined) failures.push(failure);
    }
    const absent = await missing(folder, wanted);
    if (absent.length > 0) {
      // Otherwise a test would build the controller manager later, while others run.
      const others = hurry ? [] : await missing(folder, [CONTROLLER_MANAGER]);
      const programs = [...new Set([...absent, ...others])];
      // Whoever hurries already uses the others.
      const background = hurry && programs.every((name) => name === CONTROLLER_MANAGER);
      const failure = await buildPrograms({ programs, version: kubernetes, go, folder, env, progress, background });
      if (failure !== undefined) throw new Error(explain(absent, [...failures, failure], go));
    }
    return found();
  });
}

/** A kubectl that the user has installed, if it is not too old. */
async function kubectlInPath(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const absent = await Promise.all(folders.map((folder) => missing(folder, [KUBECTL])));
  const folder = folders.find((_, index) => absent[index]?.length === 0);
  if (folder === undefined) return undefined;
  const program = join(folder, KUBECTL);
  const args = ['version', '--client', '--output=json'];
  const { stdout } = await promisify(execFile)(program, args, { env, timeout: KUBECTL_MS }).catch(() => ({
    stdout: '',
  }));
  const minor = /"gitVersion": *"v1\.(\d+)\./.exec(stdout)?.[1];
  return Number(minor) >= OLDEST_KUBECTL ? program : undefined;
}

/** The versions pinned in go.mod, so every source gives the same minor version: `v1.36.3`, and Go's `1.26.0`. */
export async function pinnedVersions(): Promise<{ kubernetes: string; go: string }> {
  const text = await readFile(MODULE, 'utf8');
  const kubernetes = /^\s*k8s\.io\/kubernetes (v\S+)/m.exec(text)?.[1];
  const go = /^go (\S+)/m.exec(text)?.[1];
  if (kubernetes === undefined || go === undefined) throw new Error(`${MODULE} names no version of Kubernetes or Go`);
  return { kubernetes, go };
}

async function given(folder: string, wanted: string[]): Promise<Binaries> {
  const absent = await missing(folder, wanted);
  if (absent.length > 0) {
    throw new Error(
      `KUBEBUILDER_ASSETS is ${folder}, which holds no executable ${absent.join(', ')}. ` +
        'Correct it, or unset it to have the programs downloaded or built.',
    );
  }
  return paths(folder);
}

function paths(folder: string): Binaries {
  return {
    kubeApiserver: join(folder, 'kube-apiserver'),
    etcd: join(folder, 'etcd'),
    kubectl: join(folder, KUBECTL),
    kubeControllerManager: join(folder, CONTROLLER_MANAGER),
  };
}

async function missing(folder: string, names: string[]): Promise<string[]> {
  const present = await Promise.all(
    names.map((name) =>
      access(join(folder, name), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return names.filter((_, index) => !present[index]);
}

function explain(absent: string[], failures: string[], go: string): string {
  return [
    `Cannot get ${absent.join(', ')} for the control plane of tests and demo:`,
    ...failures.map((failure) => `  - ${failure}`),
    `One of these helps: install Go ${go} or newer (1.21 is enough where it may fetch its own newer version);`,
    `or set KUBEBUILDER_ASSETS to a folder that holds ${absent.join(', ')}; or give this machine access to the internet.`,
  ].join('\n');
}
