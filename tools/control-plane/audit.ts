/** The control plane's audit policy: what tests can query about requests. */
import { GROUP } from '../../src/api/names.ts';

/** Metadata: who did what to which object; RequestResponse: also the bodies. */
export type AuditLevel = 'Metadata' | 'RequestResponse';

/**
 * One line per request. That of a short answer is written before the answer is sent, so a test that has the answer finds the line; that of
 * a long one may follow. All requests of ServiceAccounts are included, and so the operator's.
 */
export function auditPolicy(level: AuditLevel): object {
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      { level, resources: [{ group: GROUP }, { group: 'events.k8s.io' }, { group: '', resources: ['events'] }] },
      // Never log these with bodies: Secrets contain keys.
      { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }, { group: 'coordination.k8s.io' }] },
      { level: 'Metadata', userGroups: ['system:serviceaccounts'] },
      { level: 'None' },
    ],
  };
}
