/** Decides for each listed object whether `kubectl vps adopt -f` or `kubectl vps start-over` is possible. Pure. */
import { ADOPT_ANNOTATION, START_OVER_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { identifierKey, isSameIdentifier } from '../../base/identifier.ts';
import { expiryOf } from '../../virtual-server/decision/expiry.ts';
import { viewRecord } from '../../virtual-server/decision/known-record.ts';
import type { ListedAdoption, ListedServer } from '../flags/csv.ts';
import { heldServer, holding, orderOf, recordOf } from '../state/recorded-order.ts';
import { verdict } from '../state/readiness.ts';

export type RowOutcome =
  /** The command sets the annotation. */
  | 'write'
  /** The object already holds the server, or is annotated. */
  | 'done'
  /** Not possible: the command changes no object. */
  | 'refused';

export interface ListedRow extends ListedServer {
  /** Undefined if it does not exist. */
  object: VirtualServer | undefined;
  /** The server to adopt; for start-over, the server that the object leaves alone. */
  identifier: string | undefined;
  outcome: RowOutcome;
  why: string;
}

type Judgement = [outcome: RowOutcome, why: string];

/** `all`: every object in the namespaces of the list, since no two objects may hold one server. `now`: ms since the epoch. */
export function planAdoptions(
  list: readonly ListedAdoption[],
  all: readonly VirtualServer[],
  now: number,
): ListedRow[] {
  const holders = new Map<string, VirtualServer>();
  for (const object of all) {
    const held = heldServer(object);
    if (held !== undefined) holders.set(identifierKey(held), object);
  }
  return list.map(({ namespace, name, identifier }) => {
    const object = find(all, namespace, name);
    const holder = holders.get(identifierKey(identifier));
    const [outcome, why] = object === undefined ? UNKNOWN : adoption(object, identifier, holder, now);
    return { namespace, name, object, identifier, outcome, why };
  });
}

export function planStartsOver(list: readonly ListedServer[], all: readonly VirtualServer[], now: number): ListedRow[] {
  return list.map(({ namespace, name }) => {
    const object = find(all, namespace, name);
    const [outcome, why] = object === undefined ? UNKNOWN : startOver(object, now);
    const identifier = object && recordOf(object)?.identifier;
    return { namespace, name, object, identifier, outcome, why };
  });
}

const UNKNOWN: Judgement = ['refused', 'does not exist'];
const OVER: Judgement = ['refused', 'spec.expiresAt has passed: the operator gives it no server'];

/** A ttl counts from the moment the server is first ready, so it cannot have passed yet. */
function isOver(object: VirtualServer, now: number): boolean {
  const expiry = expiryOf(object, undefined);
  return expiry !== undefined && expiry <= now;
}

function find(all: readonly VirtualServer[], namespace: string, name: string): VirtualServer | undefined {
  return all.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

function adoption(
  object: VirtualServer,
  identifier: string,
  holder: VirtualServer | undefined,
  now: number,
): Judgement {
  const { uid, annotations, deletionTimestamp } = object.metadata;
  const expiredAt = recordOf(object)?.expiredAt;
  if (deletionTimestamp !== undefined) return ['refused', 'is being deleted: adopting the server now could cancel it'];
  if (expiredAt !== undefined) return ['refused', `its server expired at ${expiredAt}: delete the object`];
  if (isOver(object, now)) return OVER;
  const held = holding(object);
  if (held !== undefined)
    return isSameIdentifier(heldServer(object), identifier)
      ? ['done', 'already holds the server']
      : ['refused', `already ${held}`];
  if (holder !== undefined && holder.metadata.uid !== uid) {
    return ['refused', `${holder.metadata.namespace}/${holder.metadata.name} holds the server`];
  }
  const order = orderOf(object, now);
  if (order.kind === 'notYet') return ['refused', `not yet: ${order.why}`];
  return annotations?.[ADOPT_ANNOTATION] === identifier ? ['done', 'already annotated'] : ['write', ''];
}

function startOver(object: VirtualServer, now: number): Judgement {
  const { uid, annotations = {}, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return ['refused', 'is being deleted'];
  if (isOver(object, now)) return OVER;
  const view = viewRecord(object, []);
  if (annotations[START_OVER_ANNOTATION] === uid) return ['done', 'already annotated'];
  if (view.kind === 'own') return ['refused', `has its own record (${verdict(object).reason})`];
  if (view.kind === 'none')
    return ['refused', 'has no record of another object, so the operator orders its server anyway'];
  if (view.kind !== 'foreign') return ['refused', `its record cannot be used (${verdict(object).reason})`];
  const adopts = annotations[ADOPT_ANNOTATION];
  if (adopts !== undefined) return ['refused', `the annotation ${ADOPT_ANNOTATION} names ${adopts}: remove it first`];
  return ['write', view.record.identifier === undefined ? '' : `leaves server ${view.record.identifier} alone`];
}
