/** Promises that the documentation only seems to make, and that the simulator can break; by default it keeps them. */

/** Reads that lag behind what happened. The effects are immediate: `aliveServers()` and creates know no lag. */
export interface Lag {
  /** GET of a task answers 404 for so long after the create was answered. */
  taskMs: number;
  /** GET of a server answers 404 for so long after its task was completed; a DELETE finds the server. */
  serverMs: number;
  /** GET of a server answers 200 for so long after its DELETE was answered with 200. */
  cancelMs: number;
  /** What a further DELETE answers during `cancelMs`; nothing is cancelled twice. */
  cancelAgain: 200 | 404;
}

/** Whether task numbers count over all accounts, or in each account separately. */
export type TaskNumbering = (typeof TASK_NUMBERINGS)[number];
export const TASK_NUMBERINGS = ['global', 'account'] as const;

/**
 * `as-is`: lookups heed the case, and answers show identifiers as they were given out. With every other one lookups
 * ignore the case: `ignored` answers as given out, `echo` reads of a server repeat the spelling of the request,
 * `upper-in-server` shows upper case in the server and lower case in its task, `upper-in-task` the reverse.
 */
export type IdentifierCase = (typeof IDENTIFIER_CASES)[number];
export const IDENTIFIER_CASES = ['as-is', 'ignored', 'echo', 'upper-in-server', 'upper-in-task'] as const;

/** Whether a task shows the identifier from its `start`, as documented, or only at its `end`, with the 303. */
export type IdentifierFrom = (typeof IDENTIFIER_FROM)[number];
export const IDENTIFIER_FROM = ['start', 'end'] as const;

/** The hardware and network addresses that reads of a server show: `none` empties `macs` and `ipv6`. */
export type Addresses = (typeof ADDRESSES)[number];
export const ADDRESSES = ['all', 'no-macs', 'none'] as const;

/** How an accepted create is answered. */
export interface CreateAnswer {
  status: 200 | 201 | 202;
  /** Whether the body has the task. */
  body: boolean;
  location: boolean;
}

export interface WorldOptions {
  lag?: Partial<Lag>;
  taskNumbering?: TaskNumbering;
  identifierCase?: IdentifierCase;
  identifierFrom?: IdentifierFrom;
  /** Of servers that are created from now on. */
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
