/** Messages that several places share: what is the case, and what you can do. Pure. */
import {
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  ALLOW_DELETION_ANNOTATION,
  SERVER_DEFINITION,
  NOT_CREATED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';

/** Formats objects (`namespace/name`) for a message of another object. It never reveals names from other namespaces. */
export function namesOf(holders: readonly string[], { metadata: { namespace } }: VirtualServer): string {
  const own = holders.filter((holder) => holder.startsWith(`${namespace}/`));
  const others = holders.length - own.length;
  if (others === 0) return own.join(', ');
  const elsewhere = others === 1 ? 'an object in another namespace' : `${others} objects in other namespaces`;
  return [...own, elsewhere].join(', ');
}

/** For a server that several objects hold. Anyone who can see only one of them must not give the server away. */
export function heldTwiceAdvice(holders: readonly string[], { metadata: { namespace } }: VirtualServer): string {
  return holders.every((holder) => holder.startsWith(`${namespace}/`))
    ? 'Set deletionPolicy: Retain on the objects that are not to keep it, then delete those'
    : 'Ask an administrator of the cluster which object is to keep it, and to have it taken from the others';
}

/** What you can do about an open attempt; none of it releases the object. */
export function resolveAdvice({ attempt, identifier }: Pick<ServerRecord, 'attempt' | 'identifier'>): string {
  if (identifier !== undefined) {
    return `If the provider shows that no server came of it, annotate ${NOT_CREATED_ANNOTATION}=${attempt ?? ''}`;
  }
  return (
    `If the provider shows a server of this order, annotate ${ADOPT_ANNOTATION}=IDENTIFIER; ` +
    `if it shows none, annotate ${NOT_CREATED_ANNOTATION}=${attempt ?? ''}`
  );
}

/** How to release an object without any record, with no call to the provider. */
export function letGoAdvice({ metadata: { uid, deletionTimestamp } }: VirtualServer): string {
  const remove = deletionTimestamp === undefined ? ' and delete the object' : ' to let the object go';
  return `annotate ${NOT_CREATED_ANNOTATION}=${uid}${remove}`;
}

/** What you have to do about an attempt whose answer was lost. */
export function unknownMessage({ attempt, hintedTask }: Pick<ServerRecord, 'attempt' | 'hintedTask'>): string {
  const hint = hintedTask === undefined ? '' : ` The answer named task ${hintedTask}.`;
  return (
    `Order ${attempt ?? ''} was sent and its outcome is unknown: a server may exist and cost money.${hint} ` +
    `Look at the provider's control panel. ${resolveAdvice({ attempt })}`
  );
}

export function taskInUse(record: ServerRecord, what: string): string {
  return `The order of this object has ${what}: the provider uses task numbers again. ${resolveAdvice(record)}`;
}

export function unprovenTask(record: ServerRecord, why: string, word: string): string {
  // If the task has named a server, the operator does not ask the provider here, so no annotation about it would count.
  const open = record.identifier === undefined ? `. ${resolveAdvice(record)}` : '';
  return (
    `Task ${record.task ?? ''} cannot be proven to be the one of this order: ${why}. ` +
    `Restore the API key and the base URL of the order, or, if you are sure, annotate ${ACCEPT_SERVER_ANNOTATION}=${word}${open}`
  );
}

/** `word`: the annotation value that accepts the server that the provider shows. */
export function unprovenServer(identifier: string, why: string, word: string): string {
  return (
    `A server ${identifier} exists, but it cannot be proven to be the server of this object: ${why}. ` +
    `If it is, annotate ${ACCEPT_SERVER_ANNOTATION}=${word}. If the server of this object is gone, annotate ` +
    `${SERVER_GONE_ANNOTATION}=${identifier}. If the API key or the base URL was changed, restore those that it was ordered with`
  );
}

export function definitionDeleting(identifier: string): string {
  return (
    `Server ${identifier} is not cancelled: the CustomResourceDefinition ${SERVER_DEFINITION} is being deleted, and every ` +
    'VirtualServer with it. To keep the server, set deletionPolicy: Retain, and adopt the server with a new object when the ' +
    `definition is installed again. To cancel the servers, annotate the definition ${ALLOW_DELETION_ANNOTATION}=true`
  );
}

export function definitionForbidden(identifier: string): string {
  return (
    `Server ${identifier} is not cancelled: the operator may not read the CustomResourceDefinition ${SERVER_DEFINITION}, so it ` +
    'cannot tell whether all VirtualServers are being deleted by mistake. Apply the ClusterRole vps-operator-definition'
  );
}

export function ownersMessage({ metadata: { name, namespace, ownerReferences = [] } }: VirtualServer): string {
  const owners = ownerReferences.map((owner) => `${owner.kind} ${owner.name}`).join(', ');
  return (
    `This object has owners (${owners}). If one of them was deleted, the garbage collector deletes this object as soon as ` +
    'deletionProtection is false, and the server is cancelled. To lift the protection and keep the server: ' +
    `kubectl patch vps ${name} --namespace ${namespace} --type=merge ` +
    `--patch='{"spec":{"deletionProtection":false,"deletionPolicy":"Retain"}}'`
  );
}
