/**
 * Messages that several places share. A message that only one place needs is next to its reason;
 * advice.ts adds what you can do, and controller/conditions.ts adds the link and limits the length. Pure.
 */
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { cut, ended } from '../../base/text.ts';

/** How much of the provider's text a record or a message quotes, in characters. */
const MAX_SAID = 200;

export const cutSaid = (said: string): string => cut(said, MAX_SAID);

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

/** `cause`: the provider's answer, or why none arrived, where that is known. */
export function unknownMessage({ attempt = '', hintedTask }: ServerRecord, cause?: string): string {
  const why = cause === undefined ? '' : `${ended(cause)} `;
  const hint = hintedTask === undefined ? '' : `. The answer named task ${hintedTask}`;
  return `${why}Order ${attempt} was sent, but its outcome is unknown: a server may exist and cost money${hint}`;
}

export const RESTORE_KEY = 'If you changed the API key or the base URL, restore those that were used for the order';

/** Why a denial proves nothing: it came from a different account than the server's. */
export const OTHER_KEY =
  'the API key or the base URL differs from the one with which it was last seen. Restore that key or URL';

/** How the provider denies a server: it does not show it, or shows it as cancelled. */
export const denialText = (identifier: string, isCancelled = false): string =>
  isCancelled
    ? `The provider shows server ${identifier} as cancelled`
    : `The provider does not show server ${identifier}`;

/** Why a denial proves nothing: the provider's list contradicts it. */
export const LISTED = "the provider's list of servers still has it";

/** Why a refused DELETE of a server that is shown as cancelled proves nothing: a provider may show one in the making so. */
export const NEVER_ALIVE = 'the operator has never seen it otherwise, and the provider refuses to cancel it';

/** The subject of a denial that proves nothing: which word of yours ends the wait depends on it (advice.ts). */
export const YET_LISTED = 'listed';
export const SHOWN_CANCELLED = 'shown as cancelled';

/** Why a denial proves nothing: the provider answers a question that any account may ask with `answer`. */
export function noProducts(answer: string): string {
  return `the provider shows ${answer}. Check the base URL, and look in the control panel whether the account is suspended`;
}

/** So that a kept object costs nothing more. */
export const NO_OTHER = 'The operator does not order another one';

export const PROTECTED =
  'This object is being deleted, but its server is not cancelled while spec.deletionProtection is true';
