/** Credential plugins of a kubeconfig: real processes, and an API server on a real port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { stringify } from 'yaml';
import { loadCluster } from '../../../src/kube/config.ts';
import type { PluginHost } from '../../../src/kube/exec-credential.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';

const V1 = 'client.authentication.k8s.io/v1';
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-exec-'));
});
afterEach(() => rm(folder, { recursive: true }));

const file = (name: string): string => join(folder, name);
/** The lines that the plugin has written, one for each run. */
const runs = (name = 'runs'): string[] =>
  existsSync(file(name)) ? readFileSync(file(name), 'utf8').trim().split('\n') : [];

const credential = (status: object, apiVersion = V1): string =>
  JSON.stringify({ apiVersion, kind: 'ExecCredential', status });
/** A command of the shell that prints this. */
const prints = (text: string): string => `printf '%s' '${text.replaceAll("'", String.raw`'\''`)}'`;

/** A kubeconfig whose user runs this script in a separate folder. */
async function kubeconfig(script: string, exec: object = {}, cluster: object = {}): Promise<string> {
  const path = file('config');
  const config = {
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    users: [
      {
        name: 'u',
        user: {
          exec: {
            apiVersion: V1,
            interactiveMode: 'IfAvailable',
            command: '/bin/sh',
            args: ['-c', `cd ${folder}; ${script}`],
            ...exec,
          },
        },
      },
    ],
  };
  await writeFile(path, stringify(config));
  return path;
}

const load = async (script: string, exec: object = {}, cluster: object = {}, host: PluginHost = {}) =>
  loadCluster(await kubeconfig(script, exec, cluster), {}, host);

/** An API server that accepts these tokens, and a client whose plugin prints the contents of `token`. */
async function startApi(accepts: string[], script: string) {
  const seen: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    seen.push(headers.authorization);
    response.writeHead(accepts.includes(headers.authorization ?? '') ? 200 : 401).end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const http = createKubeHttp({ cluster: await load(script, {}, { server: `http://127.0.0.1:${port}` }) });
  onTestFinished(async () => {
    await http.close();
    server.closeAllConnections();
    server.close();
  });
  return { http, seen };
}

const BY_NUMBER = `echo run >>runs; ${prints(credential({ token: 'token-N' })).replace('%s', '%s\\n')} | sed "s/N/$(wc -l <runs | tr -d ' ')/"`;

describe('a credential', () => {
  it('is used until the API server refuses it, and then renewed once for all calls', async () => {
    const accepts = ['Bearer token-1'];
    const { http, seen } = await startApi(accepts, BY_NUMBER);
    await http.call({ path: '/' });
    await http.call({ path: '/' });
    expect(runs()).toHaveLength(1);
    accepts.splice(0, 1, 'Bearer token-2');
    await Promise.all([http.call({ path: '/' }), http.call({ path: '/' }), http.call({ path: '/' })]);
    expect(runs()).toHaveLength(2);
    expect(seen.slice(-1)).toEqual(['Bearer token-2']);
    expect(http.loginFailure()).toBeUndefined();
  });

  it('that stays refused is reported until the API server accepts one', async () => {
    const accepts = [''];
    const { http } = await startApi(accepts, BY_NUMBER);
    await expect(http.call({ path: '/' })).rejects.toMatchObject({ status: 401 });
    expect(http.loginFailure()).toMatchObject({ kind: 'refused' });
    accepts.push('Bearer token-3');
    await http.call({ path: '/' });
    expect(http.loginFailure()).toBeUndefined();
  });

  it('that cannot be obtained is reported until the API server accepts one', async () => {
    const { http } = await startApi(
      ['Bearer good'],
      `test -e fixed || exit 1; ${prints(credential({ token: 'good' }))}`,
    );
    await expect(http.call({ path: '/' })).rejects.toMatchObject({ code: 'Unreachable' });
    expect(http.loginFailure()).toMatchObject({ kind: 'missing' });
    await writeFile(file('fixed'), '');
    await http.call({ path: '/' });
    expect(http.loginFailure()).toBeUndefined();
  });

  it('is obtained again once it has expired', async () => {
    const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
    const cluster = await load(`echo run >>runs; cat answer`);
    await writeFile(file('answer'), credential({ token: 'old', expirationTimestamp: at(3_600_000) }));
    await cluster.credentials();
    await writeFile(file('answer'), credential({ token: 'expired', expirationTimestamp: at(-1_000) }));
    expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer old' });
    expect((await cluster.credentials({ renew: true })).headers).toEqual({ authorization: 'Bearer expired' });
    await writeFile(file('answer'), credential({ token: 'new', expirationTimestamp: null }));
    expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer new' });
    expect(runs()).toHaveLength(3);
  });

  it('may be a certificate', async () => {
    const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' };
    const { headers, tls } = await (await load(prints(credential(status)))).credentials();
    expect([headers, tls]).toMatchObject([{}, { cert: 'CERT', key: 'KEY' }]);
  });

  it.each([
    ['no JSON', 's3cr3t-token', 'did not print an ExecCredential'],
    ['another kind', JSON.stringify({ kind: 'Pod', status: { token: 's3cr3t' } }), 'did not print an ExecCredential'],
    ['another version', credential({ token: 's3cr3t' }, 'client.authentication.k8s.io/v1beta1'), `instead of ${V1}`],
    ['no status', JSON.stringify({ apiVersion: V1, kind: 'ExecCredential' }), 'printed no status'],
    ['an empty status', credential({}), 'neither a token nor a certificate'],
    ['half a certificate', credential({ clientCertificateData: 's3cr3t' }), 'only one of'],
    ['a wrong time', credential({ token: 's3cr3t', expirationTimestamp: 'soon' }), 'RFC 3339'],
  ])('is refused if the plugin prints %s', async (_, text, message) => {
    const error: unknown = await (await load(prints(text))).credentials().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'Unreachable', message: expect.stringContaining(message) as string });
    expect(String((error as Error).stack)).not.toContain('s3cr3t');
  });
});

describe('a plugin', () => {
  const OK = prints(credential({ token: 't' }));
  const info = (): unknown => JSON.parse(readFileSync(file('info'), 'utf8'));
  const NOTES_INFO = `printf '%s' "$KUBERNETES_EXEC_INFO" >info; ${OK}`;

  it('is told the version, and that it cannot ask questions', async () => {
    await (await load(NOTES_INFO)).credentials();
    expect(info()).toEqual({ apiVersion: V1, kind: 'ExecCredential', spec: { interactive: false } });
  });

  it('is told of the cluster if it needs that', async () => {
    await writeFile(file('ca.pem'), 'ca');
    const apiVersion = 'client.authentication.k8s.io/v1beta1';
    const script = `printf '%s' "$KUBERNETES_EXEC_INFO" >info; ${prints(credential({ token: 't' }, apiVersion))}`;
    const cluster = {
      'certificate-authority': 'ca.pem',
      'tls-server-name': 'api.example.org',
      'proxy-url': 'http://127.0.0.1:1',
      extensions: [
        { name: 'other', extension: { audience: 'no' } },
        { name: 'client.authentication.k8s.io/exec', extension: { audience: true } },
      ],
    };
    await (await load(script, { apiVersion, provideClusterInfo: true }, cluster)).credentials();
    expect(info()).toEqual({
      apiVersion,
      kind: 'ExecCredential',
      spec: {
        interactive: false,
        cluster: {
          server: 'https://127.0.0.1:6443',
          'tls-server-name': 'api.example.org',
          'certificate-authority-data': Buffer.from('ca').toString('base64'),
          'proxy-url': 'http://127.0.0.1:1',
          config: { audience: true },
        },
      },
    });
  });

  it('gets the environment of the process and its own, and nothing to read', async () => {
    vi.stubEnv('OF_PROCESS', 'p');
    onTestFinished(() => void vi.unstubAllEnvs());
    const env = [{ name: 'OF_PLUGIN', value: 'x' }];
    await (await load(`echo "$OF_PROCESS $OF_PLUGIN $(cat)" >runs; ${OK}`, { env })).credentials();
    expect(runs()).toEqual(['p x']);
  });

  it.each([
    [{ apiVersion: '' }, 'has the exec.apiVersion "": give client.authentication.k8s.io/v1 or'],
    [{ apiVersion: 'client.authentication.k8s.io/v1alpha1' }, 'give client.authentication.k8s.io/v1 or'],
    [{ interactiveMode: 'Sometimes' }, 'has the exec.interactiveMode "Sometimes": give Never, IfAvailable, Always'],
    [{ command: '' }, 'has no exec.command'],
    [{ env: [{ value: 'x' }] }, 'has an exec.env entry without a name'],
  ])('with %j is refused', async (exec, message) => {
    await expect(load(OK, exec)).rejects.toThrow(message);
    await expect(load(OK, exec)).rejects.toThrow('user "u"');
  });

  it('that always asks questions is refused without a terminal, and not run', async () => {
    const refused = { code: 'Unreachable', message: expect.stringContaining('interactiveMode is Always') as string };
    const script = `echo run >>runs; ${OK}`;
    const inOperator = await load(script, { interactiveMode: 'Always' });
    await expect(inOperator.credentials()).rejects.toMatchObject(refused);
    const piped = await load(script, { interactiveMode: 'Always' }, {}, { terminal: { isInteractive: false } });
    await expect(piped.credentials()).rejects.toMatchObject(refused);
    expect(runs()).toEqual([]);
  });

  it('that is not installed is reported with the hint how to install it', async () => {
    const cluster = await load('', { command: 'no-such-plugin', installHint: 'Install it with\n  apt install it\n' });
    await expect(cluster.credentials()).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringMatching(/no-such-plugin: it was not found\. Install it with\s+apt install it$/) as string,
    });
  });

  it('has its standard error passed on, cut and without secrets', async () => {
    const said: string[] = [];
    const host = { onStderr: (text: string) => void said.push(text) };
    const token = 'tok-en1';
    const script =
      `echo 'asks login.example.org' >&2; echo "got ${token}, with $OWN; password: hunter2" >&2; ` +
      `echo "Authorization: Bearer abc.def-ghi" >&2; head -c 100000 /dev/zero | tr '\\0' ' x' >&2; ` +
      prints(credential({ token }));
    const env = [{ name: 'OWN', value: 'client-secret' }];
    await (await load(script, { env }, {}, host)).credentials();
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('asks login.example.org got ***, with ***; password: ***');
    expect(said[0]).toContain('Bearer ***');
    expect(said[0]?.length).toBeLessThanOrEqual(1_000);
    for (const secret of [token, 'client-secret', 'hunter2', 'abc.def']) expect(said[0]).not.toContain(secret);
  });

  it('of kubectl vps writes its standard error to the terminal', async () => {
    const path = await kubeconfig(`echo "open https://login.example.org" >&2; ${OK}`);
    const module = new URL('../../../src/kube/config.ts', import.meta.url).href;
    const program = `import { loadCluster } from ${JSON.stringify(module)};
      await loadCluster(${JSON.stringify(path)}, {}, { terminal: { isInteractive: false } }).credentials();`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(child, 'close');
    expect(said).toBe('open https://login.example.org\n');
  });

  it('that fails gives the reason in the error', async () => {
    const said: string[] = [];
    const host = { onStderr: (text: string) => void said.push(text) };
    const cluster = await load('echo "log in first" >&2; exit 3', {}, {}, host);
    const message = expect.stringMatching(/exit code 3: log in first$/) as string;
    await expect(cluster.credentials()).rejects.toMatchObject({ code: 'Unreachable', message });
    expect(said).toEqual(['log in first']);
  });

  it('never runs twice at once', async () => {
    const cluster = await load(`echo run >>runs; until test -e go; do sleep 0.05; done; ${OK}`);
    const all = [cluster.credentials(), cluster.credentials({ renew: true }), cluster.credentials()];
    await vi.waitFor(() => expect(runs()).toHaveLength(1));
    await writeFile(file('go'), '');
    await Promise.all(all);
    expect(runs()).toHaveLength(1);
  });

  it('runs on for the call that still waits when another one ends', async () => {
    const good = prints(credential({ token: 'good' }));
    const { http } = await startApi(['Bearer good'], `echo run >>runs; until test -e go; do sleep 0.05; done; ${good}`);
    const given = new AbortController();
    const calls = Promise.allSettled([http.call({ path: '/', signal: given.signal }), http.call({ path: '/' })]);
    await vi.waitFor(() => expect(runs()).toHaveLength(1));
    given.abort();
    await writeFile(file('go'), '');
    expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(runs()).toHaveLength(1);
  });
});

/** True while the process runs; a zombie does not. */
function isAlive(pid: string): boolean {
  const path = `/proc/${pid}/stat`;
  try {
    return existsSync(path) && !/\) [ZX] /.test(readFileSync(path, 'utf8'));
  } catch {
    return false;
  }
}

describe('a plugin that hangs', () => {
  const HANGS = 'sleep 1000 & echo "$$ $!" >>runs; wait';
  const pids = (): string[] => runs().flatMap((line) => line.split(' '));
  /** All that the last run has started. */
  const hung = async (count: number): Promise<void> => {
    await vi.waitFor(() => expect(pids()).toHaveLength(2 * count), { timeout: 20_000 });
  };
  const over = async (): Promise<void> => {
    await vi.waitFor(() => expect(pids().filter(isAlive)).toEqual([]), { timeout: 20_000 });
  };

  it('is ended with the last call that waits for it, with its children, and may run again then', async () => {
    const http = createKubeHttp({ cluster: await load(HANGS), timeoutMs: 3_600_000 });
    onTestFinished(() => http.close());
    const [one, other, third] = [new AbortController(), new AbortController(), new AbortController()];
    const first = expect(http.call({ path: '/', signal: one.signal })).rejects.toThrow();
    const second = expect(http.call({ path: '/', signal: other.signal })).rejects.toThrow();
    await hung(1);
    one.abort();
    await first;
    expect(pids().map(isAlive)).toEqual([true, true]);
    other.abort();
    await second;
    await over();
    const again = expect(http.call({ path: '/', signal: third.signal })).rejects.toThrow();
    await hung(2);
    third.abort();
    await again;
    await over();
  });

  it('is ended by the deadline of a call, and said so', async () => {
    const http = createKubeHttp({ cluster: await load(HANGS), timeoutMs: 1_000 });
    onTestFinished(() => http.close());
    const message = expect.stringMatching(/no credentials|did not end within 1 s/) as string;
    await expect(http.call({ path: '/' })).rejects.toMatchObject({ code: 'Unreachable', message });
    expect(http.loginFailure()).toMatchObject({ kind: 'missing' });
    await over();
  });

  it('is ended when the connections are closed', async () => {
    const http = createKubeHttp({ cluster: await load(HANGS), timeoutMs: 3_600_000 });
    const call = expect(http.call({ path: '/' })).rejects.toMatchObject({ code: 'Unreachable' });
    await hung(1);
    await http.close();
    await call;
    await over();
  });

  it.each(['process.exit(0)', 'throw new Error("crash")'])(
    'does not outlive a process that ends by %s',
    async (end) => {
      const path = await kubeconfig(HANGS);
      const module = new URL('../../../src/kube/config.ts', import.meta.url).href;
      const program = `import { loadCluster } from ${JSON.stringify(module)};
      loadCluster(${JSON.stringify(path)}).credentials().catch(() => undefined);
      process.stdin.once('data', () => { ${end}; });`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      await hung(1);
      const ended = once(child, 'exit');
      child.stdin.write('end\n');
      await ended;
      await over();
    },
  );

  it('leaves nothing in the background when it ends', async () => {
    const script = `sleep 1000 >/dev/null 2>&1 & echo "$$ $!" >>runs; ${prints(credential({ token: 't' }))}`;
    await (await load(script)).credentials();
    expect(pids()).toHaveLength(2);
    await over();
  });
});
