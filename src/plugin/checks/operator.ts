/** Check of the operator: whether it renews its Lease, and its version. */
import { setTimeout as sleep } from 'node:timers/promises';
import { OPERATOR_LABELS, OPERATOR_LEASE } from '../../api/names.ts';
import { quoted } from '../../base/text.ts';
import type { Lease } from '../../kube/kinds.ts';
import { fine, wrong, type CheckFinding } from './checkup.ts';
import type { ClusterView } from '../cluster/cluster.ts';
import { findOperator } from '../cluster/operator-pods.ts';
import { duration } from '../screens/progress.ts';
import { operatorLease, skew, versionOn } from '../cluster/skew.ts';

/** The operator renews its Lease about every seventh part of its duration. */
const RENEWALS = 5;
const LOOK_MS = 500;

interface OperatorCheck {
  findings: CheckFinding[];
  /** Undefined if it is unknown. */
  version: string | undefined;
}

/** `plugin`: its version. Rejects with CommandError. */
export async function checkOperator(
  cluster: ClusterView,
  { namespace, plugin }: { namespace: string; plugin: string },
): Promise<OperatorCheck> {
  const lease = await operatorLease(cluster, namespace);
  if (lease?.spec?.renewTime === undefined) {
    const what = `there is no Lease ${OPERATOR_LEASE} in namespace ${namespace}`;
    const steps = [
      findOperator(cluster.where),
      '# an operator without --leader-elect, or with --observe-only, has no Lease',
    ];
    return { findings: [wrong('operator', what, ...steps)], version: undefined };
  }
  const version = versionOn(lease);
  const { holderIdentity = '' } = lease.spec;
  const pod = holderIdentity.split('_')[0] ?? '';
  const look = `kubectl get pods${cluster.where} -n ${quoted(namespace)} -l ${OPERATOR_LABELS}`;
  const ago = duration((cluster.serverTime() ?? Number.NaN) - Date.parse(lease.spec.renewTime));
  if (holderIdentity === '') {
    return { findings: [wrong('operator', `no operator runs: the last one stopped ${ago} ago`, look)], version };
  }
  if (!(await isAlive(cluster, namespace, lease))) {
    return { findings: [wrong('operator', `${pod} last renewed its Lease ${ago} ago`, look)], version };
  }
  const alive = fine('operator', `${pod} is alive, version ${version ?? 'unknown'}`);
  const difference = version === undefined ? undefined : skew(version, plugin);
  const versions = difference === undefined ? [] : [wrong('versions', difference, 'use one release of both')];
  return { findings: [alive, ...versions], version };
}

/** Its clock may differ, so a Lease that looks old is read again: a live operator renews it soon. */
async function isAlive(cluster: ClusterView, namespace: string, first: Lease): Promise<boolean> {
  const { renewTime = '', leaseDurationSeconds = 0 } = first.spec ?? {};
  const durationMs = leaseDurationSeconds * 1000;
  const age = (cluster.serverTime() ?? Number.NaN) - Date.parse(renewTime);
  if (Math.abs(age) <= durationMs) return true;
  for (let waited = 0; waited < durationMs / RENEWALS; waited += LOOK_MS) {
    await sleep(LOOK_MS);
    const lease = await operatorLease(cluster, namespace);
    if (lease?.metadata.resourceVersion !== first.metadata.resourceVersion) return true;
  }
  return false;
}
