/** Compares the version of the operator with the version of the plugin. */
import { OPERATOR_LEASE, OPERATOR_NAMESPACE, VERSION_ANNOTATION } from '../../api/names.ts';
import { LEASES, type Lease } from '../../kube/kinds.ts';
import { pathOf } from '../../kube/resource.ts';
import type { ClusterView } from './cluster.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';

/** A command whose time is up does not wait much longer for an API server that hangs. */
const LEASE_MS = 1000;

/** Undefined if there is none. Rejects with CommandError. */
export async function operatorLease(
  cluster: ClusterView,
  namespace: string,
  signal?: AbortSignal,
): Promise<Lease | undefined> {
  const path = pathOf(LEASES, namespace, OPERATOR_LEASE);
  return (await cluster.ask({ path, absent: OPERATOR_LEASE, ...(signal && { signal }) })) as Lease | undefined;
}

export function versionOn(lease: Lease | undefined): string | undefined {
  return lease?.metadata.annotations?.[VERSION_ANNOTATION];
}

/** One sentence if the versions differ; undefined if they agree, or if one runs from source. Pure. */
export function skew(operator: string, plugin: string): string | undefined {
  const order = compareVersions(operator, plugin);
  if (order === undefined || order === 0) return undefined;
  return order < 0
    ? `the operator is version ${operator}, older than this plugin (${plugin}): it may not know what the plugin asks for`
    : `the operator is version ${operator}, newer than this plugin (${plugin}): the plugin may not show all that it does`;
}

/** The error of a command that timed out, with one more line if different versions may be the cause. */
export async function withSkew(error: unknown, cluster: ClusterView, plugin: string): Promise<unknown> {
  if (!(error instanceof CommandError) || error.exitCode !== EXIT.timeout) return error;
  // Most users may not read the Lease, and the operator may run in another namespace.
  const lease = operatorLease(cluster, OPERATOR_NAMESPACE, AbortSignal.timeout(LEASE_MS));
  const operator = versionOn(await lease.catch(() => undefined));
  const difference = operator === undefined ? undefined : skew(operator, plugin);
  return difference === undefined
    ? error
    : new CommandError(error.exitCode, error.message, [...error.hints, difference]);
}

/** Undefined for anything but released versions. */
export function compareVersions(a: string, b: string): number | undefined {
  const [first, second] = [numbers(a), numbers(b)];
  if (first === undefined || second === undefined) return undefined;
  for (const [index, part] of first.entries()) {
    const difference = part - (second[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function numbers(version: string): number[] | undefined {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(version)?.slice(1);
  return parts?.map(Number);
}
