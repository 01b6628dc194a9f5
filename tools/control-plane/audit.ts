/** The audit policy of the control plane: what tests may ask of the record of all requests. */
import { GROUP } from '../../src/api/names.ts';
import { OPERATOR_USER } from './operator-identity.ts';

/** Metadata: who did what to which object; RequestResponse: with the bodies. */
export type AuditLevel = 'Metadata' | 'RequestResponse';

/**
 * One line per request, written before its answer is sent, so a test that has the answer finds the line. What the
 * operator does is there whatever it is.
 */
export function auditPolicy(level: AuditLevel): object {
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      { level, resources: [{ group: GROUP }, { group: 'events.k8s.io' }, { group: '', resources: ['events'] }] },
      // Never with bodies: they hold keys.
      { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }, { group: 'coordination.k8s.io' }] },
      { level: 'Metadata', users: [OPERATOR_USER] },
      { level: 'None' },
    ],
  };
}
