/** The kubectl plugin behind a proxy of the API server, which a test lets fail. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { loadCluster } from '../../../src/kube/config.ts';
import { startProxy, type FaultProxy } from '../kube/proxy.ts';
import { createPlugin, type Plugin, type Result } from './plugin.ts';
import type { World } from './world.ts';

export async function pluginBehindProxy(folder: string, world: World): Promise<{ plugin: Plugin; proxy: FaultProxy }> {
  const proxy = await startProxy(loadCluster(inject('kubeconfigPath')));
  onTestFinished(() => proxy.close());
  const file = join(world.journalDir, 'proxied');
  const config = {
    clusters: [{ name: 'front', cluster: { server: proxy.cluster.server } }],
    users: [{ name: 'anonymous', user: {} }],
    contexts: [{ name: 'front', context: { cluster: 'front', user: 'anonymous' } }],
    'current-context': 'front',
  };
  await writeFile(file, stringify(config));
  return { plugin: await createPlugin(folder, world.namespace, file), proxy };
}

/** Runs `kubectl-vps COMMAND`; a signal ends it at its request with this number, counted from 1. */
export async function interruptedAt(
  last: number,
  { plugin, proxy }: { plugin: Plugin; proxy: FaultProxy },
  command: string,
): Promise<{ first: Result; signal: 'INT' | 'KILL' }> {
  const signal = last % 2 === 0 ? 'INT' : 'KILL';
  let requests = 0;
  proxy.intercept = () => {
    requests += 1;
    if (requests === last) void plugin.shell(`kill -${signal} $(cat pid)`);
    return requests >= last;
  };
  const first = await plugin.shell(`echo $$ > pid; exec kubectl-vps ${command}`);
  proxy.intercept = undefined;
  return { first, signal };
}
