/**
 * Which object holds which server, follows which task, and has an order on its way: an index over every object that the
 * process sees, fed by the informer and by own writes. Annotations can be forged where the guards are not installed: an object
 * counts if the provider has confirmed its record, as its status says, or if the provider has accepted its API key and the
 * record names the account of that key.
 */
import type { ServerRecord } from '../../api/record.ts';
import { isSameAccount, isSameProvider } from '../decision/account.ts';
import { isOtherFingerprint, isSameFingerprint } from '../decision/identity.ts';
import type { Others } from '../decision/types.ts';

export interface Holding {
  namespace: string;
  name: string;
  /** Name of the Secret with the API key. */
  secret: string;
  account?: string | undefined;
  identifier?: string | undefined;
  fingerprint?: ServerRecord['fingerprint'];
  /** The provider has shown the server, or the task that names it, for this object: status says so, which tenants cannot write. */
  isConfirmed?: boolean;
  /** The task that is followed and has not ended. */
  task?: number | undefined;
  /** A server is on its way, and its identifier will be known. */
  isOrdering?: boolean;
}

/** The account of the key of a Secret, where the provider has accepted that key. */
export type AccountOf = (namespace: string, secret: string) => string | undefined;

export class Holders {
  readonly #accountOf: AccountOf;
  readonly #byUid = new Map<string, Holding>();
  /** Uids by what they hold; identifiers are host labels, which ignore case. */
  readonly #byIdentifier = new Index<string>();
  readonly #byTask = new Index<number>();
  readonly #ordering = new Set<string>();
  readonly #reserved = new Set<string>();

  constructor(accountOf: AccountOf) {
    this.#accountOf = accountOf;
  }

  /** What the newest version of the object holds; undefined: nothing. A reservation stays until it is ended. */
  set(uid: string, holding: Holding | undefined): void {
    if (holding?.identifier !== undefined) this.#reserved.delete(uid);
    else if (this.#reserved.has(uid)) return;
    this.#put(uid, holding);
  }

  /** The object is about to take the server over. */
  reserve(uid: string, holding: Holding): void {
    this.#reserved.add(uid);
    this.#put(uid, holding);
  }

  /** Ends a reservation that did not become a hold; `holding` is what the object holds without it. */
  endReservation(uid: string, holding?: Holding): void {
    if (this.#reserved.delete(uid)) this.#put(uid, holding);
  }

  /** What the others hold, as the object `uid` may ask. */
  others(uid: string): Others {
    const named = (uids: Iterable<string>, concerns: (holding: Holding) => boolean): string[] =>
      [...uids]
        .filter((other) => other !== uid)
        .flatMap((other) => {
          const holding = this.#byUid.get(other);
          return holding !== undefined && this.#isOwner(other, holding) && concerns(holding) ? [holding] : [];
        })
        .map(({ namespace, name }) => `${namespace}/${name}`)
        .sort();
    const isOf = (account: string | undefined, holding: Holding): boolean =>
      account === undefined || isSameAccount(account, holding.account);
    // Another key may be one of the same account; what the provider has confirmed is then the same server.
    const isMaybe = (account: string | undefined, { account: other, isConfirmed }: Holding): boolean =>
      isConfirmed === true && isSameProvider(account, other);
    return {
      withServer: (identifier, { account, fingerprint, held }) =>
        named(
          [...this.#byIdentifier.of(identifier.toLowerCase())].filter(
            (other) => held !== true || !this.#reserved.has(other),
          ),
          (holding) =>
            !isOtherFingerprint(fingerprint, holding.fingerprint) &&
            (isOf(account, holding) ||
              isMaybe(account, holding) ||
              isSameFingerprint(fingerprint, holding.fingerprint)),
        ),
      withTask: (task, account) => named(this.#byTask.of(task), (holding) => isOf(account, holding)),
      ordering: (account) =>
        named(this.#ordering, (holding) => isOf(account, holding) || isSameProvider(account, holding.account)),
    };
  }

  #isOwner(uid: string, { namespace, secret, account, isConfirmed }: Holding): boolean {
    return (
      isConfirmed === true ||
      // For the time of a visit.
      this.#reserved.has(uid) ||
      isSameAccount(this.#accountOf(namespace, secret), account)
    );
  }

  #put(uid: string, holding: Holding | undefined): void {
    this.#byIdentifier.put(uid, holding?.identifier?.toLowerCase());
    this.#byTask.put(uid, holding?.task);
    if (holding?.isOrdering === true) this.#ordering.add(uid);
    else this.#ordering.delete(uid);
    if (holding === undefined) this.#byUid.delete(uid);
    else this.#byUid.set(uid, holding);
  }
}

/** Uids by one value each. */
class Index<V> {
  readonly #byValue = new Map<V, Set<string>>();
  readonly #byUid = new Map<string, V>();

  of(value: V): Iterable<string> {
    return this.#byValue.get(value) ?? [];
  }

  put(uid: string, value: V | undefined): void {
    const before = this.#byUid.get(uid);
    if (before === value) return;
    if (before !== undefined) {
      const uids = this.#byValue.get(before);
      uids?.delete(uid);
      if (uids?.size === 0) this.#byValue.delete(before);
      this.#byUid.delete(uid);
    }
    if (value === undefined) return;
    this.#byUid.set(uid, value);
    const uids = this.#byValue.get(value) ?? new Set<string>();
    this.#byValue.set(value, uids.add(uid));
  }
}
