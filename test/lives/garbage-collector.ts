/**
 * The garbage collector of the modeled cluster, as far as sets and their members need it. A real one works on one object
 * after the other, from caches that it checks before each DELETE; here, everything that is due happens at once, between two
 * requests of the operator. It is never wrong about an owner, and no object has two owners.
 */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { ApiServer } from './api-server.ts';

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/** Deletes members whose set does not exist, releases those of a set that leaves orphans, and ends such sets. */
export function collectMembers({ servers, sets }: Pick<ApiServer, 'servers' | 'sets'>): void {
  for (const { metadata } of sets.list()) {
    const { namespace, name, uid, finalizers = [], deletionTimestamp } = metadata;
    if (deletionTimestamp === undefined) continue;
    const members = servers.list().filter((server) => ownersOf(server).some((owner) => owner.uid === uid));
    const leave = (finalizer: string): void =>
      void sets.patch(namespace, name, { metadata: { finalizers: finalizers.filter((other) => other !== finalizer) } });
    if (finalizers.includes(ORPHAN)) {
      for (const { metadata: member } of members)
        servers.patch(namespace, member.name, { metadata: { ownerReferences: [] } });
      leave(ORPHAN);
    } else if (finalizers.includes(FOREGROUND)) {
      for (const { metadata: member } of members) servers.delete(namespace, member.name);
      const isEmpty = !servers.list().some((server) => ownersOf(server).some((owner) => owner.uid === uid));
      if (isEmpty) leave(FOREGROUND);
    }
  }
  const living = new Set(sets.list().map(({ metadata }) => metadata.uid));
  for (const server of servers.list()) {
    const owners = ownersOf(server);
    if (owners.length > 0 && !owners.some(({ uid }) => living.has(uid)))
      servers.delete(server.metadata.namespace, server.metadata.name);
  }
}

const ownersOf = ({ metadata: { ownerReferences = [] } }: VirtualServer) => ownerReferences;
