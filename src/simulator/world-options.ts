/** Options that break promises which the documentation only implies; by default the simulator keeps them. */

/** How long reads lag behind. Effects are immediate: `aliveServers()` and creates do not lag. */
export interface Lag {
  /** GET of a task answers 404 for this long after the create was answered. */
  taskMs: number;
  /** GET of a server answers 404 for this long after its task completed; a DELETE finds the server. */
  serverMs: number;
  /** GET of a server answers 200 for this long after its DELETE was answered with 200. */
  cancelMs: number;
  /** Answer to another DELETE during `cancelMs`; it cancels nothing. */
  cancelAgain: 200 | 404;
}

/** Whether task numbers count across all accounts or per account. */
export type TaskNumbering = (typeof TASK_NUMBERINGS)[number];
export const TASK_NUMBERINGS = ['global', 'account'] as const;

/**
 * `as-is`: lookups are case-sensitive, and answers show identifiers as assigned. In all other modes, lookups ignore the
 * case: `ignored` answers as assigned, `echo` repeats the spelling of the request in reads of a server,
 * `upper-in-server` shows upper case in the server and lower case in its task, `upper-in-task` the reverse.
 */
export type IdentifierCase = (typeof IDENTIFIER_CASES)[number];
export const IDENTIFIER_CASES = ['as-is', 'ignored', 'echo', 'upper-in-server', 'upper-in-task'] as const;

/** Whether a task shows the identifier from its `start`, as documented, or only at its `end`, in the 303. */
export type IdentifierFrom = (typeof IDENTIFIER_FROM)[number];
export const IDENTIFIER_FROM = ['start', 'end'] as const;

/**
 * Which addresses reads of a server show: `no-macs` empties `macs`, `none` also empties `ipv6`. With the others, every
 * server shows the same: `zero-macs` a hardware address of zeros, `same-macs` one that looks valid, `link-local` a
 * link-local IPv6 address and no hardware address.
 */
export type Addresses = (typeof ADDRESSES)[number];
export const ADDRESSES = ['all', 'no-macs', 'none', 'zero-macs', 'same-macs', 'link-local'] as const;

/** The addresses that every server shows with `zero-macs`, `same-macs` and `link-local`. */
export const ZERO_MAC = '00:00:00:00:00:00';
export const SAME_MAC = '52:54:ff:ff:ff:ff';
export const LINK_LOCAL = 'fe80::1';

/** The answer to an accepted create. */
export interface CreateAnswer {
  status: 200 | 201 | 202;
  /** Whether the body names the task. */
  body: boolean;
  location: boolean;
}

export interface WorldOptions {
  lag?: Partial<Lag>;
  taskNumbering?: TaskNumbering;
  identifierCase?: IdentifierCase;
  identifierFrom?: IdentifierFrom;
  /** For new servers. */
  addresses?: Addresses;
  createAnswer?: Partial<CreateAnswer>;
}

export interface WorldSettings extends Required<Omit<WorldOptions, 'lag' | 'createAnswer'>> {
  lag: Lag;
  createAnswer: CreateAnswer;
}

/** As documented: no lag, one counter, one spelling. */
export function resolveWorld(options: WorldOptions): WorldSettings {
  return {
    taskNumbering: options.taskNumbering ?? 'global',
    identifierCase: options.identifierCase ?? 'as-is',
    identifierFrom: options.identifierFrom ?? 'start',
    addresses: options.addresses ?? 'all',
    lag: { taskMs: 0, serverMs: 0, cancelMs: 0, cancelAgain: 404, ...options.lag },
    createAnswer: { status: 202, body: true, location: true, ...options.createAnswer },
  };
}
