/** Builds the container images with Docker, under the names that the manifests use. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runProgram } from './run-program.ts';

export const ROOT = join(import.meta.dirname, '..');
export const REPOSITORY = 'ghcr.io/vps-operator/vps-operator';

export async function version(): Promise<string> {
  return (JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}

/** A stage of the Dockerfile that is a separate image. */
export type Target = 'operator' | 'simulator';

export async function imageName(target: Target = 'operator'): Promise<string> {
  return `${target === 'operator' ? REPOSITORY : `${REPOSITORY}-${target}`}:${await version()}`;
}

/** The commit, with `-dirty` if files differ from it; `unknown` outside a checkout. */
export async function revision(): Promise<string> {
  const git = (...args: string[]): Promise<string> =>
    promisify(execFile)('git', args, { cwd: ROOT }).then(({ stdout }) => stdout.trim());
  return git('describe', '--always', '--dirty', '--abbrev=40', '--exclude=*').catch(() => 'unknown');
}

/**
 * Resolves with the name of the image. `args` go to `docker build`. Throws what is missing, or that the build failed.
 */
export async function buildImage(args: readonly string[] = [], target: Target = 'operator'): Promise<string> {
  await checkDocker();
  const name = await imageName(target);
  const labels = [`VERSION=${await version()}`, `REVISION=${await revision()}`];
  const builtArgs = labels.flatMap((label) => ['--build-arg', label]);
  const build = (...more: string[]): Promise<number> =>
    runProgram('docker', ['build', '--tag', name, '--target', target, ...builtArgs, ...more, ...args, ROOT]);
  const code = (await hasBuildKit()) ? await build() : await classicBuild(build);
  if (code !== 0) throw new Error(`docker build failed with code ${code}`);
  return name;
}

/** False where Docker comes without buildx, as in Debian's docker.io. Docker then has only its classic builder. */
function hasBuildKit(): Promise<boolean> {
  return promisify(execFile)('docker', ['buildx', 'version']).then(
    () => true,
    () => false,
  );
}

/** The classic builder builds for one architecture at a time, so the build stage needs no other platform. */
async function classicBuild(build: (...more: string[]) => Promise<number>): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-image-'));
  try {
    const file = join(folder, 'Dockerfile');
    await writeFile(file, withoutBuildKit(await readFile(join(ROOT, 'Dockerfile'), 'utf8')));
    process.env['DOCKER_BUILDKIT'] = '0';
    return await build('--file', file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A Dockerfile without the flag whose value only BuildKit knows. */
export function withoutBuildKit(dockerfile: string): string {
  return dockerfile.replace('FROM --platform=$BUILDPLATFORM ', 'FROM ');
}

async function checkDocker(): Promise<void> {
  await promisify(execFile)('docker', ['version', '--format', '{{.Server.Version}}']).catch((error: unknown) => {
    const { code, stderr } = error as { code?: string | number; stderr?: string };
    const why =
      code === 'ENOENT'
        ? 'the docker command is not installed'
        : `the Docker engine does not answer: ${stderr?.trim() ?? ''}`;
    throw new Error(`the image is built with Docker (20.10 or newer), and ${why}`, { cause: error });
  });
}
