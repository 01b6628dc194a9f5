/**
 * Indexes which object holds which server, follows which task, and has an open order. Covers every object that the
 * process sees, from the informer and from its own writes. Without the admission policies, annotations can be forged.
 * So an object counts only if its status shows that the provider has confirmed its record, or if the provider has
 * accepted its API key and the record names the account of that key.
 */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import { mirrorIn, phaseOf, type PhaseName, type ServerRecord } from '../../api/record.ts';
import { identifierKey, isSameIdentifier } from '../../base/identifier.ts';
import {
  fingerprintOf,
  identifyingIn,
  isOtherFingerprint,
  isSameAccount,
  isSameFingerprint,
  isSameProvider,
} from '../decision/identity.ts';
import type { Others } from '../decision/types.ts';
import { sourceKey } from '../decision/known-record.ts';
import type { Reservation } from './limits.ts';
import { openReason } from '../../api/open.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { OwnedIndex } from '../../base/owned-index.ts';
import { isPaused } from '../../api/server-state.ts';
import type { Server } from '../../provider/types.ts';
import { LateServers } from './late-servers.ts';
import { adoptionOf } from '../decision/inputs.ts';
import { isProvisioned } from '../decision/server-status.ts';

export interface Holding {
  namespace: string;
  name: string;
  /** Name of the Secret that contains the API key. */
  secret: string;
  account?: string | undefined;
  identifier?: string | undefined;
  /** The identifier of its server that counts as missing. The provider may show that server again. */
  missing?: string | undefined;
  fingerprint?: ServerRecord['fingerprint'];
  /**
   * The provider has shown the server, or the task that names it, for this object: status shows it, and tenants cannot
   * write status.
   */
  isConfirmed?: boolean;
  /** The task that is followed and has not ended. */
  task?: TaskNumber | undefined;
  /** A server is on its way, and its identifier will become known. */
  isOrdering?: boolean;
  /** An order whose server is not known, even if it waits for you. Unique within its object. */
  order?: string | undefined;
}

/** The account of the key in a Secret, if the provider has accepted that key. */
export type AccountOf = (namespace: string, secret: string) => string | undefined;

/** For how long an order of another object may leave open whose a late server is, before you are asked (ms). */
const WAITED_MS = 60 * 60_000;

/** Whose the server of a failed order is that has appeared: `ordering` and `waiting` if it may be another object's. */
export type LateOwner = 'own' | 'ordering' | 'waiting';

export class Holders {
  readonly #accountOf: AccountOf;
  readonly #holdings = new OwnedIndex<string, Holding>();
  /**
   * By `sourceKey` of an object whose server another one has taken over, with what the other one holds. The first object's
   * holding counts until the other one's does, so that no third object can adopt the server in between.
   */
  readonly #takers = new OwnedIndex<string, Holding | undefined>();
  readonly #reserved = new Set<string>();
  readonly #late = new LateServers();

  constructor(accountOf: AccountOf) {
    this.#accountOf = accountOf;
  }

  /**
   * What the newest version of the object holds; undefined: nothing. A reservation lasts until it is released or
   * becomes a hold. `takes`: the `sourceKey` of the object whose server this one has taken over.
   */
  set(uid: string, holding: Holding | undefined, takes?: string): void {
    this.#takers.put(uid, takes === undefined ? [] : [[takes, holding]]);
    if (holding?.identifier !== undefined) this.#reserved.delete(uid);
    else if (this.#reserved.has(uid)) return;
    this.#put(uid, holding);
  }

  /** The object is about to adopt the server. `without`: what it holds if it does not. */
  reserve(uid: string, holding: Holding, without: () => Holding | undefined): Reservation {
    this.#reserved.add(uid);
    this.#put(uid, holding);
    return {
      release: () => {
        if (this.#reserved.delete(uid)) this.#put(uid, without());
      },
    };
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#reserved.delete(uid);
    this.#late.forget(uid);
    this.set(uid, undefined);
  }

  /** What other objects hold, for questions of the object `uid`. */
  others(uid: string): Others {
    const named = (
      keys: string | readonly string[],
      concerns: (holding: Holding, other: string) => boolean,
    ): string[] =>
      [keys]
        .flat()
        .flatMap((key) => [...this.#holdings.of(key)])
        .filter(([other, holding]) => other !== uid && this.#isOwner(other, holding) && concerns(holding, other))
        .map(([, { namespace, name }]) => `${namespace}/${name}`)
        .sort();
    const isOf = (account: string | undefined, holding: Holding): boolean =>
      account === undefined || isSameAccount(account, holding.account);
    // Another key may belong to the same account; if the provider has confirmed the holding, it is the same server.
    const isMaybe = (account: string | undefined, { account: other, isConfirmed }: Holding): boolean =>
      isConfirmed === true && isSameProvider(account, other);
    return {
      withServer: (identifier, { account, fingerprint, held, missing }) =>
        named(
          [serverKey(identifier), ...(missing === true ? [missingKey(identifier)] : [])],
          (holding, other) =>
            (held !== true || !this.#reserved.has(other)) &&
            !isOtherFingerprint(fingerprint, holding.fingerprint) &&
            (isOf(account, holding) ||
              isMaybe(account, holding) ||
              isSameFingerprint(fingerprint, holding.fingerprint)),
        ),
      // The key decides, not the record: a user with a key of the account can cancel the server anyway, but a forged record
      // must not stop the cancellation of another tenant's server.
      withAddress: (address, { account, identifier }) =>
        named(
          addressKey(address),
          (holding) =>
            isSameAccount(account, this.#accountOf(holding.namespace, holding.secret)) &&
            !isSameIdentifier(holding.identifier, identifier),
        ),
      withTask: (task, account) => named(taskKey(task), (holding) => isOf(account, holding)),
      ordering: (account) =>
        named(ORDERING, (holding) => isOf(account, holding) || isSameProvider(account, holding.account)),
    };
  }

  /**
   * Whether a server without a mark, which the failed order of the object `uid` named, may belong to the order of another object:
   * `waiting` if that one depends on you, or has not told for an hour. Each record counts, because a forged one costs a wait, and one
   * that is not believed yet costs its server. `now`: monotonic (ms).
   */
  ownerOfLate(uid: string, server: Server, { account, now }: { account: string; now: number }): LateOwner {
    const isNear = ({ account: other }: Holding): boolean => other === undefined || isSameProvider(account, other);
    const open = new Map<string, Holding>();
    const known = [serverKey, missingKey].flatMap((keyFor) => [...this.#holdings.of(keyFor(server.identifier))]);
    const fingerprint = fingerprintOf(server);
    for (const [other, holding] of [...this.#holdings.of(OPEN), ...known]) {
      // Of a missing server, its addresses may tell that this is another one.
      const isOther = holding.missing !== undefined && isOtherFingerprint(fingerprint, holding.fingerprint);
      if (other !== uid && isNear(holding) && !isOther) open.set(`${other} ${holding.order ?? 'known'}`, holding);
    }
    const { orders, seenForMs } = this.#late.candidates(uid, server, { open: [...open.keys()], now });
    const isKnown = [...open.values()].some(({ identifier, missing }) => (identifier ?? missing) !== undefined);
    if (orders.length === 0 && !isKnown) return 'own';
    const isWaiting = seenForMs >= WAITED_MS || orders.some((key) => open.get(key)?.isOrdering === false);
    return isWaiting ? 'waiting' : 'ordering';
  }

  /** The provider does not show the server of a failed order of the object. */
  missedLate(uid: string, identifier: string): void {
    this.#late.missed(uid, identifier);
  }

  #isOwner(uid: string, holding: Holding): boolean {
    // Only while a visit lasts.
    if (this.#reserved.has(uid)) return true;
    const takers = [...this.#takers.of(sourceKey({ namespace: holding.namespace, uid })).values()];
    const isTaken = takers.some((taken) => taken === undefined || this.#isBelieved(taken));
    return !isTaken && this.#isBelieved(holding);
  }

  #isBelieved({ namespace, secret, account, isConfirmed }: Holding): boolean {
    return isConfirmed === true || isSameAccount(this.#accountOf(namespace, secret), account);
  }

  #put(uid: string, holding: Holding | undefined): void {
    this.#holdings.put(uid, holding === undefined ? [] : keysOf(holding).map((key) => [key, holding]));
  }
}

/** What a holding is looked up by. */
function keysOf({ identifier, missing, task, fingerprint, isOrdering, order }: Holding): string[] {
  return [
    ...(identifier === undefined ? [] : [serverKey(identifier)]),
    ...(missing === undefined ? [] : [missingKey(missing)]),
    ...(task === undefined ? [] : [taskKey(task)]),
    // Without an identifier the server is gone, and the provider may give its addresses to the next one.
    ...(identifier === undefined || fingerprint === undefined ? [] : identifyingIn(fingerprint).map(addressKey)),
    ...(isOrdering === true ? [ORDERING] : []),
    ...(order === undefined ? [] : [OPEN]),
  ];
}

// Identifiers are host labels, so case does not matter.
const serverKey = (identifier: string): string => `server ${identifierKey(identifier)}`;
const missingKey = (identifier: string): string => `missing ${identifierKey(identifier)}`;
const taskKey = (task: TaskNumber): string => `task ${task}`;
const addressKey = (address: string): string => `address ${address}`;
const ORDERING = 'ordering';
const OPEN = 'open';

/** An order whose server is not known yet. */
const IS_OPEN: Record<PhaseName, boolean> = {
  unordered: false,
  claimed: true,
  following: true,
  named: false,
  held: false,
};

export function holdingOf(object: VirtualServer, record: ServerRecord | undefined): Holding | undefined {
  if (record === undefined) return undefined;
  const { metadata, spec, status } = object;
  const { account, fingerprint, attempt, task } = record;
  // A server that counts as gone must not keep others from the next server with its identifier.
  const identifier = record.missingAt === undefined ? record.identifier : undefined;
  const isMirrored = identifier !== undefined && mirrorIn(status)?.identifier === identifier;
  const isRead = isMirrored && isProvisioned(status);
  const isOpen = IS_OPEN[phaseOf(record)];
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    secret: spec.apiKeySecretRef.name,
    account,
    identifier,
    missing: identifier === undefined ? record.identifier : undefined,
    fingerprint,
    isConfirmed: isRead || (isMirrored && status?.task?.message !== undefined),
    task: isRead ? undefined : task,
    isOrdering: isOpen && attempt !== undefined && !isStuck(object, record),
    order: isOpen ? (attempt ?? `task ${task}`) : undefined,
  };
}

/** True if waiting for the record's order will not reveal its server. */
function isStuck(object: VirtualServer, record: ServerRecord): boolean {
  // A paused object makes no calls, and others must not wait for it.
  if (isPaused(object)) return true;
  // You resolve this order without a task by an adoption; two such objects would wait for each other.
  if (record.task === undefined && adoptionOf(object) !== undefined) return true;
  return openReason(record, 'namedByYou') !== undefined;
}
