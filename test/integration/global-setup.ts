/**
 * Starts the control plane that all test files share; each test uses a separate namespace. What only some files share
 * is started when a file asks the broker for it. The run fails at its end if the API server has refused the operator
 * anything because of missing RBAC.
 */
import type { TestProject } from 'vitest/node';
import { startControlPlane } from '../../tools/control-plane/control-plane.ts';
import { installOperatorIdentity } from '../../tools/control-plane/operator-identity.ts';
import { openBroker } from './support/broker.ts';
import { startGuarded } from './support/guards.ts';
import { makePrograms } from './support/programs.ts';
import { readUses } from './support/rights.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Kubeconfig of a member of system:masters. */
    kubeconfigPath: string;
    /** Kubeconfig of the operator's ServiceAccount, with exactly the rights of deploy/manifests. */
    operatorKubeconfigPath: string;
    kubectl: string;
    /** Path of the audit log: one JSON object per line. */
    auditLog: string;
    /** Address of the broker; used by support/broker.ts. */
    broker: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const controlPlane = await startControlPlane({
    audit: true,
    progress: (line) => process.stderr.write(`${line}\n`),
  });
  if (controlPlane.auditLog === undefined) throw new Error('the control plane has no audit log');
  project.provide('kubeconfigPath', controlPlane.kubeconfigPath);
  project.provide('operatorKubeconfigPath', await installOperatorIdentity(controlPlane.kubeconfigPath));
  project.provide('kubectl', controlPlane.kubectl);
  project.provide('auditLog', controlPlane.auditLog);
  const { auditLog, kubectl } = controlPlane;
  const broker = await openBroker({ guarded: startGuarded, programs: () => makePrograms(kubectl) });
  project.provide('broker', broker.url);
  return async () => {
    const { refused } = await readUses(auditLog);
    await broker.stop();
    await controlPlane.stop();
    if (refused.length > 0) throw new Error(`the API server refused the operator:\n${refused.join('\n')}`);
  };
}
