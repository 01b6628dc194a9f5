import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { loadCluster, type Overrides } from '../../../src/kube/config.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-config-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function kubeconfig(user: object, changes: object = {}): Promise<string> {
  const path = join(folder, 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443/', 'certificate-authority-data': 'Y2E=' } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'home' } }],
    users: [{ name: 'u', user }],
    ...changes,
  };
  await writeFile(path, stringify(config));
  return path;
}

/** A user whose credential plugin runs this JavaScript. */
const plugin = (script: string) => ({
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', script] },
});

describe('loadCluster', () => {
  it('returns server, namespace and TLS options of the current context', async () => {
    const cluster = loadCluster(await kubeconfig({ 'client-certificate-data': 'Y2VydA==', 'client-key-data': 'a2V5' }));
    expect(cluster).toMatchObject({ server: 'https://127.0.0.1:6443', namespace: 'home' });
    const { headers, tls } = await cluster.credentials();
    expect(headers).toEqual({});
    expect(Object.entries(tls).map(([name, value]) => [name, String(value)])).toEqual([
      ['ca', 'ca'],
      ['cert', 'cert'],
      ['key', 'key'],
    ]);
  });

  it('uses $KUBECONFIG if no path is given', async () => {
    vi.stubEnv('KUBECONFIG', await kubeconfig({ token: 't' }));
    expect(loadCluster().namespace).toBe('home');
  });

  it.each([
    ['no file', undefined, 'cannot be loaded: no such file or directory'],
    ['no current context', { 'current-context': '' }, 'no current-context'],
    ['an unknown context', { 'current-context': 'there' }, 'no context "there"'],
    ['an unknown cluster', { clusters: [] }, 'no cluster "c"'],
    ['an unknown user', { users: [] }, 'no user "u"'],
    ['no server', { clusters: [{ name: 'c', cluster: { server: 'nowhere' } }] }, 'no valid server: "nowhere"'],
  ])('says what is wrong with %s', async (_, changes, message) => {
    const path = changes === undefined ? join(folder, 'absent') : await kubeconfig({ token: 't' }, changes);
    expect(() => loadCluster(path)).toThrow(message);
    expect(() => loadCluster(path)).toThrow(`--kubeconfig ${path} `);
  });

  it.each(['http://127.0.0.1:8001', 'http://localhost:8001/', 'http://[::1]:8001'])(
    'takes %s, as kubectl does, for a proxy on this machine',
    async (server) => {
      const cluster = loadCluster(await kubeconfig({ token: 't' }, { clusters: [{ name: 'c', cluster: { server } }] }));
      expect(cluster.server).toBe(server.replace(/\/$/, ''));
      expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer t' });
    },
  );

  it('refuses to send a token unencrypted to another machine, and suggests an https address', async () => {
    const clusters = [{ name: 'c', cluster: { server: 'http://127.example.com:8080' } }];
    const path = await kubeconfig({ token: 't' }, { clusters });
    expect(() => loadCluster(path)).toThrow(`--kubeconfig ${path} names a server without TLS`);
    expect(() => loadCluster(path)).toThrow('give its https:// address');
  });

  it('reports where a file is not valid YAML, without quoting its contents', async () => {
    const path = join(folder, 'torn');
    await writeFile(path, 'users:\n  - user: {token: "s3cr3t\ncontexts: s3cr3t: x\n');
    const error: unknown = await Promise.resolve()
      .then(() => loadCluster(path))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: `--kubeconfig ${path} cannot be loaded: invalid YAML at line 4, column 1`,
    });
    expect(inspect(error, { depth: null })).not.toContain('s3cr3t');
  });
});

describe('several files', () => {
  const write = async (name: string, content: unknown): Promise<string> => {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === 'string' ? content : stringify(content));
    return path;
  };
  const cluster = (server: string) => [{ name: 'c', cluster: { server } }];
  const context = (name: string, namespace: string) => [
    { name, context: { cluster: 'c', user: 'u', namespace } },
    { name: `other-than-${namespace}`, context: { cluster: 'c', user: 'u', namespace: `of-${namespace}` } },
  ];
  const list = (...paths: string[]): void => void vi.stubEnv('KUBECONFIG', paths.join(delimiter));

  it('supply each entry and the current context from the first file that has it, like kubectl', async () => {
    const first = await write('first', { clusters: cluster('https://first'), contexts: context('x', 'one') });
    const second = await write('second', {
      'current-context': 'x',
      clusters: cluster('https://second'),
      contexts: context('x', 'two'),
      users: [{ name: 'u', user: { token: 'second' } }],
    });
    const third = await write('third', {
      'current-context': 'other-than-one',
      users: [{ name: 'u', user: { token: 'third', as: 'jane' } }],
    });
    list(first, second, third);
    expect(loadCluster()).toMatchObject({ server: 'https://first', namespace: 'one' });
    expect((await loadCluster().credentials()).headers).toEqual({ authorization: 'Bearer second' });
    expect(loadCluster(undefined, { context: 'other-than-two' })).toMatchObject({ namespace: 'of-two' });
  });

  it.each([
    ['a missing file', undefined],
    ['an empty file', ''],
    ['a file with only blanks and comments', '  \n# nothing\n'],
    ['null sections', 'clusters: null\ncontexts: ~\nusers:\ncurrent-context:\n'],
    ['null entries', 'clusters: [null]\n'],
    ['entries without a name', 'clusters: [{cluster: {server: "https://nameless"}}]\n'],
    ['a second document', 'preferences: {}\n---\ncurrent-context: unknown\n'],
  ])('may be preceded by %s', async (_, content) => {
    const before = content === undefined ? join(folder, 'absent') : await write('before', content);
    list('', before, before, await kubeconfig({ token: 't' }));
    expect(loadCluster()).toMatchObject({ server: 'https://127.0.0.1:6443', namespace: 'home' });
  });

  it.each([
    [
      'two clusters with the same name',
      { clusters: [...cluster('https://a'), ...cluster('https://b')] },
      'two entries are named "c"',
    ],
    ['a number as a token', { users: [{ name: 'u', user: { token: 5 } }] }, 'users.0.user.token: Invalid input'],
    ['another kind', { apiVersion: 'v1', kind: 'Pod' }, 'kind: Invalid option'],
    ['a list instead of a map', [], 'the file: Invalid input'],
  ])('are rejected, naming the file, if one has %s', async (_, content, message) => {
    const wrong = await write('wrong', content);
    list(await kubeconfig({ token: 't' }), wrong);
    expect(() => loadCluster()).toThrow(`the kubeconfig ${wrong} cannot be loaded: `);
    expect(() => loadCluster()).toThrow(message);
  });

  it('are named in the error if all are missing', () => {
    list('/nowhere/a', '/nowhere/b');
    expect(() => loadCluster(undefined, { context: 'x' })).toThrow('/nowhere/a, /nowhere/b');
  });

  // In a Pod, the operator uses its ServiceAccount instead.
  it.skipIf(existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token'))(
    'cause an error that says what to do if all are missing',
    () => {
      list('/nowhere/a', '/nowhere/b');
      expect(() => loadCluster()).toThrow('there is no kubeconfig (/nowhere/a, /nowhere/b): pass --kubeconfig FILE');
    },
  );

  it('contain paths and commands relative to their own folders', async () => {
    const script = '#!/bin/sh\necho \'{"status":{"token":"from-command"}}\'\n';
    await chmod(await write('b/bin/login', script), 0o700);
    await write('a/ca.pem', 'ca of a');
    await write('b/ca.pem', 'ca of b');
    await write('b/token', 'from-file');
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never', command: './bin/login' };
    list(
      await write('a/config', {
        'current-context': 'x',
        clusters: [{ name: 'c', cluster: { server: 'https://a', 'certificate-authority': 'ca.pem' } }],
      }),
      await write('b/config', {
        contexts: ['exec', 'file'].map((user) => ({ name: user, context: { cluster: 'c', user } })),
        users: [
          { name: 'exec', user: { exec } },
          { name: 'file', user: { tokenFile: 'token' } },
        ],
      }),
    );
    const withCommand = await loadCluster(undefined, { context: 'exec' }).credentials();
    expect([String(withCommand.tls.ca), withCommand.headers]).toEqual([
      'ca of a',
      { authorization: 'Bearer from-command' },
    ]);
    const withFile = await loadCluster(undefined, { context: 'file' }).credentials();
    expect(withFile.headers).toEqual({ authorization: 'Bearer from-file' });
  });
});

describe('impersonation', () => {
  const headersOf = async (user: object, overrides: Overrides = {}) =>
    (await loadCluster(await kubeconfig(user), overrides).credentials()).headers;

  it('sends the user, UID, groups and extra fields of the kubeconfig', async () => {
    const user = {
      as: 'Zo\u00eb',
      'as-uid': '7',
      'as-groups': ['a', 'b'],
      'as-user-extra': { 'example.com/x(1)': ['x', 'z'] },
    };
    expect(await headersOf(user)).toEqual({
      // One character per UTF-8 byte.
      'impersonate-user': 'Zo\u00c3\u00ab',
      'impersonate-uid': '7',
      'impersonate-group': ['a', 'b'],
      'impersonate-extra-example.com%2Fx%281%29': ['x', 'z'],
    });
  });

  it('works together with the token of a credential plugin', async () => {
    const answer = JSON.stringify({ kind: 'ExecCredential', status: { token: 'from-plugin' } });
    expect(await headersOf({ ...plugin(`console.log(${JSON.stringify(answer)})`), as: 'jane' })).toEqual({
      authorization: 'Bearer from-plugin',
      'impersonate-user': 'jane',
    });
  });

  it('takes each field from its flag, unless the flag is empty', async () => {
    const user = { as: 'jane', 'as-uid': '7', 'as-groups': ['a', 'b'] };
    expect(await headersOf(user, { as: 'joe', asGroup: ['c'] })).toEqual({
      'impersonate-user': 'joe',
      'impersonate-uid': '7',
      'impersonate-group': ['c'],
    });
    expect(await headersOf(user, { as: '', asUid: '8', asGroup: [] })).toEqual({
      'impersonate-user': 'jane',
      'impersonate-uid': '8',
      'impersonate-group': ['a', 'b'],
    });
  });

  it.each([[{ asUid: '7' }], [{ asGroup: ['a'] }]])('is rejected without a user: %j', async (overrides) => {
    await expect(headersOf({ token: 't' }, overrides)).rejects.toThrow('give --as USER');
  });
});

describe('credentials', () => {
  it('contain only the certificate authority if the context has no user', async () => {
    const path = await kubeconfig({}, { contexts: [{ name: 'here', context: { cluster: 'c' } }] });
    const { headers, tls } = await loadCluster(path).credentials();
    expect([headers, String(tls.ca)]).toEqual([{}, 'ca']);
  });

  it('come from a token, a name and password, or an impersonation', async () => {
    const headersOf = async (user: object) => (await loadCluster(await kubeconfig(user)).credentials()).headers;
    expect(await headersOf({ token: 'abc' })).toEqual({ authorization: 'Bearer abc' });
    expect(await headersOf({ username: 'u', password: 'p' })).toEqual({ authorization: 'Basic dTpw' });
    expect(await headersOf({ token: 'abc', as: 'jane' })).toEqual({
      authorization: 'Bearer abc',
      'impersonate-user': 'jane',
    });
  });

  it('come from a token file, without the trailing newline', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'abc\n');
    const path = await kubeconfig({ 'auth-provider': { name: 'tokenFile', config: { tokenFile } } });
    expect((await loadCluster(path).credentials()).headers).toEqual({ authorization: 'Bearer abc' });
  });

  it('come from the newest contents of the token file, and from the last ones while it has none', async () => {
    const tokenFile = join(folder, 'token');
    const cluster = loadCluster(await kubeconfig({ tokenFile, token: 'of the kubeconfig' }));
    await expect(cluster.credentials()).rejects.toMatchObject({ code: 'Unreachable' });
    await writeFile(tokenFile, 'one\n');
    expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer one' });
    await writeFile(tokenFile, 'two\n');
    expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer two' });
    await writeFile(tokenFile, '');
    expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer two' });
    await rm(tokenFile);
    expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer two' });
  });

  it('come from the newest certificate', async () => {
    const [cert, key] = [join(folder, 'cert'), join(folder, 'key')];
    const cluster = loadCluster(await kubeconfig({ 'client-certificate': cert, 'client-key': key }));
    for (const version of ['one', 'two']) {
      await writeFile(cert, `cert ${version}`);
      await writeFile(key, `key ${version}`);
      const { tls } = await cluster.credentials();
      expect([String(tls.cert), String(tls.key)]).toEqual([`cert ${version}`, `key ${version}`]);
    }
  });

  it('come from the kubeconfig before they come from a plugin', async () => {
    const answer = JSON.stringify({ status: { token: 'from-plugin', clientCertificateData: 'c', clientKeyData: 'k' } });
    const user = {
      ...plugin(`console.log(${JSON.stringify(answer)})`),
      token: 'own',
      'client-certificate-data': 'Y2VydA==',
    };
    const { headers, tls } = await loadCluster(await kubeconfig(user)).credentials();
    expect([headers, String(tls.cert)]).toEqual([{ authorization: 'Bearer own' }, 'cert']);
  });

  it('come from a plugin', async () => {
    const answer = JSON.stringify({ kind: 'ExecCredential', status: { token: 'from-plugin' } });
    const path = await kubeconfig(plugin(`console.log(${JSON.stringify(answer)})`));
    expect((await loadCluster(path).credentials()).headers).toEqual({ authorization: 'Bearer from-plugin' });
  });

  it('fail with the error text of the plugin', async () => {
    const path = await kubeconfig(plugin('console.error("log in first"); process.exit(1)'));
    await expect(loadCluster(path).credentials()).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('log in first') as string,
    });
  });

  it('never appear in the error if the plugin prints them in an invalid form', async () => {
    const path = await kubeconfig(plugin('console.log("s3cr3t-token")'));
    const error: unknown = await loadCluster(path)
      .credentials()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'Unreachable' });
    expect(inspect(error, { depth: null })).not.toContain('s3cr3t');
  });
});
