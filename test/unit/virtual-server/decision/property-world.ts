/**
 * The truth at the provider, which the operator cannot know: which servers exist, who owns them, and which 404 is a
 * fault. A fault ends before it lasts as long as the grace period, or is seen at most twice before the server is shown.
 */
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { ProviderError, withheldError } from '../../../../src/provider/error.ts';
import { ACCOUNT, ELSEWHERE, OTHER_KEY, SERVER, TIMING } from '../../../gen/decision.ts';

/** `reused`: the object's server is gone, and its identifier was given to another server. */
type State = 'runs' | 'gone' | 'reused';

const failed: Outcome = { type: 'failed', error: new ProviderError('PROVIDER_UNREACHABLE', 'no way') };
const withheld: Outcome = { type: 'failed', error: withheldError() };
/** Grace periods for which a server that was never read may be slow to appear. */
const UNSEEN_PERIODS = 12;

export class World {
  /** The account of the present key. */
  key = ACCOUNT;
  readonly #random: () => number;
  /** Whether the second key belongs to the account of the first one, or to another user's account. */
  readonly #isRotated: boolean;
  /** The object's servers by realm and identifier. A realm is what the provider calls an account. */
  readonly #servers = new Map<string, { mac: string; state: State }>();
  readonly #tasks = new Set<string>();
  /** False denials since the server was last shown. */
  #fault: { since: number; count: number } | undefined;
  /** A DELETE that cancelled nothing was answered with the documented 200. */
  #hasLied = false;

  constructor(random: () => number) {
    this.#random = random;
    this.#isRotated = this.#chance(0.5);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #realm(account: string): string {
    if (account === ELSEWHERE) return 'c';
    return account === ACCOUNT || this.#isRotated ? 'a' : 'b';
  }

  #server(identifier: string, account = this.key): { mac: string; state: State } | undefined {
    return this.#servers.get(`${this.#realm(account)}/${identifier}`);
  }

  /** Undefined: whatever exists there does not belong to the object. */
  stateOf({ identifier = '', account = ACCOUNT }: Pick<ServerRecord, 'identifier' | 'account'>): State | undefined {
    return this.#server(identifier, account)?.state;
  }

  /** You have named the server, or accepted the one that is shown. */
  take(identifier: string): void {
    const known = this.#server(identifier);
    const mac = known === undefined ? this.#stranger(identifier) : known.state === 'reused' ? SUCCESSOR : known.mac;
    this.#servers.set(`${this.#realm(this.key)}/${identifier}`, { mac, state: 'runs' });
    this.#fault = undefined;
  }

  /** You have accepted a server under the present key in place of this one, which is in another account. */
  replace({ identifier = '', account = ACCOUNT }: Pick<ServerRecord, 'identifier' | 'account'>): void {
    if (this.#realm(account) === this.#realm(this.key)) return;
    this.#servers.set(`${this.#realm(account)}/${identifier}`, { mac: '', state: 'gone' });
  }

  accept(task: number): void {
    this.#tasks.add(`${this.#realm(this.key)}/${task}`);
  }

  /** A change that the operator is not told about. */
  happen(own: ServerRecord | undefined): string {
    if (this.#chance(0.5)) {
      this.key = [OTHER_KEY, ELSEWHERE][Math.floor(this.#random() * 8)] ?? ACCOUNT;
      return `key ${this.key}`;
    }
    const server = own?.identifier === undefined ? undefined : this.#server(own.identifier, own.account);
    if (server?.state === 'runs') server.state = this.#chance(0.3) ? 'gone' : 'runs';
    // Only after the operator has noticed the absence: before that, a server with the same identifier would pass for
    // the object's.
    else if (server?.state === 'gone' && own?.missingAt !== undefined) server.state = 'reused';
    return `server ${server?.state ?? 'none'}`;
  }

  poll(task: number): Outcome {
    if (this.#chance(0.2)) return failed;
    const realm = this.#realm(this.key);
    const identifier = realm === 'b' ? `b-srv-${task}` : `srv-${task}`;
    const isOwn = this.#tasks.has(`${realm}/${task}`);
    if (this.#chance(0.2) || (realm === 'a' && !isOwn))
      return { type: 'taskNotFound', detail: '', counts: this.#chance(0.8) };
    if (this.#chance(0.3)) return { type: 'pending', status: this.#chance(0.8) ? 'installing 20 %' : 'failed' };
    if (isOwn && this.#server(identifier) === undefined)
      this.#servers.set(`${realm}/${identifier}`, { mac: `aa:${realm}:${task}`, state: 'runs' });
    return this.#chance(0.5) ? { type: 'pending', identifier } : { type: 'complete', identifier };
  }

  adopt(identifier: string): Outcome {
    if (this.#chance(0.2)) return failed;
    if (this.#server(identifier)?.state === 'gone' || this.#chance(0.2))
      return { type: 'serverNotFound', counts: false, detail: '' };
    return this.#show(identifier, this.#server(identifier)?.mac ?? this.#stranger(identifier));
  }

  read(identifier: string, asking: Asking): Outcome {
    if (this.#chance(0.2)) return failed;
    const server = this.#server(identifier);
    if (server?.state === 'reused') return this.#show(identifier, SUCCESSOR);
    if (server?.state === 'runs' && !this.#isFaulty(asking)) {
      if (asking.isOwnAccount) this.#fault = undefined;
      return this.#show(identifier, server.mac);
    }
    const isThere = server === undefined && this.#realm(this.key) === 'c' && this.#chance(0.7);
    return isThere ? this.#show(identifier, this.#stranger(identifier)) : notFound(asking);
  }

  delete(identifier: string, asking: Asking): Outcome {
    if (this.#chance(0.1)) return withheld;
    const server = this.#server(identifier);
    if (server === undefined || server.state === 'gone' || this.#isFaulty(asking)) return notFound(asking);
    if (this.#chance(0.3)) {
      if (this.#chance(0.5)) server.state = 'gone';
      return failed;
    }
    // The documented 200, but nothing is cancelled. Beside it, a false 404 would be proof (documented limit).
    this.#hasLied ||= this.#fault === undefined && this.#chance(0.1);
    if (this.#hasLied && this.#chance(0.5))
      return { type: 'unconfirmed', said: 'done', shown: this.#show(identifier, server.mac) };
    server.state = 'gone';
    return { type: 'cancelled' };
  }

  /** The hardware address of a server that does not belong to the object. */
  #stranger(identifier: string): string {
    return `ee:${this.#realm(this.key)}:${identifier.replaceAll('-', '')}`;
  }

  #show(identifier: string, mac: string): Extract<Outcome, { type: 'server' }> {
    const macs = this.#chance(0.8) ? [mac] : [];
    return { type: 'server', server: { ...SERVER, identifier, macs, ipv6: [`2001:db8::${mac}`] }, account: this.key };
  }

  #isFaulty({ now, wasRead }: Asking): boolean {
    if (this.#hasLied) return false;
    const fault = this.#fault ?? { since: now, count: 0 };
    const longest = TIMING.absenceMs * (wasRead ? 1 : UNSEEN_PERIODS);
    const isAllowed = fault.count < 2 || now - fault.since < longest;
    if (!isAllowed || !this.#chance(0.5)) return false;
    this.#fault = { ...fault, count: fault.count + 1 };
    return true;
  }
}

/** Who asks, and when. */
export interface Asking {
  now: number;
  /** The key belongs to the account that the record names. */
  isOwnAccount: boolean;
  /** The server was read before, or a DELETE for it was sent. */
  wasRead: boolean;
}

const SUCCESSOR = 'ff:ff';
const notFound = ({ isOwnAccount }: Asking): Outcome => ({ type: 'serverNotFound', counts: isOwnAccount, detail: '' });
