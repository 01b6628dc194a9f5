/**
 * Messages that several places share: what is the case, and what you can do. A message that only one place needs stands
 * beside its reason; controller/conditions.ts adds the link and limits the length. Pure.
 */
import {
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  ALLOW_DELETION_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  SERVER_DEFINITION,
  SERVER_GONE_ANNOTATION,
  SET_DEFINITION,
} from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { adopt, annotate, patchSpec, remove, retainedSpec, unannotate } from './commands.ts';

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
  if (!holders.every((holder) => holder.startsWith(`${namespace}/`)))
    return 'Ask a cluster administrator which object keeps the server, and have the server removed from the others';
  const spec = { deletionPolicy: 'Retain', ttl: null, expiresAt: null };
  const retain = patchSpec({ metadata: { name: 'NAME', namespace } }, spec);
  return `For each object that must not keep the server, run ${retain}, then delete that object; the server keeps running`;
}

type Attempt = Pick<ServerRecord, 'attempt' | 'attemptedAt' | 'identifier'>;

const isBeingDeleted = ({ metadata }: VirtualServer): boolean => metadata.deletionTimestamp !== undefined;

/**
 * What you can do if you know that the server is gone, and what follows. An annotation that the operator has refuted is
 * void until you set it again.
 */
function confirmGone(object: VirtualServer, identifier: string): string {
  const isSet = object.metadata.annotations?.[SERVER_GONE_ANNOTATION] === identifier;
  const first = isSet ? `${unannotate(object, SERVER_GONE_ANNOTATION)}, then ` : '';
  const then = isBeingDeleted(object)
    ? 'the deletion then continues'
    : 'the operator then counts the server of this object as gone, and orders no other';
  return `run ${first}${annotate(object, SERVER_GONE_ANNOTATION, identifier)}; ${then}`;
}

/** What you can do about an open attempt; none of it releases the object. */
export function resolveAdvice(object: VirtualServer, { attempt = '', attemptedAt, identifier }: Attempt): string {
  // An annotation that is still there would be obeyed instead of ordering.
  const adopts = object.metadata.annotations?.[ADOPT_ANNOTATION] !== undefined;
  const orders = adopts
    ? 'once you remove the annotation adopt as well, the operator orders again'
    : 'the operator then orders again';
  const then = isBeingDeleted(object) ? 'the deletion then continues' : orders;
  const none = `run ${annotate(object, NOT_CREATED_ANNOTATION, attempt)}; ${then}`;
  if (identifier !== undefined) return `If the provider's control panel does not show server ${identifier}, ${none}`;
  const created = attemptedAt === undefined ? '' : `was created after ${attemptedAt} and that `;
  return (
    `Look in the provider's control panel, at least a minute after the order, for a server that ${created}no VirtualServer ` +
    `in any cluster holds. If there is one, run ${adopt(object)} with its identifier. If you are sure that there is none, ` +
    none
  );
}

/** How to release an object without any record, with no call to the provider. */
export function letGoAdvice(object: VirtualServer): string {
  const { uid, deletionTimestamp } = object.metadata;
  const remove = deletionTimestamp === undefined ? ', then delete the object' : '; the object is then released';
  return `run ${annotate(object, NOT_CREATED_ANNOTATION, uid)}${remove}`;
}

/** What you have to do about an attempt whose answer was lost. `cause`: why no answer arrived, where that is known. */
export function unknownMessage(
  object: VirtualServer,
  { attempt = '', attemptedAt, hintedTask }: Pick<ServerRecord, 'attempt' | 'attemptedAt' | 'hintedTask'>,
  cause?: string,
): string {
  const why = cause === undefined ? '' : ` (${cause})`;
  const hint = hintedTask === undefined ? '' : ` The answer named task ${hintedTask}.`;
  return (
    `Order ${attempt} was sent, but its outcome is unknown${why}: a server may exist and cost money.${hint} ` +
    resolveAdvice(object, { attempt, attemptedAt })
  );
}

/** The `cause` of an earlier `unknownMessage`; undefined if it named none. */
export function causeIn(message: string): string | undefined {
  return /its outcome is unknown \((.*)\): a server may exist/s.exec(message)?.[1];
}

/** `what`: the sentence that says what the two orders share. */
export function taskInUse(object: VirtualServer, record: ServerRecord, what: string): string {
  return `${what}: the provider reuses task numbers. The operator does not follow the task. ${resolveAdvice(object, record)}`;
}

const RESTORE_KEY = 'If you changed the API key or the base URL, restore those that were used for the order';

export function unprovenTask(object: VirtualServer, record: ServerRecord, why: string, word: string): string {
  // If the task has named a server, the operator does not ask the provider here, so no annotation about it would count.
  const open = record.identifier === undefined ? `. ${resolveAdvice(object, record)}` : '';
  return (
    `Task ${record.task ?? ''} may belong to another order: ${why}. ${RESTORE_KEY}. ` +
    `If you are sure that the task belongs to this order, run ${annotate(object, ACCEPT_SERVER_ANNOTATION, word)}${open}`
  );
}

/** `word`: the annotation value that accepts the server that the provider shows. */
export function unprovenServer(object: VirtualServer, identifier: string, why: string, word: string): string {
  return (
    `The provider shows a server ${identifier}, but it may not be the server of this object: ${why}. ${RESTORE_KEY}. ` +
    `Otherwise, look at it in the provider's control panel. If it is the server of this object, run ` +
    `${annotate(object, ACCEPT_SERVER_ANNOTATION, word)}; the operator then manages it, and may cancel it. If it is another ` +
    `server, ${confirmGone(object, identifier)}. If you are unsure, change nothing`
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
export function notVisible(object: VirtualServer, identifier: string, detail: string): string {
  return (
    `Server ${identifier} is not visible with this API key, which does not prove that it is gone: ${detail}. ` +
    `The operator keeps checking. ${goneAdvice(object, identifier)}`
  );
}

export function taskNotVisible(object: VirtualServer, record: ServerRecord, detail: string): string {
  return (
    `Task ${record.task ?? ''} is not visible with this API key, which proves nothing: ${detail}. ` +
    // Once the task has named a server, only a counted 404 lets the operator obey an annotation about the order.
    (record.identifier === undefined ? resolveAdvice(object, record) : goneAdvice(object, record.identifier))
  );
}

export function goneAdvice(object: VirtualServer, identifier: string): string {
  return `If the control panel of the server's account does not show server ${identifier} either, ${confirmGone(object, identifier)}`;
}

export function definitionDeleting(object: VirtualServer, identifier: string): string {
  const keep = patchSpec(object, retainedSpec(object));
  return (
    `Server ${identifier} is not cancelled, because the CustomResourceDefinition ${SERVER_DEFINITION} is being deleted ` +
    `together with every VirtualServer. To keep the server, run ${keep}. Then reinstall the definition, and create an object ` +
    `with annotation ${ADOPT_ANNOTATION}: ${identifier}. To cancel all servers of the cluster, except protected and retained ones, run ` +
    `\`kubectl annotate crd ${SERVER_DEFINITION} ${ALLOW_DELETION_ANNOTATION}=true\``
  );
}

/** The definition is gone at once, because no set has a finalizer, and with it the annotation that allows its deletion. */
export function setDefinitionLost(object: VirtualServer, identifier: string, fate: 'deleting' | 'missing'): string {
  const keep = patchSpec(object, retainedSpec(object));
  const allow =
    fate === 'missing'
      ? 'install the definition again'
      : `run \`kubectl annotate crd ${SET_DEFINITION} ${ALLOW_DELETION_ANNOTATION}=true\``;
  return (
    `Server ${identifier} is not cancelled, because the CustomResourceDefinition ${SET_DEFINITION} is ${fate === 'missing' ? fate : 'being deleted'}, and ` +
    `with it every VirtualServerSet: the garbage collector deletes the members of all sets. To keep the server, run ${keep}. Then ` +
    `create an object with annotation ${ADOPT_ANNOTATION}: ${identifier}. To cancel the servers of all members, except ` +
    `protected and retained ones, ${allow}`
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
    'deletionProtection is false, and the operator cancels the server. To lift the protection and keep the server, run ' +
    patchSpec(object, retainedSpec(object))
  );
}

/** `differences`: each names a field, its value and the value in spec. */
export function driftMessage(differences: string): string {
  return (
    `The server differs from spec: ${differences}. The operator changes nothing. To accept it for an adopted server, ` +
    'change product or diskSize. To get another server, create a new object'
  );
}

/** After the end of a server. The operator orders no other one, so that a kept object costs nothing more. */
export function replaceAdvice(object: VirtualServer): string {
  return (
    `The operator does not order another one. To delete this object, run ${remove(object)}. If you want another server, ` +
    'create a new object'
  );
}

export function protectedMessage(object: VirtualServer): string {
  return (
    'This object is being deleted, but its server is not cancelled while spec.deletionProtection is true. To cancel the ' +
    'server, run ' +
    `${patchSpec(object, { deletionProtection: false })}. To delete the object and keep the server running, run ` +
    patchSpec(object, retainedSpec(object))
  );
}
