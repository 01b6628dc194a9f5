/** A control plane with an audit log, on which the operator is installed with kubectl, as users install it. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import {
  applyRbac,
  installOperatorIdentity,
  keyOf,
  placed,
  rbacObjects,
  type RbacObject,
} from '../../../tools/control-plane/operator-identity.ts';
import { API_VERSION, FINALIZER, SERVER_PLURAL } from '../../../src/api/names.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { kustomize } from '../../../tools/manifests.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { refusalOfPatch } from './dry-run.ts';
import { readUses, type Uses } from './rights.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MANIFESTS = 'deploy/manifests';

export interface GuardedCluster {
  controlPlane: ControlPlane;
  /** Uses administrator rights. */
  http: KubeHttp;
  /**
   * Runs kubectl as an administrator in the project root; resolves with its output, rejects with an Error that contains
   * it.
   */
  kubectl(...args: string[]): Promise<string>;
  /** The operator's kubeconfig. */
  operatorKubeconfigPath: string;
  /** A world without an operator at first; its operator gets the installed RBAC. */
  createWorld(options: WorldOptions): Promise<World>;
  /** The installed RBAC objects. */
  rights: RbacObject[];
  /** Applies the RBAC of a folder of deploy/manifests in a namespace. */
  addRights(folder: string, namespace: string): Promise<RbacObject[]>;
  /** Adds a component of deploy/manifests to the installation; resolves with its RBAC objects once they take effect. */
  addComponent(component: string): Promise<RbacObject[]>;
  uses(): Promise<Uses>;
  stop(): Promise<void>;
}

/** `folder`: a folder of deploy/manifests. `apiServerFlags`: as for `startControlPlane`. */
export async function startGuardedCluster(
  folder: string,
  apiServerFlags: Record<string, string> = {},
): Promise<GuardedCluster> {
  const controlPlane = await startControlPlane({ audit: true, controllerManager: true, apiServerFlags });
  const { kubeconfigPath, auditLog = '' } = controlPlane;
  const http = createKubeHttp({ cluster: loadCluster(kubeconfigPath) });
  const kubectl = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(controlPlane.kubectl, ['--kubeconfig', kubeconfigPath, ...args], { cwd: ROOT })).stdout;
  await kubectl('apply', '--server-side', '--force-conflicts', '-k', `${MANIFESTS}/${folder}`);
  const rights = rbacObjects(await kustomize(controlPlane.kubectl, `${MANIFESTS}/${folder}`));
  const operatorKubeconfigPath = await installOperatorIdentity(kubeconfigPath, rights);
  await untilGuarded(http);
  return {
    controlPlane,
    http,
    kubectl,
    operatorKubeconfigPath,
    createWorld: (options) => createWorld({ ...options, operator: false, kubeconfigPath, operatorKubeconfigPath }),
    rights,
    async addRights(added, namespace) {
      const objects = placed(rbacObjects(await kustomize(controlPlane.kubectl, `${MANIFESTS}/${added}`)), namespace);
      await applyRbac(http, objects);
      return objects;
    },
    async addComponent(component) {
      const yaml = await kustomize(controlPlane.kubectl, `${MANIFESTS}/${folder}`, `${MANIFESTS}/${component}`);
      const file = join(dirname(kubeconfigPath), 'with-component.yaml');
      await writeFile(file, yaml);
      await kubectl('apply', '--server-side', '--force-conflicts', '-f', file);
      const known = new Set(rights.map(({ kind, metadata }) => keyOf(kind, metadata)));
      const added = rbacObjects(yaml).filter(({ kind, metadata }) => !known.has(keyOf(kind, metadata)));
      await applyRbac(http, added);
      return added;
    },
    uses: () => readUses(auditLog),
    async stop() {
      await http.close();
      await controlPlane.stop();
    },
  };
}

/** The API server learns of policies through a watch, and compiles each of them before it takes effect. */
async function untilGuarded(http: KubeHttp): Promise<void> {
  const servers = `/apis/${API_VERSION}/namespaces/default/${SERVER_PLURAL}`;
  const probe = `${servers}/probe`;
  await http.call({ method: 'POST', path: servers, body: virtualServer('probe') });
  const isRefused = async (path: string, body: object): Promise<boolean> => {
    const refusal = await refusalOfPatch(http, path, body);
    if (refusal !== undefined && refusal.code !== 'Forbidden') throw refusal;
    return refusal !== undefined;
  };
  const deadline = Date.now() + WAIT_MS;
  const writes: [path: string, body: object][] = [
    [probe, { metadata: { finalizers: [FINALIZER] } }],
    [`${probe}/status`, { status: { identifier: 'v1' } }],
  ];
  for (const [path, body] of writes)
    while (!(await isRefused(path, body))) {
      if (Date.now() > deadline) throw new Error(`timed out waiting for the guards to refuse a write of ${path}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  await http.call({ method: 'DELETE', path: probe });
}

const WAIT_MS = 60_000;
const POLL_MS = 50;
