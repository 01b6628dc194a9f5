/** Settings of a simulator and their defaults. What can change at run time, or by a flag, has a schema. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import {
  API_NAMES,
  DEFAULT_VARIANTS,
  msOrForever,
  variantsSchema,
  type ApiName,
  type VariantOptions,
} from './variants.ts';

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds; used by faults that delay answers. */
  sleep(ms: number): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Unreferenced: an answer delayed by an hour must not keep a finished test process alive.
  sleep: (ms) => wait(ms, undefined, { ref: false }),
};

const lagMs = msOrForever.exactOptional();

/** The addresses that every server shows with `zero-macs`, `same-macs` and `link-local`. */
export const ZERO_MAC = '00:00:00:00:00:00';
export const SAME_MAC = '52:54:ff:ff:ff:ff';
export const LINK_LOCAL = 'fe80::1';

/** Promises which the documentation only implies, and ways to break them; by default the simulator keeps them. */
export const worldSchema = z.strictObject({
  api: z.enum(API_NAMES).describe('the API as the specification describes it, or as public sources do'),
  variants: variantsSchema,
  /** How long reads lag behind. Effects are immediate: `aliveServers()` and creates do not lag. */
  lag: z.strictObject({
    taskMs: lagMs.describe('a GET of a task is denied for this long after the create was answered'),
    serverMs: lagMs.describe(
      'a GET of a server is denied for this long after its task has finished; a DELETE finds the server',
    ),
    cancelMs: lagMs.describe('GET and list show a server for this long after its DELETE was answered with 200'),
    cancelAgain: z
      .literal([200, 404])
      .exactOptional()
      .describe('answer to another DELETE during cancelMs; it cancels nothing; 404 is a denial, with whichever status'),
    listMs: lagMs.describe('the list of servers lacks a server for this long after its create was answered'),
  }),
  cancelTakesMs: msOrForever.describe(
    'a server lives on, and costs money, for this long after its first DELETE was answered with 200',
  ),
  /** Counters of the other numbering keep their values. */
  taskNumbering: z.enum(['global', 'account']).describe('number tasks across all accounts, or per account'),
  /**
   * `as-is`: lookups are case-sensitive, and answers show identifiers as assigned. In all other modes, lookups ignore the
   * case: `ignored` answers as assigned, `echo` repeats the spelling of the request in reads of a server,
   * `upper-in-server` shows upper case in the server and lower case in its task, `upper-in-task` the reverse.
   */
  identifierCase: z
    .enum(['as-is', 'ignored', 'echo', 'upper-in-server', 'upper-in-task'])
    .describe('which spellings of an identifier are equal, and which one answers show'),
  identifierFrom: z
    .enum(['start', 'end'])
    .describe('tasks show the identifier from their start, as documented, or only at their end, in the 303'),
  /**
   * `no-macs` empties `macs`, `none` also empties `ipv6`. With the others, every server shows the same: `zero-macs` a
   * hardware address of zeros, `same-macs` one that looks valid, `link-local` a link-local IPv6 address and no hardware
   * address.
   */
  addresses: z
    .enum(['all', 'no-macs', 'none', 'zero-macs', 'same-macs', 'link-local'])
    .describe('which addresses reads of a new server show; zero-macs, same-macs and link-local are equal for all'),
  /** The answer to an accepted create. */
  createAnswer: z.strictObject({
    status: z.literal([200, 201, 202]).exactOptional().describe('status of an accepted create'),
    body: z.boolean().exactOptional().describe('whether the body names the task'),
    location: z.boolean().exactOptional(),
  }),
});

type World = z.infer<typeof worldSchema>;
export type WorldOptions = Partial<World>;
export type WorldSettings = { [Name in keyof World]: World[Name] extends object ? Required<World[Name]> : World[Name] };
export type Lag = World['lag'];
export type CreateAnswer = World['createAnswer'];
export type TaskNumbering = World['taskNumbering'];
export type IdentifierCase = World['identifierCase'];
export type IdentifierFrom = World['identifierFrom'];
export type Addresses = World['addresses'];

/** As documented: no lag, one counter, one spelling. */
const HONEST: Omit<WorldSettings, 'variants'> = {
  api: 'documented',
  cancelTakesMs: 0,
  taskNumbering: 'global',
  identifierCase: 'as-is',
  identifierFrom: 'start',
  addresses: 'all',
  lag: { taskMs: 0, serverMs: 0, cancelMs: 0, cancelAgain: 404, listMs: 0 },
  createAnswer: { status: 202, body: true, location: true },
};

/** Start of a token's lifetime: its last use (`sliding`) or its `issue`. */
export const tokenExpirySchema = z
  .enum(['sliding', 'issue'])
  .describe('start of the lifetime of a token: its last use, or its issue');
type TokenExpiry = z.infer<typeof tokenExpirySchema>;

export interface Key {
  keyId: string;
  secret: string;
}

export interface AccountOptions {
  name: string;
  keys: Key[];
}

export interface SimulatedProduct {
  code: string;
  /** As in `specs.ram`: 1024 for 1 GB. */
  ram: number;
  /** Cores and price of a server of this product; the products endpoint omits them. */
  cores: number;
  price: number;
  /** What one unit of the disk adds to the price; 0 by default. */
  diskPrice?: number;
  /** What an IPv4 address adds to the price; 0 by default. */
  ipv4Price?: number;
  /** Shown by the public API. */
  name?: string;
  description?: string;
  family?: string;
}

export interface SimulatedImage {
  name: string;
  description: string;
}

export interface SimulatedZone {
  code: string;
  name: string;
  /** Codes of the zones that contain it. */
  parents: string[];
}

export interface SimulationOptions extends WorldOptions {
  clock?: Clock;
  /** Scheme, host and port in Location headers and URLs; the socket server sets it once it knows its port. */
  origin?: string;
  /** Path prefix of the provisioning API, such as `/prefix`; '' by default. */
  basePrefix?: string;
  /** Path prefix of the authentication API; `/auth` by default. */
  authPrefix?: string;
  /** By default one account, `default`, with one key. Names and key IDs must be unique. */
  accounts?: AccountOptions[];
  products?: SimulatedProduct[];
  images?: SimulatedImage[];
  /** Where servers can be created; listed only by the public API. */
  zones?: SimulatedZone[];
  /** Names of the machines of a private cloud; listed only by the public API. */
  hosts?: string[];
  /** Permitted sizes by disk type. */
  diskSizes?: Record<string, number[]>;
  /** From the 202 to the 303, in milliseconds; 60,000 by default. With Infinity, tasks never end. */
  taskDurationMs?: number;
  /** The text of a running task; by default the forms that the API shows. */
  taskStatus?: (elapsedMs: number, durationMs: number) => string;
  /** `expires_in`, a whole number of seconds; 300 by default. */
  tokenLifetimeSeconds?: number;
  /** `sliding` by default. */
  tokenExpiry?: TokenExpiry;
  /** Bodies of 4xx and 5xx answers of the provisioning API, which the documentation omits; by default JSON. */
  errorBodies?: ErrorBodies;
  /** Status of a refused login, 4xx by the documentation; 401 by default. */
  loginFailureStatus?: number;
  /** Generators; by default counters, so a run is repeatable. They must never return an identifier twice. */
  newIdentifier?: () => string;
  newToken?: () => string;
  /** Number of the first task, which may be beyond 2^53; 1001 by default. */
  firstTask?: number | bigint;
  /** At most `requests` per account in each window of `perMs`; more get 429 with Retry-After. No limit by default. */
  rateLimit?: { requests: number; perMs: number };
  /** False: the ledger counts requests without keeping an entry for each, for processes that run for days. */
  recordRequests?: boolean;
  /** True: `close()` ignores requests to unknown routes. */
  allowUnknownRoutes?: boolean;
}

export type ErrorBodies = 'json' | 'empty' | 'html' | 'text';
export type Settings = Omit<Required<SimulationOptions>, 'rateLimit' | 'taskStatus' | keyof WorldOptions> &
  Pick<SimulationOptions, 'rateLimit' | 'taskStatus'> &
  WorldSettings & {
    /** The variants that were chosen; for the others, the API decides. */
    chosenVariants: VariantOptions;
  };

export const DEFAULT_KEY: Key = { keyId: 'simulated-key', secret: 'simulated-secret' };

/** Codes, memory and cores as at the public service of Mythic Beasts; of the prices, in pence, only the first is documented. */
const PRODUCTS: SimulatedProduct[] = [
  { code: 'VPSX4', ram: 1024, cores: 1, price: 1018 },
  { code: 'VPSX8', ram: 2048, cores: 1, price: 1631 },
  { code: 'VPSX16', ram: 4096, cores: 2, price: 2857 },
  { code: 'VPSX32', ram: 8192, cores: 2, price: 5309 },
];

/** Names as at the public service, and one of the documented form. */
const IMAGES: SimulatedImage[] = [
  { name: 'cloudinit-debian-trixie.raw.gz', description: 'Debian 13 (trixie)' },
  { name: 'cloudinit-ubuntu-noble.raw.gz', description: 'Ubuntu 24.04 LTS (noble)' },
  { name: 'debian-13.qcow2/docker', description: 'Debian 13 with Docker' },
];

/** Codes as at the public service. */
const ZONES: SimulatedZone[] = [
  { code: 'uk', name: 'United Kingdom', parents: [] },
  { code: 'lon', name: 'London', parents: ['uk'] },
  { code: 'cam', name: 'Cambridge', parents: ['uk'] },
];

/** Those that newServerObject names. */
const HOSTS = Array.from({ length: 7 }, (_, index) => `host${index + 1}`);

function counter(prefix: string, first: number): () => string {
  let next = first;
  return () => `${prefix}${next++}`;
}

/** Changes the API or the variants, or both; variants that were never chosen follow the API. */
export function changeAnswers(
  settings: Settings,
  { api = settings.api, variants = {} }: { api?: ApiName; variants?: VariantOptions },
): void {
  settings.api = api;
  settings.chosenVariants = { ...settings.chosenVariants, ...variants };
  settings.variants = { ...DEFAULT_VARIANTS[api], ...settings.chosenVariants };
}

export function resolveOptions(options: SimulationOptions): Settings {
  const { api = HONEST.api, variants: chosenVariants = {} } = options;
  return {
    ...HONEST,
    clock: systemClock,
    origin: 'http://simulator.invalid',
    basePrefix: '',
    authPrefix: '/auth',
    accounts: [{ name: 'default', keys: [DEFAULT_KEY] }],
    products: PRODUCTS,
    images: IMAGES,
    zones: ZONES,
    hosts: HOSTS,
    diskSizes: { ssd: [5120, 10240, 20480, 40960], hdd: [20480, 40960, 81920, 163840] },
    taskDurationMs: 60_000,
    tokenLifetimeSeconds: 300,
    tokenExpiry: 'sliding',
    errorBodies: 'json',
    loginFailureStatus: 401,
    newIdentifier: counter('vs', 1001),
    newToken: counter('simulated-token-', 1),
    firstTask: 1001,
    recordRequests: true,
    allowUnknownRoutes: false,
    ...options,
    chosenVariants,
    variants: { ...DEFAULT_VARIANTS[api], ...chosenVariants },
    lag: { ...HONEST.lag, ...options.lag },
    createAnswer: { ...HONEST.createAnswer, ...options.createAnswer },
  };
}
