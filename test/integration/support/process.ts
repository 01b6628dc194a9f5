/** An operator in a separate process that a test can kill, and a connection to the API server that a test can cut. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inject, onTestFinished } from 'vitest';
import { loadCluster } from '../../../src/kube/config.ts';
import { startProxy, type FaultProxy } from '../kube/proxy.ts';
import { ask } from './broker.ts';
import type { Programs } from './programs.ts';
import type { World } from './world.ts';

export interface OperatorProcess {
  /** Resolves with the exit code; null if a signal ended the process. */
  readonly exited: Promise<number | null>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
  /** Sends SIGTERM and does not wait for the exit. */
  terminate(): boolean;
  /** Its log so far. */
  readonly lines: readonly string[];
}

/**
 * Starts the bundled operator of the world, in a fifth of the time that its sources take. It logs to the world's log. Killed, if necessary, when the test ends. `env` is added to
 * the environment of this process.
 */
export async function spawnOperator(
  world: World,
  flags: string[] = [],
  env: Record<string, string> = {},
): Promise<OperatorProcess> {
  const { operator, compiled } = await ask<Programs>(inject('broker'), 'programs');
  const child = spawn(process.execPath, [operator, ...world.operatorFlags(['--log-level=debug', ...flags])], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled, ...env },
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    world.logged(line);
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const kill = (signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> => {
    child.kill(signal);
    return exited;
  };
  onTestFinished(async () => {
    await kill('SIGKILL');
  });
  return { exited, kill, terminate: () => child.kill('SIGTERM'), lines };
}

/** A connection to the API server that can be cut; `flag` makes an operator use it. */
interface Detour {
  proxy: FaultProxy;
  flag: string;
  /** Breaks every connection, and new ones, until `restore`. */
  cut(): void;
  restore(): void;
}

/** Stops an operator of the world in this process before the detour is closed. */
export async function startDetour(world: World): Promise<Detour> {
  const proxy = await startProxy(loadCluster(world.operatorKubeconfigPath));
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-detour-'));
  const restore = (): void => {
    proxy.refusing = false;
  };
  onTestFinished(async () => {
    restore();
    await world.stopOperator();
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    proxy,
    flag: `--kubeconfig=${await writeKubeconfig(folder, proxy.cluster.server)}`,
    cut() {
      proxy.refusing = true;
      proxy.cut();
    },
    restore,
  };
}

/** Writes a kubeconfig without credentials; returns its path. Plain HTTP is accepted only without TLS verification. */
async function writeKubeconfig(folder: string, server: string): Promise<string> {
  const path = join(folder, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

/** The names of the journal's notes in a folder, which tell the state of each attempt; none without a journal. */
export async function noteNames(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
