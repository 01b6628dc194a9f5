/** A cluster that a tool runs against: the API server that all test files share, or one that belongs to a file. */
import { inject } from 'vitest';
import type { Cluster } from '../integration/deploy/cluster.ts';
import { kubectl } from '../integration/kube/support.ts';

export interface ToolCluster {
  /** Of an administrator. */
  kubeconfigPath: string;
  kubectl: (...args: string[]) => Promise<string>;
}

export const sharedCluster = (): ToolCluster => ({ kubeconfigPath: inject('kubeconfigPath'), kubectl });

export const ownCluster = (cluster: Cluster): ToolCluster => ({
  kubeconfigPath: cluster.controlPlane.kubeconfigPath,
  kubectl: (...args) => cluster.kubectl(...args),
});
