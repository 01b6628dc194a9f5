/** The control plane's audit policy: what tests can query about requests. */
import { GROUP } from '../../src/api/names.ts';

/**
 * One line per request: who did what to which object, without the bodies. Every client's requests for our objects, Events,
 * Secrets and Leases are included, and all requests of ServiceAccounts, and so the operator's. The line of a short answer is
 * written before the answer is sent, so a test that has the answer finds the line; that of a long one may follow.
 */
export const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    {
      level: 'Metadata',
      resources: [
        { group: GROUP },
        { group: 'events.k8s.io' },
        { group: '', resources: ['events', 'secrets'] },
        { group: 'coordination.k8s.io' },
      ],
    },
    { level: 'Metadata', userGroups: ['system:serviceaccounts'] },
    { level: 'None' },
  ],
};
