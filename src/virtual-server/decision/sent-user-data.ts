/**
 * Whether the Secret or ConfigMap of `spec.userDataFrom` still has the user data that the order sent. The object shows it, and nothing is
 * decided by it. Pure.
 */
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../../api/virtual-server.ts';

/** The digest of what the order of the present server has sent; undefined: nothing from a Secret or ConfigMap, or that is unknown. */
export function sentDigest({ attempt, ordered }: ServerRecord): string | undefined {
  return ordered !== undefined && ordered.attempt === attempt ? ordered.userDataDigest : undefined;
}

/** `present`: the digest of what is there now. What cannot be read tells nothing, so what the status says of this server stays. */
export function changedUserData(
  { status = {} }: Pick<VirtualServer, 'status'>,
  record: ServerRecord,
  present: string | undefined,
): Pick<VirtualServerStatus, 'userDataChanged'> {
  const sent = sentDigest(record);
  if (sent === undefined) return {};
  const wasChanged = status.userDataChanged === true && status.identifier === record.identifier;
  const isChanged = present === undefined ? wasChanged : present !== sent;
  return isChanged ? { userDataChanged: true } : {};
}
