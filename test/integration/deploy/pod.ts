/**
 * Replaces the kubelet: runs the operator as a process with the arguments, environment and identity that the installed
 * Deployment gives its pods. Volumes and ports become temporary folders and free ports; a mounted ConfigMap or Secret becomes
 * files.
 */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { ask } from '../support/broker.ts';
import { startNode, type Program } from '../support/program.ts';
import type { Programs } from '../support/programs.ts';
import type { Cluster } from './cluster.ts';

export const SYSTEM = 'vps-operator-system';

interface PodSpec {
  serviceAccountName: string;
  containers: {
    args: string[];
    env?: { name: string; value?: string; valueFrom?: { configMapKeyRef: { name: string; key: string } } }[];
    envFrom?: { configMapRef: { name: string } }[];
    volumeMounts: Mount[];
  }[];
  volumes: Volume[];
}

interface Mount {
  name: string;
  mountPath: string;
}

interface Volume {
  name: string;
  configMap?: { name: string };
  secret?: { secretName: string };
}

export interface Pod extends Program {
  /** Resolves when its log contains this message. */
  saying(message: string): Promise<void>;
  /** Stops it as the kubelet does. Resolves with the exit code. */
  stop(): Promise<number | null>;
  /** The same. Rejects with the end of its log if it does not exit with 0. */
  stopWell(): Promise<void>;
}

/** `flags` are added to shorten waits. The process ends with the test. */
export async function startPod(cluster: Cluster, flags: string[] = []): Promise<Pod> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-pod-'));
  const deployment = await getJson<{ spec: { template: { spec: PodSpec } } }>(cluster, 'deployment', 'vps-operator');
  const { serviceAccountName, containers, volumes } = deployment.spec.template.spec;
  const [container] = containers;
  if (container === undefined) throw new Error('the pod has no container');
  for (const volume of volumes) await makeVolume(cluster, join(folder, volume.name), volume);
  const args = container.args.map((arg) => inProcess(arg, container.volumeMounts, folder));
  const kubeconfig = await kubeconfigOf(cluster, serviceAccountName, folder);
  const { operator, compiled } = await ask<Programs>(inject('broker'), 'programs');
  const program = startNode(
    [operator, ...args, `--kubeconfig=${kubeconfig}`, `--operator-namespace=${SYSTEM}`, ...flags],
    { env: { NODE_COMPILE_CACHE: compiled, ...(await environment(cluster, container, folder)) } },
  );
  // Registered first, so it runs after the process is killed: hooks run in reverse order.
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const lastWords = (): string => [...program.stderr, ...program.stdout.slice(-5)].join('\n');
  const stop = (): Promise<number | null> => {
    program.kill('SIGTERM');
    return program.ended;
  };
  return {
    ...program,
    stop,
    async saying(message) {
      const said = (): boolean => program.stdout.some((line) => line.includes(`"msg":"${message}"`));
      while (!said()) {
        const ended = await Promise.race([program.ended.then(() => true), tick()]);
        if (ended) throw new Error(`the operator exited: ${lastWords()}`);
      }
    },
    async stopWell() {
      const code = await stop();
      if (code !== 0) throw new Error(`the operator was to stop, and exited with ${String(code)}: ${lastWords()}`);
    },
  };
}

function tick(): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), 25));
}

/** Like the kubelet: the files of a ConfigMap or Secret are links into the folder of its current version. */
async function makeVolume(cluster: Cluster, folder: string, { configMap, secret }: Volume): Promise<void> {
  await mkdir(folder);
  if (configMap === undefined && secret === undefined) return;
  const current = join(folder, '..data');
  await mkdir(current);
  const files: [name: string, content: string | Buffer][] = [];
  if (configMap !== undefined) files.push(...Object.entries(await dataOf(cluster, configMap.name)));
  if (secret !== undefined) files.push(...Object.entries(await secretOf(cluster, secret.secretName)));
  for (const [name, content] of files) {
    await writeFile(join(current, name), content);
    await symlink(join('..data', name), join(folder, name));
  }
}

async function secretOf(cluster: Cluster, name: string): Promise<Record<string, Buffer>> {
  const { data = {} } = await getJson<{ data?: Record<string, string> }>(cluster, 'secret', name);
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}

async function dataOf(cluster: Cluster, configMap: string): Promise<Record<string, string>> {
  return (await getJson<{ data?: Record<string, string> }>(cluster, 'cm', configMap)).data ?? {};
}

/** Replaces mounted folders by temporary ones, and addresses by free ports of this machine. */
function inProcess(arg: string, mounts: Mount[], folder: string): string {
  return arg
    .replace(/-bind-address=:\d+$/, '-bind-address=127.0.0.1:0')
    .replace(/(?<==).*/s, (value) => mounted(value, mounts, folder));
}

/** A path below a mounted folder as a path of this machine; any other text unchanged. */
function mounted(text: string, mounts: Mount[], folder: string): string {
  const mount = mounts.find(({ mountPath }) => text === mountPath || text.startsWith(`${mountPath}/`));
  return mount === undefined ? text : text.replace(mount.mountPath, join(folder, mount.name));
}

async function environment(
  cluster: Cluster,
  container: PodSpec['containers'][number],
  folder: string,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const { configMapRef } of container.envFrom ?? []) Object.assign(env, await dataOf(cluster, configMapRef.name));
  for (const { name, value: text = '', valueFrom } of container.env ?? []) {
    if (valueFrom === undefined) {
      env[name] = mounted(text, container.volumeMounts, folder);
      continue;
    }
    const { name: map, key } = valueFrom.configMapKeyRef;
    const value = (await dataOf(cluster, map))[key];
    if (value === undefined) throw new Error(`the kubelet would wait for the key ${key} of the ConfigMap ${map}`);
    env[name] = value;
  }
  return env;
}

async function kubeconfigOf(cluster: Cluster, account: string, folder: string): Promise<string> {
  const token = await cluster.kubectl('create', 'token', account, '-n', SYSTEM);
  const config = parse(await readFile(cluster.controlPlane.kubeconfigPath, 'utf8')) as { users: { user: object }[] };
  for (const user of config.users) user.user = { token: token.trim() };
  const path = join(folder, 'kubeconfig');
  await writeFile(path, stringify(config), { mode: 0o600 });
  return path;
}

async function getJson<T>(cluster: Cluster, kind: string, name: string): Promise<T> {
  return JSON.parse(await cluster.kubectl('get', kind, name, '-n', SYSTEM, '-o', 'json')) as T;
}
