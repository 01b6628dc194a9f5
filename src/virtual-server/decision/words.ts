/**
 * Messages that several places share: what is the case. A message that only one place needs stands beside its reason;
 * advice.ts adds what you can do, and controller/conditions.ts adds the link and limits the length. Pure.
 */
import { SERVER_DEFINITION, SET_DEFINITION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';

/** True if the object `namespace/name` is in the namespace of `object`. */
export function isOwnNamespace(holder: string, { metadata: { namespace } }: VirtualServer): boolean {
  return holder.startsWith(`${namespace}/`);
}

/** Formats objects (`namespace/name`) for a message of another object. It never reveals names from other namespaces. */
export function namesOf(holders: readonly string[], object: VirtualServer): string {
  const own = holders.filter((holder) => isOwnNamespace(holder, object));
  const others = holders.length - own.length;
  if (others === 0) return own.join(', ');
  const elsewhere = others === 1 ? 'an object in another namespace' : `${others} objects in other namespaces`;
  return [...own, elsewhere].join(', ');
}

/** `cause`: why no answer arrived, where that is known. */
export function unknownMessage({ attempt = '', hintedTask }: ServerRecord, cause?: string): string {
  const why = cause === undefined ? '' : ` (${cause})`;
  const hint = hintedTask === undefined ? '' : `. The answer named task ${hintedTask}`;
  return `Order ${attempt} was sent, but its outcome is unknown${why}: a server may exist and cost money${hint}`;
}

/** `what`: the sentence that says what the two orders share. */
export function taskInUse(what: string): string {
  return `${what}: the provider reuses task numbers. The operator does not follow the task`;
}

const RESTORE_KEY = 'If you changed the API key or the base URL, restore those that were used for the order';

export function unprovenTask({ task }: ServerRecord, why: string): string {
  return `Task ${task ?? ''} may belong to another order: ${why}. ${RESTORE_KEY}`;
}

export function unprovenServer(identifier: string, why: string): string {
  return (
    `The provider shows a server ${identifier}, but it may not be the server of this object: ${why}. ${RESTORE_KEY}. ` +
    "Otherwise, look at it in the provider's control panel"
  );
}

/** Why a 404 proves nothing: it came from another account than the one that has the server. */
export const OTHER_KEY =
  'the API key or the base URL differs from the one with which it was last seen. Restore that key or URL';

/** Why a 404 proves nothing: the provider answers a question that any account may ask with `answer`. */
export function noProducts(answer: string): string {
  return `the provider shows ${answer}. Check the base URL, and look in the control panel whether the account is suspended`;
}

/** `detail`: why the 404 proves nothing, and what you can do about that. */
export function notVisible(identifier: string, detail: string): string {
  return (
    `Server ${identifier} is not visible with this API key, which does not prove that it is gone: ${detail}. ` +
    'The operator keeps checking'
  );
}

export function taskNotVisible({ task }: ServerRecord, detail: string): string {
  return `Task ${task ?? ''} is not visible with this API key, which proves nothing: ${detail}`;
}

export function definitionDeleting(identifier: string): string {
  return (
    `Server ${identifier} is not cancelled, because the CustomResourceDefinition ${SERVER_DEFINITION} is being deleted ` +
    'together with every VirtualServer'
  );
}

/** The definition is gone at once, because no set has a finalizer, and with it the annotation that allows its deletion. */
export function setDefinitionLost(identifier: string, fate: 'deleting' | 'missing'): string {
  return (
    `Server ${identifier} is not cancelled, because the CustomResourceDefinition ${SET_DEFINITION} is ${fate === 'missing' ? fate : 'being deleted'}, and ` +
    'with it every VirtualServerSet: the garbage collector deletes the members of all sets'
  );
}

export function definitionForbidden(identifier: string, of: 'servers' | 'sets'): string {
  const [definition, objects] =
    of === 'servers' ? [SERVER_DEFINITION, 'all VirtualServers'] : [SET_DEFINITION, 'the members of all sets'];
  return (
    `Server ${identifier} is not cancelled, because the operator may not read the CustomResourceDefinition ` +
    `${definition}: it cannot rule out that ${objects} are being deleted by mistake. ` +
    'Ask an administrator to apply the ClusterRole vps-operator-definition and its binding. The operator then continues'
  );
}

export function ownersMessage(object: VirtualServer): string {
  const owners = (object.metadata.ownerReferences ?? []).map((owner) => `${owner.kind} ${owner.name}`).join(', ');
  return (
    `This object has owners (${owners}). If one of them was deleted, the garbage collector deletes this object as soon as ` +
    'deletionProtection is false, and the operator cancels the server'
  );
}

/** `differences`: each names a field, its value and the value in spec. */
export function driftMessage(differences: string): string {
  return (
    `The server differs from spec: ${differences}. The operator changes nothing. To accept it for an adopted server, ` +
    'change product or diskSize. To get another server, create a new object'
  );
}

/** So that a kept object costs nothing more. */
export const NO_OTHER = 'The operator does not order another one';
