/** Builds the programs of the control plane from the Go modules that are pinned in go.mod. */
import { execFile, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { install } from './install.ts';
import { elapsed, reporting } from './progress.ts';

interface BuildRequest {
  /** Names from PACKAGES. */
  programs: string[];
  /** Version to stamp into the programs, e.g. `v1.36.3`. */
  version: string;
  /** The Go version that go.mod requires. */
  go: string;
  folder: string;
  env: NodeJS.ProcessEnv;
  progress: (line: string) => void;
  /** Leaves the processors to other programs. */
  background: boolean;
}

const PACKAGES: Record<string, string> = {
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  etcd: 'go.etcd.io/etcd/server/v3',
};

/** A line of `go build -v`. */
const PACKAGE = /^[\w.~/-]+$/;
const LIST_BYTES = 16 * 1024 * 1024;

/** Returns undefined once the programs are in `folder`, otherwise the reason. Throws only on an unknown program. */
export async function buildPrograms(request: BuildRequest): Promise<string | undefined> {
  const { folder, programs, progress } = request;
  const packages = programs.map((program) => {
    const path = PACKAGES[program];
    if (path === undefined) throw new Error(`no Go package is known for ${program}`);
    return path;
  });
  const staging = await mkdtemp(join(dirname(folder), 'build-'));
  const started = Date.now();
  const what = `control plane: building ${programs.join(', ')} ${request.version} with Go`;
  progress(`${what} (once; takes minutes when nothing is cached)`);
  const compiled = { packages: 0, of: await countStale(packages, request) };
  const done = (): string | undefined =>
    compiled.of === undefined ? undefined : `${compiled.packages} of ${compiled.of} packages`;
  try {
    await reporting(progress, what, () => goBuild(staging, packages, request, () => (compiled.packages += 1)), done);
    // `go build` names a program after the last part of its module path.
    if (programs.includes('etcd')) await rename(join(staging, 'server'), join(staging, 'etcd'));
    await install(staging, folder, programs);
    progress(`control plane: built in ${elapsed(started)}`);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    progress(`control plane: no build (${reason.split('\n')[0] ?? ''})`);
    return reason;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** How many packages have to be compiled; undefined if that cannot be known, which the build then explains. */
async function countStale(packages: string[], { version, env }: BuildRequest): Promise<number | undefined> {
  const args = ['list', ...buildFlags(version), '-deps', '-f', '{{if .Stale}}{{.ImportPath}}{{end}}', ...packages];
  const options = { ...goOptions(env), maxBuffer: LIST_BYTES };
  const listed = await promisify(execFile)('go', args, options).catch(() => undefined);
  return listed?.stdout.split('\n').filter((line) => line !== '').length;
}

async function goBuild(
  out: string,
  packages: string[],
  { version, go, env, background }: BuildRequest,
  onPackage: () => void,
): Promise<void> {
  const child = spawn('go', ['build', '-v', ...buildFlags(version), '-o', `${out}/`, ...packages], {
    ...goOptions(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (background && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const stop = (): void => {
    child.kill('SIGTERM');
    rmSync(out, { recursive: true, force: true });
  };
  process.once('exit', stop);
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (PACKAGE.test(line)) onPackage();
    else errors.push(line);
  });
  try {
    await new Promise<void>((done, fail) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        const absent = error.code === 'ENOENT';
        fail(new Error(absent ? `build with Go: there is no go command (go.mod asks for ${go})` : error.message));
      });
      child.once('close', (code, signal) => {
        if (code === 0) done();
        else fail(new Error(`build with Go: go build exited with ${signal ?? code ?? 'nothing'}: ${tail(errors)}`));
      });
    });
  } finally {
    process.removeListener('exit', stop);
  }
}

const buildFlags = (version: string): string[] => ['-trimpath', '-ldflags', stamp(version)];

/** Without cgo no C compiler is needed. Ignores the user's go.work and -mod=vendor. */
const goOptions = (env: NodeJS.ProcessEnv): { cwd: string; env: NodeJS.ProcessEnv } => ({
  cwd: import.meta.dirname,
  env: { ...env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' },
});

/** Without it, the API server reports v0.0.0, which breaks clients that compare versions. */
function stamp(version: string): string {
  const [major = '', minor = ''] = version.replace(/^v/, '').split('.');
  const base = 'k8s.io/component-base/version';
  const values: [string, string][] = [
    [`${base}.gitVersion`, version],
    [`${base}.gitMajor`, major],
    [`${base}.gitMinor`, minor],
    [`${base}.gitTreeState`, 'clean'],
    [`${base}.buildDate`, '2026-01-01T00:00:00Z'],
    ['k8s.io/client-go/pkg/version.gitVersion', version],
  ];
  return ['-s', '-w', ...values.map(([name, value]) => `-X ${name}=${value}`)].join(' ');
}

function tail(lines: string[]): string {
  return lines.slice(-8).join('\n    ');
}
