/** Builds the container image with Docker, under the name that the manifests use. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runProgram } from './run-program.ts';

export const ROOT = join(import.meta.dirname, '..');
export const REPOSITORY = 'ghcr.io/vps-operator/vps-operator';

export async function version(): Promise<string> {
  return (JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}

export async function imageName(): Promise<string> {
  return `${REPOSITORY}:${await version()}`;
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
export async function buildImage(args: readonly string[] = []): Promise<string> {
  await checkDocker();
  const name = await imageName();
  const labels = [`VERSION=${await version()}`, `REVISION=${await revision()}`];
  const builtArgs = labels.flatMap((label) => ['--build-arg', label]);
  // The build stage runs on the builder's architecture, which requires BuildKit, the default since Docker 23.
  process.env['DOCKER_BUILDKIT'] ??= '1';
  const code = await runProgram('docker', ['build', '--tag', name, ...builtArgs, ...args, ROOT]);
  if (code !== 0) throw new Error(`docker build failed with code ${code}`);
  return name;
}

async function checkDocker(): Promise<void> {
  await promisify(execFile)('docker', ['version', '--format', '{{.Server.Version}}']).catch((error: unknown) => {
    const { code, stderr } = error as { code?: string | number; stderr?: string };
    const why =
      code === 'ENOENT'
        ? 'the docker command is not installed'
        : `the Docker engine does not answer: ${stderr?.trim() ?? ''}`;
    throw new Error(`the image is built with Docker (20.10 or newer, with BuildKit), and ${why}`, { cause: error });
  });
}
