/** Records everything that the simulator did, in order, and answers queries about it. */
import type { TaskNumber } from '../base/exact-numbers.ts';
import type { Route } from './wire.ts';

interface Timed {
  /** Milliseconds since the epoch, by the simulator's clock. */
  readonly at: number;
}

interface ConnectionEntry extends Timed {
  readonly kind: 'connection';
  readonly connection: number;
  readonly sourceAddress: string;
}

interface LoginEntry extends Timed {
  readonly kind: 'login';
  readonly ok: boolean;
  /** Undefined if the request has no readable Basic credentials. */
  readonly keyId: string | undefined;
  readonly account: string | undefined;
  readonly sourceAddress: string;
}

/** One for each request to a known route, added on arrival; `status`, `processed` and `fault` follow later. */
export interface RequestEntry extends Timed {
  readonly kind: 'request';
  readonly method: string;
  readonly route: Route;
  readonly param: string;
  /** The task of an accepted order. */
  task: TaskNumber | undefined;
  /** Undefined until an answer is sent. */
  status: number | undefined;
  /** False if a fault or a false answer kept the provider from acting on the request. */
  processed: boolean;
  /** Kind of the last fault that struck the request; `falsified` after a false answer, `held` by a proxy. */
  fault: string | undefined;
  readonly account: string | undefined;
  readonly keyId: string | undefined;
  readonly connection: number;
  readonly sourceAddress: string;
}

export interface CreateEntry extends Timed {
  readonly kind: 'create';
  /** Unique per server; task numbers and identifiers can be reused. */
  readonly serial: number;
  readonly task: TaskNumber;
  readonly identifier: string;
  readonly account: string;
  /** The request body, as received. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Written when a request first sees the task finished; `completedAt` is when it finished. */
interface TaskCompletedEntry extends Timed {
  readonly kind: 'taskCompleted';
  readonly serial: number;
  readonly task: TaskNumber;
  readonly identifier: string;
  readonly completedAt: number;
}

export interface CancelEntry extends Timed {
  readonly kind: 'cancel';
  readonly serial: number;
  readonly identifier: string;
  readonly account: string;
}

/** What a call about power asks for; `wake` ends `dormant`. */
export type SwitchCall = 'power-on' | 'power-off' | 'shutdown' | 'reboot' | 'dormant' | 'wake';

/** A call about power that the provider has accepted. */
export interface PowerEntry extends Timed {
  readonly kind: 'power';
  readonly serial: number;
  readonly identifier: string;
  readonly account: string;
  readonly call: SwitchCall;
}

/** A change of a server that the provider has accepted. */
export interface ChangeEntry extends Timed {
  readonly kind: 'change';
  readonly serial: number;
  readonly identifier: string;
  readonly account: string;
  /** The request body, as received. */
  readonly body: Readonly<Record<string, unknown>>;
}

interface UnknownRouteEntry extends Timed {
  readonly kind: 'unknownRoute';
  readonly method: string;
  readonly path: string;
}

type LedgerEntry =
  | ConnectionEntry
  | LoginEntry
  | RequestEntry
  | CreateEntry
  | TaskCompletedEntry
  | CancelEntry
  | PowerEntry
  | ChangeEntry
  | UnknownRouteEntry;

type Kind = LedgerEntry['kind'];
type Of<K extends Kind> = Extract<LedgerEntry, { kind: K }>;

interface RequestFilter {
  method?: string;
  route?: Route;
  param?: string;
  status?: number;
  account?: string;
  keyId?: string;
  connection?: number;
  processed?: boolean;
}

export class Ledger {
  readonly #all: LedgerEntry[] = [];
  readonly #byKind = new Map<Kind, LedgerEntry[]>();
  readonly #recordRequests: boolean;
  #requestCount = 0;

  constructor(recordRequests: boolean) {
    this.#recordRequests = recordRequests;
  }

  append(entry: LedgerEntry): void {
    if (entry.kind === 'request') this.#requestCount += 1;
    if (!this.#recordRequests && (entry.kind === 'request' || entry.kind === 'connection' || entry.kind === 'login')) {
      return;
    }
    this.#all.push(entry);
    const list = this.#byKind.get(entry.kind);
    if (list) list.push(entry);
    else this.#byKind.set(entry.kind, [entry]);
  }

  /** All entries in order; a live view. */
  entries(): readonly LedgerEntry[] {
    return this.#all;
  }

  /** Requests to known routes so far, even if the ledger keeps no entries for them. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** Accepted TCP connections. */
  connections(): readonly ConnectionEntry[] {
    return this.#of('connection');
  }

  logins(filter: { ok?: boolean; keyId?: string } = {}): LoginEntry[] {
    return this.#of('login').filter((entry) => fits(entry, filter));
  }

  requests(filter: RequestFilter = {}): RequestEntry[] {
    return this.#of('request').filter((entry) => fits(entry, filter));
  }

  creates(filter: { account?: string; identifier?: string; serial?: number; task?: TaskNumber } = {}): CreateEntry[] {
    return this.#of('create').filter((entry) => fits(entry, filter));
  }

  taskCompletions(): readonly TaskCompletedEntry[] {
    return this.#of('taskCompleted');
  }

  cancels(filter: { account?: string; identifier?: string; serial?: number } = {}): CancelEntry[] {
    return this.#of('cancel').filter((entry) => fits(entry, filter));
  }

  power(filter: { account?: string; identifier?: string; serial?: number; call?: SwitchCall } = {}): PowerEntry[] {
    return this.#of('power').filter((entry) => fits(entry, filter));
  }

  changes(filter: { account?: string; identifier?: string; serial?: number } = {}): ChangeEntry[] {
    return this.#of('change').filter((entry) => fits(entry, filter));
  }

  get cancelCount(): number {
    return this.#of('cancel').length;
  }

  unknownRoutes(): readonly UnknownRouteEntry[] {
    return this.#of('unknownRoute');
  }

  #of<K extends Kind>(kind: K): Of<K>[] {
    return (this.#byKind.get(kind) ?? []) as Of<K>[];
  }
}

function fits(entry: object, filter: object): boolean {
  const values = entry as Record<string, unknown>;
  const wanted = filter as Record<string, unknown>;
  for (const name in wanted) if (wanted[name] !== undefined && values[name] !== wanted[name]) return false;
  return true;
}
