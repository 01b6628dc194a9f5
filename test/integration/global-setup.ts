/**
 * Starts the one control plane that all files share; each test works in a namespace of its own. What only some files
 * share is started when one of them asks the broker. A run in which the API server refused the operator anything, for
 * want of a right, fails at its end.
 */
import type { TestProject } from 'vitest/node';
import { startControlPlane } from '../../tools/control-plane/control-plane.ts';
import { installOperatorIdentity } from '../../tools/control-plane/operator-identity.ts';
import { openBroker } from './support/broker.ts';
import { startGuarded } from './support/guards.ts';
import { makePluginFolder } from './support/plugin-folder.ts';
import { readUses } from './support/rights.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a member of system:masters. */
    kubeconfigPath: string;
    /** Of the operator's ServiceAccount, with the rights that deploy/manifests give it and no others. */
    operatorKubeconfigPath: string;
    kubectl: string;
    /** Path; one JSON object a line, with bodies for our objects and for events. */
    auditLog: string;
    /** Address; support/broker.ts asks there. */
    broker: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const controlPlane = await startControlPlane({
    audit: 'RequestResponse',
    progress: (line) => process.stderr.write(`${line}\n`),
  });
  if (controlPlane.auditLog === undefined) throw new Error('the control plane writes no audit log');
  project.provide('kubeconfigPath', controlPlane.kubeconfigPath);
  project.provide('operatorKubeconfigPath', await installOperatorIdentity(controlPlane.kubeconfigPath));
  project.provide('kubectl', controlPlane.kubectl);
  project.provide('auditLog', controlPlane.auditLog);
  const { auditLog, kubectl } = controlPlane;
  const broker = await openBroker({ guarded: startGuarded, plugin: () => makePluginFolder(kubectl) });
  project.provide('broker', broker.url);
  return async () => {
    const { refused } = await readUses(auditLog);
    await broker.stop();
    await controlPlane.stop();
    if (refused.length > 0) throw new Error(`the API server refused the operator:\n${refused.join('\n')}`);
  };
}
