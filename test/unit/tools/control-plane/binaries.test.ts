import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, chmod, constants, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { pinnedVersions, resolveBinaries } from '../../../../tools/control-plane/binaries.ts';
import { withLock } from '../../../../tools/control-plane/lock.ts';

const NEEDED = ['kube-apiserver', 'etcd', 'kubectl'];
// Port 9 has no listener here, so a connection is refused at once, as without a network.
const NO_NETWORK = 'http://127.0.0.1:9/index.yaml';
const NO_DOWNLOADS = { indexUrl: NO_NETWORK, releaseUrl: NO_NETWORK };
const NO_GO = { PATH: '/nowhere' };

let home: string;
let lines: string[];
const progress = (line: string) => void lines.push(line);

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'vps-operator-binaries-'));
  lines = [];
});
afterEach(() => rm(home, { recursive: true }));

async function programs(folder: string, names: string[], content = '#!/bin/sh\n'): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of names) await writeFile(join(folder, name), content, { mode: 0o755 });
}

async function cacheFolder(): Promise<string> {
  return join(home, '.cache/vps-operator/control-plane', (await pinnedVersions()).kubernetes);
}

/** A go command that handles `-o <folder>/ <package>...` like the real one; writes its arguments to `go.args`. */
async function fakeGo(script = ''): Promise<NodeJS.ProcessEnv> {
  const bin = join(home, 'bin');
  const build = `
    [ "$1" = build ] || exit 1
    printf '%s\\n' "$@" >> ${home}/go.args
    ${script}
    while [ "$1" != -o ]; do shift; done
    out=$2; shift 2
    for package; do name=$(echo "$package" | sed 's#/v[0-9]*$##; s#.*/##'); echo built > "$out$name"; chmod 755 "$out$name"; done`;
  await programs(bin, ['go'], `#!/bin/sh\n${build}\n`);
  return { HOME: home, PATH: `${bin}:/usr/bin:/bin` };
}

describe('KUBEBUILDER_ASSETS', () => {
  it('comes before the cache and everything else', async () => {
    const assets = join(home, 'assets');
    await programs(assets, NEEDED);
    await programs(await cacheFolder(), NEEDED);
    const env = { HOME: home, KUBEBUILDER_ASSETS: assets };
    expect(await resolveBinaries(progress, { env })).toEqual({
      kubeApiserver: join(assets, 'kube-apiserver'),
      etcd: join(assets, 'etcd'),
      kubectl: join(assets, 'kubectl'),
      kubeControllerManager: join(assets, 'kube-controller-manager'),
    });
    expect(lines).toEqual([]);
  });

  it('is an error, not a fallback, when a program is missing or not executable', async () => {
    const assets = join(home, 'assets');
    await programs(assets, NEEDED);
    await rm(join(assets, 'etcd'));
    await chmod(join(assets, 'kubectl'), 0o644);
    await programs(await cacheFolder(), NEEDED);
    const resolved = resolveBinaries(progress, { env: { HOME: home, KUBEBUILDER_ASSETS: assets } });
    await expect(resolved).rejects.toThrow(`KUBEBUILDER_ASSETS is ${assets}, which holds no executable etcd, kubectl.`);
  });

  it('must contain the controller manager if a test needs it', async () => {
    await programs(join(home, 'assets'), NEEDED);
    const env = { HOME: home, KUBEBUILDER_ASSETS: join(home, 'assets') };
    const resolved = resolveBinaries(progress, { env, controllerManager: true });
    await expect(resolved).rejects.toThrow('holds no executable kube-controller-manager');
  });
});

describe('the cache', () => {
  it('is used silently, and is in XDG_CACHE_HOME if that is set', async () => {
    const cache = join(home, 'elsewhere');
    const folder = join(cache, 'vps-operator/control-plane', (await pinnedVersions()).kubernetes);
    await programs(folder, [...NEEDED, 'kube-controller-manager']);
    const binaries = await resolveBinaries(progress, { env: { HOME: home, XDG_CACHE_HOME: cache, ...NO_GO } });
    expect(binaries.kubeApiserver).toBe(join(folder, 'kube-apiserver'));
    expect(binaries.kubeControllerManager).toBe(join(folder, 'kube-controller-manager'));
    expect(lines).toEqual([]);
  });

  it('is completed when a program is missing', async () => {
    await programs(await cacheFolder(), ['kube-apiserver', 'kubectl']);
    const binaries = await resolveBinaries(progress, { env: await fakeGo(), ...NO_DOWNLOADS });
    expect(await readFile(binaries.etcd, 'utf8')).toBe('built\n');
    expect(await readFile(binaries.kubeApiserver, 'utf8')).toBe('#!/bin/sh\n');
  });
});

describe('the download', () => {
  it('fetches the newest archive of the pinned minor version and keeps it', async () => {
    const upstream = await startUpstream();
    try {
      const env = { HOME: home, ...NO_GO };
      const binaries = await resolveBinaries(progress, { env, indexUrl: upstream.indexUrl });
      expect(await readFile(binaries.kubeApiserver, 'utf8')).toBe('downloaded\n');
      expect((await readdir(join(binaries.etcd, '..'))).sort()).toEqual([...NEEDED].sort());
      expect(await readdir(join(binaries.etcd, '../..'))).toHaveLength(1);
    } finally {
      await upstream.close();
    }
    const again = await resolveBinaries(progress, { env: { HOME: home, ...NO_GO }, ...NO_DOWNLOADS });
    expect(await readFile(again.etcd, 'utf8')).toBe('downloaded\n');
  });

  it.runIf(process.platform === 'linux')(
    'fetches the controller manager, which is in no archive, if it is wanted',
    async () => {
      await programs(await cacheFolder(), NEEDED);
      const upstream = await startUpstream();
      onTestFinished(upstream.close);
      const wanted = { env: { HOME: home, ...NO_GO }, ...NO_DOWNLOADS, controllerManager: true };
      const damaged = resolveBinaries(progress, { ...wanted, releaseUrl: `${upstream.releaseUrl}/damaged` });
      await expect(damaged).rejects.toThrow('kube-controller-manager: it has another checksum than upstream');
      const { kubeControllerManager } = await resolveBinaries(progress, { ...wanted, releaseUrl: upstream.releaseUrl });
      expect(await readFile(kubeControllerManager, 'utf8')).toBe('downloaded\n');
      await access(kubeControllerManager, constants.X_OK);
      expect(await readdir(dirname(await cacheFolder()))).toHaveLength(1);
    },
  );
});

describe('the build', () => {
  it('builds all programs, stamped with the version, when there is no network', async () => {
    const { kubernetes } = await pinnedVersions();
    const binaries = await resolveBinaries(progress, { env: await fakeGo(), ...NO_DOWNLOADS });
    expect(await readFile(binaries.etcd, 'utf8')).toBe('built\n');
    expect(await readFile(binaries.kubeControllerManager, 'utf8')).toBe('built\n');
    expect(await readFile(join(home, 'go.args'), 'utf8')).toContain(`gitVersion=${kubernetes}`);
    expect(lines.join('\n')).toMatch(/looking for a download.*no download.*building.*built in/s);
    expect(await readdir(dirname(await cacheFolder()))).toEqual([kubernetes]);
  });

  it('runs once when two processes ask at the same time', async () => {
    const env = await fakeGo('sleep 0.3');
    const both = [1, 2].map(() => resolveInProcess(env));
    await Promise.all(both);
    const args = await readFile(join(home, 'go.args'), 'utf8');
    expect(args.split('\n').filter((line) => line === 'build')).toHaveLength(1);
  });

  it('leaves no partial build behind', async () => {
    const env = await fakeGo('echo "cannot find module" >&2; exit 1');
    await expect(resolveBinaries(progress, { env, ...NO_DOWNLOADS })).rejects.toThrow(/cannot find module/);
    expect(await readdir(dirname(await cacheFolder()))).toEqual([]);
  });
});

describe('in a hurry', () => {
  const paths = async (env: NodeJS.ProcessEnv): Promise<string[]> => {
    const text = await readFile(join(env['HOME'] ?? '', 'go.args'), 'utf8');
    return text.split('\n').filter((line) => /^(k8s\.io|go\.etcd\.io)\/\S+$/.test(line));
  };
  const kubectl = (version: string): string => `#!/bin/sh\necho '{"clientVersion": {"gitVersion": "${version}"}}'\n`;

  it('builds only what is asked for, and uses the kubectl in PATH', async () => {
    const env = await fakeGo();
    await programs(join(home, 'bin'), ['kubectl'], kubectl('v1.32.4-dispatcher'));
    const binaries = await resolveBinaries(progress, { env, ...NO_DOWNLOADS, hurry: true });
    expect(binaries.kubectl).toBe(join(home, 'bin/kubectl'));
    expect(await paths(env)).toEqual(['k8s.io/kubernetes/cmd/kube-apiserver', 'go.etcd.io/etcd/server/v3']);

    lines = [];
    expect(await resolveBinaries(progress, { env, ...NO_DOWNLOADS, hurry: true })).toEqual(binaries);
    expect(lines).toEqual([]);

    const later = await resolveBinaries(progress, {
      env,
      ...NO_DOWNLOADS,
      hurry: true,
      controllerManager: true,
    });
    expect(await readFile(later.kubeControllerManager, 'utf8')).toBe('built\n');
    expect((await paths(env)).slice(2)).toEqual(['k8s.io/kubernetes/cmd/kube-controller-manager']);
  });

  it.each([kubectl('v1.29.9'), '#!/bin/sh\nexit 1\n'])(
    'builds kubectl if the one in PATH is no use: %j',
    async (script) => {
      const env = await fakeGo();
      await programs(join(home, 'bin'), ['kubectl'], script);
      const binaries = await resolveBinaries(progress, { env, ...NO_DOWNLOADS, hurry: true });
      expect(binaries.kubectl).toBe(join(await cacheFolder(), 'kubectl'));
    },
  );

  it('prefers the kubectl of the cache', async () => {
    const env = await fakeGo();
    await programs(join(home, 'bin'), ['kubectl'], kubectl('v1.36.3'));
    await programs(await cacheFolder(), NEEDED);
    const binaries = await resolveBinaries(progress, { env, ...NO_DOWNLOADS, hurry: true });
    expect(binaries.kubectl).toBe(join(await cacheFolder(), 'kubectl'));
  });
});

describe('when nothing works', () => {
  it('names every attempt and what to install in one error', async () => {
    const { go } = await pinnedVersions();
    const error: unknown = await resolveBinaries(progress, {
      env: { HOME: home, ...NO_GO },
      ...NO_DOWNLOADS,
    }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    const { message } = error as Error;
    expect(message).toContain('Cannot get kube-apiserver, etcd, kubectl');
    expect(message).toContain('download from 127.0.0.1:9:');
    expect(message).toContain('there is no go command');
    expect(message).toContain(`install Go ${go}`);
    expect(message).toContain('KUBEBUILDER_ASSETS');
    expect(message).toContain('access to the internet');
  });
});

describe('the lock', () => {
  it('is taken over from a dead process', async () => {
    const file = join(home, 'lock');
    const dead = execFile('/bin/true');
    await new Promise((resolve) => dead.once('exit', resolve));
    await writeFile(file, String(dead.pid));
    expect(await withLock(file, progress, () => Promise.resolve('done'))).toBe('done');
    expect(await readdir(home)).toEqual([]);
  });

  it('is released when the work fails', async () => {
    const file = join(home, 'lock');
    await expect(withLock(file, progress, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await readdir(home)).toEqual([]);
  });
});

/** In a separate process, because the lock is between processes. */
async function resolveInProcess(env: NodeJS.ProcessEnv): Promise<void> {
  const source = `
    import { resolveBinaries } from ${JSON.stringify(join(import.meta.dirname, '../../../../tools/control-plane/binaries.ts'))};
    await resolveBinaries(() => undefined, ${JSON.stringify(NO_DOWNLOADS)});`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', source], { env });
}

/** Upstream's list with one archive, of another patch version of the pinned minor version. */
async function startUpstream(): Promise<{ indexUrl: string; releaseUrl: string; close: () => Promise<void> }> {
  const source = join(home, 'archive');
  await programs(join(source, 'controller-tools/envtest'), NEEDED, 'downloaded\n');
  const tarball = join(home, 'envtest.tar.gz');
  await promisify(execFile)('tar', ['-czf', tarball, '-C', source, 'controller-tools']);
  const archive = await readFile(tarball);
  const pinned = await pinnedVersions();
  const version = pinned.kubernetes.replace(/\d+$/, '99');
  const system = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;

  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    const entry = {
      hash: createHash('sha512').update(archive).digest('hex'),
      selfLink: `http://127.0.0.1:${port}/archive`,
    };
    const { kubernetes } = pinned;
    const arch = process.arch === 'x64' ? 'amd64' : process.arch;
    const path = `/${kubernetes}/bin/linux/${arch}/kube-controller-manager`;
    if (request.url?.endsWith(`${path}.sha512`)) {
      const text = request.url.includes('damaged') ? 'another' : 'downloaded\n';
      return void response.end(createHash('sha512').update(text).digest('hex'));
    }
    if (request.url?.endsWith(path)) return void response.end('downloaded\n');
    const index = { releases: { [version]: { [`envtest-${version}-${system}.tar.gz`]: entry } } };
    response.end(request.url === '/archive' ? archive : JSON.stringify(index));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    indexUrl: `${url}/index.yaml`,
    releaseUrl: url,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
