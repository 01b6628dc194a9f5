/**
 * What must be true of servers, whatever fails. The simulated lives and the crash plans share these rules;
 * each tells servers apart in its own way. Each violation is one sentence.
 */
import { CANCEL_NOW_ANNOTATION, HAND_OVER_ANNOTATION, PAUSED_ANNOTATION } from '../../src/api/names.ts';
import { durationMs } from '../../src/base/duration.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { expiryOf } from '../../src/virtual-server/decision/expiry.ts';
import { recordOf } from '../fixtures/records.ts';

/** What a DELETE that is in flight cannot know yet. */
interface Late {
  guarded?: boolean;
  paused?: boolean;
  extended?: boolean;
  /** The delay of the deletion. */
  delayed?: boolean;
  /** The object that gets the server. */
  handed?: boolean;
}

/** Whether the object asks for the cancellation of its server, or did before a change that is too late. */
export function asksToCancel(object: VirtualServer, now: number, late: Late = {}): boolean {
  const { metadata, spec } = object;
  const isOver = (expiryOf(object, recordOf(object)) ?? Infinity) <= now;
  const isDeleted = metadata.deletionTimestamp !== undefined && (late.delayed === true || !isDelayed(object, now));
  const isHandedOver = metadata.annotations?.[HAND_OVER_ANNOTATION] !== undefined && late.handed !== true;
  const isAsking = (isDeleted || isOver || late.extended === true) && !isHandedOver;
  const isGuarded = (spec.deletionPolicy !== 'Delete' || spec.deletionProtection) && late.guarded !== true;
  const isPaused = metadata.annotations?.[PAUSED_ANNOTATION] !== undefined && late.paused !== true;
  return isAsking && !isGuarded && !isPaused;
}

/** Whether the object was deleted, and the time for which it keeps its server has not passed. */
function isDelayed(object: VirtualServer, now: number): boolean {
  const { metadata, spec } = object;
  const { deletionTimestamp = '', annotations } = metadata;
  const { identifier } = recordOf(object) ?? {};
  if (identifier !== undefined && annotations?.[CANCEL_NOW_ANNOTATION] === identifier) return false;
  return now < Date.parse(deletionTimestamp) + durationMs(spec.deletionDelay ?? '0s');
}

/** A server is cancelled only while exactly one object holds it, and that object asks for it. */
export function wronglyCancelled(
  server: string,
  holders: readonly VirtualServer[],
  asks: (object: VirtualServer) => boolean,
): string[] {
  const [holder, ...others] = holders;
  if (holder !== undefined && others.length === 0 && asks(holder)) return [];
  return [`${server} is cancelled while it is held by [${holders.map(describe).join(', ')}]`];
}

function describe({ metadata, spec }: VirtualServer): string {
  const { namespace, name, deletionTimestamp } = metadata;
  return `${namespace}/${name} ${deletionTimestamp === undefined ? 'living' : 'deleting'} ${spec.deletionPolicy}`;
}

/** No more orders are accepted than objects have asked for, and people have allowed to be repeated. */
export function orderedTooOften(asker: string, orders: number, allowed: number): string[] {
  return orders > allowed ? [`${orders} servers were ordered for ${asker}, instead of ${allowed}`] : [];
}

interface Accounts<Key> {
  /** The servers that exist, each with a name for violations. */
  alive: ReadonlyMap<Key, string>;
  /** What objects hold at the end; `mayBeGone`: it is right that this server does not exist. */
  held: readonly { key: Key; by: string; mayBeGone?: boolean }[];
  /** Whether it is right that no object holds this server. */
  mayBeLeft: (key: Key) => boolean;
}

/** Each server that exists is held by exactly one object, and each that is held exists, except for the given ones. */
export function unaccounted<Key>({ alive, held, mayBeLeft }: Accounts<Key>): string[] {
  const holders = new Map<Key, string>();
  const wrong = held.flatMap(({ key, by, mayBeGone = false }) => {
    const other = holders.get(key);
    holders.set(key, by);
    const isGone = !alive.has(key) && !mayBeGone;
    return [
      ...(other === undefined ? [] : [`${alive.get(key) ?? String(key)} is held by ${other} and ${by}`]),
      ...(isGone ? [`${by} holds server ${String(key)}, which is gone`] : []),
    ];
  });
  const left = [...alive].filter(([key]) => !holders.has(key) && !mayBeLeft(key));
  return [...wrong, ...left.map(([, server]) => `${server} exists but no object holds it`)];
}
