/** Argo CD's application-controller, repo-server and API server with a Redis. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { freePort } from '../../tools/control-plane/control-plane.ts';
import { goProgram } from '../../tools/go-program.ts';
import { reportSkipped } from '../../tools/skipped.ts';
import { GITOPS_PROGRAMS } from '../../tools/go-programs.ts';
import { established, ROOT } from '../integration/deploy/cluster.ts';
import { startInBackground, type Background } from './background.ts';
import { moduleFolder } from './module-folder.ts';
import { sharedCluster } from './tool-cluster.ts';

const REDIS = '/usr/bin/redis-server';

export const hasRedis = existsSync(REDIS);
if (!hasRedis) reportSkipped('the tests with the real Argo CD', `there is no ${REDIS} (package redis-server)`);

const NAMESPACE = 'argocd';
const part = (kind: string, name: string, data: string): string =>
  `{"apiVersion":"v1","kind":"${kind}","metadata":{"name":"${name}","labels":{"app.kubernetes.io/part-of":"argocd"}},${data}}`;
/** What Argo CD's own installation creates besides the programs. */
const OBJECTS = [
  part('ConfigMap', 'argocd-cm', '"data":{}'),
  part('ConfigMap', 'argocd-rbac-cm', '"data":{}'),
  part('Secret', 'argocd-secret', '"stringData":{"server.secretkey":"only-for-tests"}'),
];

export interface ArgoCd {
  /** The last lines of all programs. */
  tail(): string;
  /** Runs the command line `argocd`; resolves with its output. */
  cli(...args: string[]): Promise<string>;
  /** Sends a request of the user interface. Rejects with the error that the user would see. */
  post(path: string, body: object): Promise<void>;
  stop(): Promise<void>;
}

export async function startArgoCd({ kubeconfigPath, kubectl } = sharedCluster()): Promise<ArgoCd> {
  const source = await moduleFolder(GITOPS_PROGRAMS.argoCd, 'github.com/argoproj/argo-cd/v3');
  const crds = join(source, 'manifests/crds');
  await kubectl('apply', '--server-side', '-k', crds);
  await established(kubectl, '-f', join(crds, 'application-crd.yaml'), '-f', join(crds, 'appproject-crd.yaml'));
  const folder = await mkdtemp(join(tmpdir(), 'vps-argo-'));
  await kubectl('create', 'namespace', NAMESPACE);
  for (const object of OBJECTS) {
    await writeFile(join(folder, 'object.json'), object);
    await kubectl('apply', `--namespace=${NAMESPACE}`, '-f', join(folder, 'object.json'));
  }
  // The command of docs/how-to/gitops.md.
  const patch = ['--type=merge', '--patch-file', join(ROOT, 'examples/argocd/argocd-cm.yaml')];
  await kubectl('patch', 'configmap', 'argocd-cm', '--namespace', NAMESPACE, ...patch);

  const program = await goProgram(GITOPS_PROGRAMS.argoCd);
  for (const name of ['tls', 'ssh', 'gpg', 'bin']) await mkdir(join(folder, name));
  // Argo CD's image has this script in its PATH.
  const script = await readFile(join(source, 'hack/git-verify-wrapper.sh'));
  await writeFile(join(folder, 'bin/git-verify-wrapper.sh'), script, { mode: 0o755 });
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    KUBECONFIG: kubeconfigPath,
    // For https://kubernetes.default.svc, the destination in the examples.
    ARGOCD_FAKE_IN_CLUSTER: 'true',
    ARGOCD_GPG_ENABLED: 'false',
    ARGOCD_TLS_DATA_PATH: join(folder, 'tls'),
    ARGOCD_SSH_DATA_PATH: join(folder, 'ssh'),
    ARGOCD_GNUPGHOME: join(folder, 'gpg'),
    HOME: folder,
    TMPDIR: folder,
  };
  const [redisPort, repoPort, serverPort] = [await freePort(), await freePort(), await freePort()];
  const redis = `--redis=127.0.0.1:${redisPort}`;
  const toRepo = [`--repo-server=127.0.0.1:${repoPort}`, '--repo-server-plaintext'];
  const cluster = [`--namespace=${NAMESPACE}`, `--kubeconfig=${kubeconfigPath}`];
  const start = async (name: string, args: string[]): Promise<Background> => {
    const common = ['--loglevel=warn', redis, `--metrics-port=${await freePort()}`];
    return startInBackground(program, [...common, ...args], { ...env, ARGOCD_BINARY_NAME: `argocd-${name}` });
  };
  const programs = [
    startInBackground(REDIS, ['--port', `${redisPort}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder], {}),
    await start('repo-server', ['--address=127.0.0.1', `--port=${repoPort}`, '--disable-tls', '--client-ca-path=']),
    // With the health and the message of each object in the status of the Application.
    // It says only here that it waits for a confirmation before it deletes the objects of an Application.
    await start('application-controller', [...cluster, ...toRepo, '--persist-resource-health', '--loglevel=info']),
    await start('server', [
      ...cluster,
      ...toRepo,
      ...['--address=127.0.0.1', `--port=${serverPort}`, '--insecure', '--disable-auth', `--staticassets=${folder}`],
    ]),
  ];
  const tail = (): string => programs.map((each) => each.tail()).join('\n');
  const cli = async (...args: string[]): Promise<string> => {
    const flags = [`--server=127.0.0.1:${serverPort}`, '--plaintext', '--auth-token=unused'];
    const options = { env: { ...env, ARGOCD_BINARY_NAME: 'argocd' }, timeout: 30_000 };
    return (await promisify(execFile)(program, [...args, ...flags], options)).stdout;
  };
  const post = async (path: string, body: object): Promise<void> => {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${serverPort}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
  };
  const ready = async (): Promise<void> => {
    await cli('version').catch((error: unknown) => {
      throw new Error(tail(), { cause: error });
    });
    const ended = programs.find((each) => each.hasEnded());
    if (ended !== undefined) throw new Error(ended.tail());
  };
  const stopPrograms = async (): Promise<void> => {
    for (const each of programs) await each.stop();
  };
  await vi.waitFor(ready, { timeout: 60_000, interval: 500 }).catch(async (error: unknown) => {
    await stopPrograms();
    throw error;
  });
  return {
    tail,
    cli,
    post,
    async stop() {
      await stopPrograms();
      await kubectl('delete', '--wait=false', '-k', crds);
      await kubectl('delete', '--wait=false', 'namespace', NAMESPACE);
      await rm(folder, { recursive: true });
    },
  };
}
