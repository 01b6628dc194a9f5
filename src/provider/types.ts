/** The provider as the rest of the operator sees it: plain data types, and the contract of each call. */
import type { TaskNumber } from '../base/exact-numbers.ts';
import type { ProviderError } from './error.ts';

/** An API key as stored in the Secret; never logged, never part of an error. */
export interface ApiKey {
  keyId: string;
  secret: string;
}

export interface Product {
  code: string;
  /** `specs.ram`, if the provider reports it; 1024 means 1 GB. */
  ram?: number | undefined;
  /** The billing period, such as `on-demand`, if the provider reports it. */
  period?: string | undefined;
}
export interface Image {
  name: string;
  description?: string | undefined;
}
/** A place where servers can be created. */
export interface Zone {
  code: string;
  description?: string | undefined;
}
/** A server in the list of the account's servers. */
export interface AccountServer {
  identifier: string;
  /** The key of its entry, if that is another identifier. */
  alias?: string | undefined;
  name?: string | undefined;
  product?: string | undefined;
  /** Switched off by force, with its disk and addresses kept (public-service API). */
  isDormant?: boolean;
}
/** How the provider writes a list: an array, or an object keyed by the code or the name. */
export type ListShape = 'Array' | 'Object';

/** The provider's lists; `diskSizes` maps a disk type to its allowed sizes (`ssd` is the default type). */
export interface Catalog {
  products: Product[];
  images: Image[];
  diskSizes: Record<string, number[]>;
  /** Left out for lists that were not read from the provider, such as those of a ServerCatalog. */
  shapes?: { products: ListShape; images: ListShape };
}

/**
 * What the list of prices says, for one server and one billing period, in a unit that the list does not name. The public service
 * means pence a month, says a client.
 */
export interface PriceList {
  /** By product code. */
  products: Readonly<Record<string, number>>;
  /** By disk type: what each begun `extent` GB costs. */
  disks: Readonly<Record<string, { price: number; extent: number }>>;
  /** What an IPv4 address costs. */
  ipv4?: number | undefined;
}

/**
 * The answer to the last read of a list that only some providers have. `Unavailable`: this one has none. `Forbidden`: the API key
 * may not read it. `Unknown`: the read failed in another way. `list` is then that of an earlier read, if there is one.
 */
export interface FurtherRead<T> {
  state: 'Available' | 'Unavailable' | 'Forbidden' | 'Unknown';
  list?: T | undefined;
}

/** The body of an order, with the provider's names of the fields. It is sent unchanged. */
export type OrderBody = Readonly<Record<string, string | number | boolean>>;

/** What a change of a server sends, with the provider's names of the fields. */
export type ChangeBody = Readonly<Record<string, string | number | boolean | Readonly<Record<string, number>>>>;

/** The outcome of an order (docs/concepts/design.md, "What an answer to the order means"). */
export type CreateOutcome =
  /** The provider accepted the order. */
  | { kind: 'created'; task: TaskNumber }
  /** Certainly no server was created; the same request may be sent again. */
  | { kind: 'notCreated'; error: ProviderError }
  /** The provider read the request and refused it. */
  | { kind: 'refused'; status: number; error: ProviderError }
  /**
   * A server may or may not exist: never resend the order without a user's decision. `task` is the task in a 2xx
   * response other than 202; it is evidence of a server, but not proof.
   */
  | { kind: 'unknown'; error: ProviderError; task?: TaskNumber };

/**
 * The outcome of an order under an identifier that the client has chosen. Sending it again is safe: at most one server at a
 * time has the identifier.
 */
export type NamedOutcome =
  | Exclude<CreateOutcome, { kind: 'unknown' }>
  /** The provider has no such call; nothing was created. */
  | { kind: 'notOffered'; error: ProviderError }
  /** The identifier is in use, perhaps by an earlier request of the same order. */
  | { kind: 'inUse'; error: ProviderError }
  /** A server may or may not exist. `isAnswered`: the request is no longer on its way. */
  | { kind: 'unclear'; error: ProviderError; isAnswered: boolean };

/** Which way orders go: `named` under an identifier that the order names, `anonymous` as documented; `auto`: as the provider can. */
export type OrderWay = 'auto' | 'named' | 'anonymous';

/** Which way an account's next order goes, if that is known. */
export type OrdersGo =
  | 'named'
  | 'anonymous'
  /** Anonymous, because the provider has refused an order under an identifier, although it lists servers. */
  | 'refused'
  /** The list of servers has not told yet. Orders wait until it does. */
  | 'unknown';

/** `before`: undefined if nothing was told yet. */
export type OrdersTold = (now: OrdersGo, before: OrdersGo | undefined) => void;

/** `shutdown` asks the system of the server to shut down; `power-off` switches the server off by force. */
export type PowerAction = 'power-on' | 'power-off' | 'shutdown';

/** A dormant server is off and keeps its disk and addresses. The product is needed to wake the server. */
export type DormantChange = { dormant: true } | { dormant: false; product: string };

/** The answer to a call that the specification does not have. Whatever was accepted, only a read shows what came of it. */
export type FurtherAnswer = 'accepted' | 'notOffered';

export type TaskState =
  | { state: 'pending'; identifier?: string | undefined; status?: string | undefined }
  | { state: 'complete'; identifier: string };

/** A server as read. Only `identifier` is required; missing fields and fields of a wrong type are left out. */
export interface Server {
  identifier: string;
  name?: string | undefined;
  status?: string | undefined;
  /** Switched off, with its disk and addresses kept (public-service API). */
  isDormant?: boolean;
  product?: string | undefined;
  price?: number | undefined;
  /** For which the server is billed, such as `on-demand`, `month` or `year` (public-service API). */
  period?: string | undefined;
  zone?: { name?: string | undefined; code?: string | undefined } | undefined;
  hostServer?: string | undefined;
  specs?:
    | {
        cores?: number | undefined;
        ram?: number | undefined;
        diskSize?: number | undefined;
        diskType?: string | undefined;
        extraCores?: number | undefined;
        /** In MB. */
        extraMemory?: number | undefined;
      }
    | undefined;
  cpuMode?: string | undefined;
  netDevice?: string | undefined;
  diskBus?: string | undefined;
  tablet?: boolean | undefined;
  /** A resize that waits for a restart: what the server has after it (public-service API). */
  resize?: { cores?: number | undefined; ram?: number | undefined; diskSize?: number | undefined } | undefined;
  ipv4: string[];
  ipv6: string[];
  macs: string[];
  adminConsole?: { hostname: string; username: string } | undefined;
  sshProxy?: { hostname: string; port: number } | undefined;
  /** Only for the connection Secret; `password` must not appear in a status, log or Event. */
  vnc?:
    | {
        mode?: string | undefined;
        password?: string | undefined;
        display?: number | undefined;
        port?: number | undefined;
        ipv4?: string | undefined;
        ipv6?: string | undefined;
      }
    | undefined;
}

/**
 * Which requests go first when they have to wait for the token bucket: what is begun is finished first. `high`:
 * cancellations, first reads of a server, and the lists. `normal`: task polls. `low`: orders. `lowest`: resync reads.
 */
export type Priority = 'high' | 'normal' | 'low' | 'lowest';

/** An order that can be sent without a wait, for some seconds. */
export interface OpenOrder {
  /**
   * Sends the order at most once, except for one retry after a 401. Throws only what `sending` and `unsent` reject with.
   * Call it once.
   */
  send(body: OrderBody, gate: OrderGate): Promise<CreateOutcome>;
  close(): void;
}

/** What the sender of an order has to do and to allow. */
export interface OrderGate {
  /** Called in the tick that writes a request: if it returns false, the request is not sent (`notCreated`). */
  maySend: () => boolean;
  /** Must resolve before a request is written; the request follows at once. */
  sending: () => Promise<void>;
  /** The provider has refused the token of the request, so the request created nothing; a second one may follow. */
  unsent: () => Promise<void>;
}

/**
 * The calls of one tenant (a namespace) with one API key. All except orders are safe to repeat and throw a ProviderError.
 * Each call obtains or renews the token if needed; after a 401 it logs in again and retries once.
 */
export interface Session {
  /** The name of the account. */
  readonly account: string;
  /**
   * The same session, whose errors and texts quote nothing of `secret`: what an order sends, the provider may repeat. Undefined:
   * the secret is not known, so they quote nothing of the provider.
   */
  hiding(secret: string | undefined): Session;
  /** Resolves once there is a token. Throws PROVIDER_INVALID_CREDENTIALS until a refused key may log in again. */
  ensureToken(): Promise<void>;
  /** The three lists, from a shared read that is at most `maxAgeMs` old. */
  catalog(maxAgeMs: number): Promise<Catalog>;
  /**
   * The zones, from a shared read that is at most `maxAgeMs` old. Does not throw: nothing depends on this list, so no failure of it
   * may hold up anything.
   */
  zones(maxAgeMs: number): Promise<FurtherRead<Zone[]>>;
  /** The same for the names of the hosts of a private cloud. */
  hosts(maxAgeMs: number): Promise<FurtherRead<string[]>>;
  /** The same for the list of prices. */
  prices(maxAgeMs: number): Promise<FurtherRead<PriceList>>;
  /** A fresh read of the products list, which proves that the key and the URL work. */
  products(): Promise<Product[]>;
  /**
   * The identifiers of the account's servers, as keys of a map (base/identifier.ts); undefined if the provider has no such
   * list, as documented. Throws PROVIDER_FORBIDDEN if the key may not list servers, and PROVIDER_PROTOCOL if the provider denies
   * a list that it has shown before.
   */
  servers(): Promise<ReadonlySet<string> | undefined>;
  /** The same list, with what it says of each server, from a shared read that was sent at most `maxAgeMs` ago, or is under way. */
  listedServers(maxAgeMs: number): Promise<AccountServer[] | undefined>;
  /**
   * Finds out from time to time whether the list of servers has those whose task runs. `runs`: whether the task of this server still does.
   * Ignores errors of the provider.
   */
  learnListing(identifier: string, runs: () => Promise<boolean>): Promise<void>;
  /**
   * Whether orders are sent under an identifier that they name. With `auto`, an account with a list of servers takes
   * them. Throws ProviderError as long as the provider has not said whether it has one.
   */
  ordersNamed(): Promise<boolean>;
  /** What is known of that, without a call. */
  ordersGo(): OrdersGo;
  /**
   * Orders a server under this identifier. Calls `maySend` right before a request is written: if it returns false, nothing is
   * sent (`notCreated`). Does not throw.
   */
  orderNamed(identifier: string, body: OrderBody, maySend: () => boolean): Promise<NamedOutcome>;
  /** True once the provider has answered with a list of servers, or one page of it. */
  listsServers(): boolean;
  /** False for ten minutes after one page of the list, too: reading it again is in vain. */
  listsAll(): boolean;
  /** True if the list of servers was last seen to have a server whose task runs. */
  listsCreating(): boolean;
  /**
   * Waits for all that an order has to wait for: its turn, a token and a separate connection. Throws ProviderError;
   * nothing was sent then. Close what it resolves with.
   */
  openOrder(): Promise<OpenOrder>;
  /** Throws PROVIDER_NOT_FOUND if the provider does not know the task. */
  pollTask(task: TaskNumber): Promise<TaskState>;
  /** Throws PROVIDER_NOT_FOUND if the provider does not know the server. */
  readServer(identifier: string, priority: Priority): Promise<Server>;
  /**
   * Switches the server on or off. `maySend`, here and in the next two calls: as for `deleteServer`. They throw
   * PROVIDER_NOT_FOUND if the provider does not know the server.
   */
  setPower(identifier: string, power: PowerAction, maySend?: () => boolean): Promise<FurtherAnswer>;
  /** Restarts a running server. */
  reboot(identifier: string, maySend?: () => boolean): Promise<FurtherAnswer>;
  /** Makes the server dormant, which switches it off by force, or wakes it. */
  setDormant(identifier: string, change: DormantChange, maySend?: () => boolean): Promise<FurtherAnswer>;
  /** Changes a server; as for `setPower`. Safe to repeat. */
  changeServer(identifier: string, body: ChangeBody, maySend?: () => boolean): Promise<FurtherAnswer>;
  /**
   * Asks to cancel a server; resolves with the message of the documented answer, which alone proves nothing. Throws
   * PROVIDER_PROTOCOL for any other 200, PROVIDER_NOT_FOUND if the provider does not know the server, and
   * PROVIDER_WITHHELD without a request if `maySend`, called after all waiting, returns false.
   */
  deleteServer(identifier: string, maySend?: () => boolean): Promise<string>;
}

/** One API key at the provider: the token, the lists, and whether the provider refuses the key. */
export interface Account {
  /** Hashes of the base URL and the key ID, without any secret (virtual-server/decision/identity.ts compares them). */
  readonly name: string;
  /** True once the provider has issued a token for this key. */
  isAccepted(): boolean;
  /** True if the provider refused the key at the last login, or else a token that it had just issued. */
  isRefused(): boolean;
  /** How often the provider has accepted the key after refusing it. */
  recoveries(): number;
  /** Lets the next call log in with a refused key, but no sooner than 5 seconds after its last login. */
  retryLogin(): void;
  hasKey(key: ApiKey): boolean;
  ordersGo(): OrdersGo;
  /** Tenants take turns when requests have to wait. */
  session(tenant: string): Session;
}

/** The provider client of one process: one base URL, one token bucket, one source address. */
export interface Provider {
  /** A new account, which shares no token with other accounts of the same key. `told` is called when `ordersGo` changes. */
  account(key: ApiKey, told?: OrdersTold): Account;
  close(): Promise<void>;
}
