/** What the rest of the operator sees of the provider: plain data, and one interface with the obligations of each call. */
import type { ProviderErrorCode } from './errors/provider-error.ts';

/** An API key as it stands in the Secret; never logged, never part of an error. */
export interface ApiKey {
  keyId: string;
  secret: string;
}

export interface Product {
  code: string;
  /** `specs.ram`, when the provider gives it; 1024 for 1 GB. */
  ram?: number | undefined;
}
export interface Image {
  name: string;
  description?: string | undefined;
}
/** The provider's lists; `diskSizes` maps a disk type to its permitted sizes (`ssd` is the default type). */
export interface Catalog {
  products: Product[];
  images: Image[];
  diskSizes: Record<string, number[]>;
}

export interface CreateServerRequest {
  product: string;
  image: string;
  /** Text of the SSH public keys, one a line. */
  sshKeys: string;
  diskSize: number;
}

/** What an answer to the create means (design.md, "What an answer to the create means"). */
export type CreateOutcome =
  /** The provider accepted the create. */
  | { kind: 'created'; task: number }
  /** No server came of it, for certain, and the same request may be sent again. */
  | { kind: 'notCreated'; error: ProviderErrorLike }
  /** The provider read the request and refused it. */
  | { kind: 'refused'; status: number; error: ProviderErrorLike }
  /**
   * A server may exist or not: never send the create again without a person's word. `task`: what a success other than
   * 202 named; evidence of a server, but no proof.
   */
  | { kind: 'unknown'; error: ProviderErrorLike; task?: number };

/** `src/provider/errors/`: every error of this room. `message` carries no credential and is at most 512 characters. */
export interface ProviderErrorLike extends Error {
  readonly code: ProviderErrorCode;
  /** How long the provider asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

export type TaskState =
  | { state: 'pending'; identifier?: string | undefined; status?: string | undefined }
  | { state: 'complete'; identifier: string };

/** A server as read; a field that is missing or of a wrong type is left out, only `identifier` is required. */
export interface Server {
  identifier: string;
  name?: string | undefined;
  status?: string | undefined;
  product?: string | undefined;
  price?: number | undefined;
  zone?: { name?: string | undefined; code?: string | undefined } | undefined;
  hostServer?: string | undefined;
  specs?:
    | {
        cores?: number | undefined;
        ram?: number | undefined;
        diskSize?: number | undefined;
        diskType?: string | undefined;
      }
    | undefined;
  ipv4: string[];
  ipv6: string[];
  macs: string[];
  adminConsole?: { hostname: string; username: string } | undefined;
  sshProxy?: { hostname: string; port: number } | undefined;
  /** Only for the connection Secret: no status, log or Event may show `password`. */
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
 * Who goes first when requests have to wait for the token bucket. `high`: orders, cancellations and what they need
 * first. `normal`: task polls and reads that a person waits for. `low`: resync reads.
 */
export type Priority = 'high' | 'normal' | 'low';

/**
 * One API key at the provider. All calls but `createServer` are safe to repeat and throw a ProviderError.
 * Each obtains a token where it has none, renews it in time, and on a 401 logs in once more and repeats the call once.
 */
export interface Session {
  /** Names the base URL and the key ID by their hashes (account.ts compares such names). No secret is part of it. */
  readonly account: string;
  /** The provider has given a token for this key at least once. */
  readonly isAccepted: boolean;
  /** With a token in hand. Throws PROVIDER_INVALID_CREDENTIALS, without a login, until a refused key may be retried. */
  ensureToken(): Promise<void>;
  /** The three lists, from one shared call that answered at most `maxAgeMs` ago. */
  catalog(maxAgeMs: number): Promise<Catalog>;
  /** A fresh read of the products list: the proof that this key and URL are in order. */
  products(): Promise<Product[]>;
  /**
   * Sends the create at most once, save for one repetition after a 401; never throws. `maySend` is asked in the very
   * moment in which a request is written: false leaves it unsent (`notCreated`).
   */
  createServer(request: CreateServerRequest, maySend?: () => boolean): Promise<CreateOutcome>;
  /** Throws PROVIDER_NOT_FOUND when the provider does not know the task. */
  pollTask(task: number): Promise<TaskState>;
  /** Throws PROVIDER_NOT_FOUND when the provider does not know the server. */
  readServer(identifier: string, priority: Priority): Promise<Server>;
  /**
   * Resolves when the provider answered 200. Throws PROVIDER_NOT_FOUND when it does not know the server, and
   * PROVIDER_WITHHELD, without a request, when `maySend`, asked after all waiting, says no.
   */
  deleteServer(identifier: string, maySend?: () => boolean): Promise<void>;
}

/** The provider, for one process: one base URL, one token bucket, one source address. */
export interface Provider {
  /**
   * A session for one tenant (a namespace). Sessions of a key share token and lists; requests that have to wait take
   * turns by tenant.
   */
  session(key: ApiKey, tenant?: string): Session;
  /** Forgets what the sessions of a key share. */
  forget(key: ApiKey): void;
  /** Lets the next call log in with a key that was refused, though no sooner than 5 seconds after its last login. */
  retryLogin(key: ApiKey): void;
  /** `listener` is told of each key that is accepted after it was refused. */
  onRecovered(listener: (key: ApiKey) => void): void;
  close(): Promise<void>;
}
