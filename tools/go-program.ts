/** Builds a small Go program for tests of libraries that exist only in Go; cached by its source. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, constants, mkdtemp, mkdir, readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { install } from './control-plane/install.ts';
import { withLock } from './control-plane/lock.ts';

export interface GoProgram {
  /** The folder with go.mod, go.sum and the program's source. */
  module: string;
  /** The argument of `go build`: `.`, a folder such as `./kstatus`, or a package path that go.mod pins. */
  package: string;
}

/**
 * Resolves with the path of the executable. The first call on a machine takes as long as `go build`. Rejects with the
 * build's output, or with what to install if there is no Go.
 */
export async function goProgram(program: GoProgram): Promise<string> {
  const name = basename(program.package === '.' ? program.module : program.package);
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'vps-operator', 'go');
  const folder = join(cache, await digest(program));
  const path = join(folder, name);
  const isThere = (): Promise<boolean> =>
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
  if (await isThere()) return path;
  await mkdir(cache, { recursive: true });
  const say = (line: string): void => console.error(line);
  await withLock(`${folder}.lock`, say, async () => {
    if (await isThere()) return;
    say(`building ${name} with Go (once)`);
    const staging = await mkdtemp(join(dirname(folder), 'build-'));
    await build(program, join(staging, name));
    await install(staging, folder, [name]);
  });
  return path;
}

/** Lets Go download the newer Go that a go.mod requires: by default, the Go of some distributions does not. */
export const goEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, GOTOOLCHAIN: 'auto' });

async function build({ module, package: path }: GoProgram, out: string): Promise<void> {
  try {
    await promisify(execFile)('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', out, path], {
      cwd: module,
      env: { ...goEnvironment(), CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' },
    });
  } catch (error) {
    const { code, stderr } = error as { code?: string | number; stderr?: string };
    if (code === 'ENOENT') throw new Error(`${path} is built with Go: install Go 1.21 or newer`, { cause: error });
    throw new Error(`go build ${path} failed: ${stderr ?? ''}`, { cause: error });
  }
}

/** A hash of the source, so that a change of the source gets another program. */
async function digest({ module, package: path }: GoProgram): Promise<string> {
  const hash = createHash('sha256').update(path);
  const files = await readdir(module, { recursive: true });
  for (const file of files.filter((name) => /(\.go|go\.mod|go\.sum)$/.test(name)).sort()) {
    hash.update(file).update(await readFile(join(module, file)));
  }
  return hash.digest('hex').slice(0, 20);
}
