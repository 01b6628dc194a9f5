/** Helm for tests: the versions that test/go/chart and test/go/helm-3 pin, isolated from the user's own settings. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { CHART } from '../../tools/chart/main.ts';
import { pinnedVersions } from '../../tools/control-plane/binaries.ts';
import { goProgram } from '../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../tools/go-programs.ts';
import { SYSTEM } from '../integration/deploy/pod.ts';

/** Upper bound for a first build of Helm. */
export const HELM_BUILD_MS = 1_800_000;
/** The values without which the chart cannot be installed. */
export const LEAST = join(CHART, 'ci/default-values.yaml');

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
}

export interface Helm {
  path: string;
  /** What keeps it away from the user's own settings. */
  env: Record<string, string>;
  /** Resolves with its output; rejects with an Error that contains its output. */
  run(...args: string[]): Promise<string>;
  /** The text that the chart renders. */
  render(...args: string[]): Promise<string>;
  remove(): Promise<void>;
}

export async function useHelm(program: 'helm' | 'helm3' = 'helm'): Promise<Helm> {
  const path = await goProgram(GO_PROGRAMS[program]);
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-helm-'));
  const folders = ['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, join(folder, name)] as const);
  const env = Object.fromEntries(folders);
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(path, args, { env: { ...process.env, ...env }, maxBuffer: 2 ** 24 })).stdout;
  // Without the linker flags of a release build, Helm 3 renders for Kubernetes 1.20.
  const clusterVersion = program === 'helm3' ? ['--kube-version', (await pinnedVersions()).kubernetes] : [];
  return {
    path,
    env,
    run,
    render: (...args) => run('template', 'vps-operator', CHART, '--namespace', SYSTEM, ...clusterVersion, ...args),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export const manifestsIn = (yaml: string): Manifest[] =>
  parseAllDocuments(yaml)
    .map((document) => document.toJS() as Manifest | null)
    .filter((one) => one !== null);
