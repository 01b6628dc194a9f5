/** Options of a simulator, and their defaults. */
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import type { WorldOptions, WorldSettings } from './world-options.ts';
import { resolveWorld } from './world-options.ts';

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
}

export interface SimulatedImage {
  name: string;
  description: string;
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
  /** Permitted sizes by disk type. */
  diskSizes?: Record<string, number[]>;
  /** From the 202 to the 303, in milliseconds; 60,000 by default. With Infinity, tasks never end. */
  taskDurationMs?: number;
  /** The text of a running task; by default the two forms in the documentation. */
  taskStatus?: (elapsedMs: number, durationMs: number) => string;
  /** `expires_in`, a whole number of seconds; 300 by default. */
  tokenLifetimeSeconds?: number;
  /** Start of a token's lifetime: its last use (`sliding`, the default) or its `issue`. */
  tokenExpiry?: TokenExpiry;
  /** Bodies of 4xx and 5xx answers of the provisioning API, which the documentation omits; `json` by default. */
  errorBodies?: ErrorBodies;
  /** Status of a refused login, 4xx by the documentation; 401 by default. */
  loginFailureStatus?: number;
  /** Answer to a GET of a server with an unfinished task (not documented); 404 by default. */
  readDuringTask?: 200 | 404;
  /** Answer to a DELETE of a server with an unfinished task (not documented); 404 by default. 200 cancels both. */
  deleteDuringTask?: 200 | 404 | 409;
  /** Generators; by default counters, so a run is repeatable. They must never return an identifier twice. */
  newIdentifier?: () => string;
  newToken?: () => string;
  /** Number of the first task; 1001 by default. */
  firstTask?: number;
  /** At most `requests` per account in each window of `perMs`; more get 429 with Retry-After. No limit by default. */
  rateLimit?: { requests: number; perMs: number };
  /** False: the ledger counts requests without keeping an entry for each, for processes that run for days. */
  recordRequests?: boolean;
  /** True: `close()` ignores requests to unknown routes. */
  allowUnknownRoutes?: boolean;
}

export type TokenExpiry = 'sliding' | 'issue';
export type ErrorBodies = 'json' | 'empty' | 'html' | 'text';
export type Settings = Omit<Required<SimulationOptions>, 'rateLimit' | keyof WorldOptions> &
  Pick<SimulationOptions, 'rateLimit'> &
  WorldSettings;

export const DEFAULT_KEY: Key = { keyId: 'simulated-key', secret: 'simulated-secret' };

const PRODUCTS: SimulatedProduct[] = [
  { code: 'vps-1gb', ram: 1024, cores: 1, price: 4.5 },
  { code: 'vps-2gb', ram: 2048, cores: 2, price: 8.25 },
  { code: 'vps-4gb', ram: 4096, cores: 2, price: 15.75 },
  { code: 'vps-8gb', ram: 8192, cores: 4, price: 29 },
];

const IMAGES: SimulatedImage[] = [
  { name: 'debian-13.qcow2/minimal', description: 'Debian 13, minimal' },
  { name: 'debian-13.qcow2/docker', description: 'Debian 13 with Docker' },
  { name: 'ubuntu-24.04.qcow2/minimal', description: 'Ubuntu 24.04 LTS, minimal' },
];

/** "Forms seen: a wait for DNS and DHCP updates with the seconds remaining, and an OS installation with a percent complete." */
function defaultTaskStatus(elapsedMs: number, durationMs: number): string {
  if (!Number.isFinite(durationMs)) return 'Installing OS, 99% complete';
  const waitMs = durationMs / 3;
  if (elapsedMs < waitMs) {
    const seconds = Math.ceil((waitMs - elapsedMs) / 1000);
    return `Waiting for DNS and DHCP updates, ${seconds} seconds remaining`;
  }
  const percent = Math.min(99, Math.floor((100 * (elapsedMs - waitMs)) / (durationMs - waitMs)));
  return `Installing OS, ${percent}% complete`;
}

function counter(prefix: string, first: number): () => string {
  let next = first;
  return () => `${prefix}${next++}`;
}

export function resolveOptions(options: SimulationOptions): Settings {
  return {
    clock: systemClock,
    origin: 'http://simulator.invalid',
    basePrefix: '',
    authPrefix: '/auth',
    accounts: [{ name: 'default', keys: [DEFAULT_KEY] }],
    products: PRODUCTS,
    images: IMAGES,
    diskSizes: { ssd: [10, 20, 40, 80] },
    taskDurationMs: 60_000,
    taskStatus: defaultTaskStatus,
    tokenLifetimeSeconds: 300,
    tokenExpiry: 'sliding',
    errorBodies: 'json',
    loginFailureStatus: 401,
    readDuringTask: 404,
    deleteDuringTask: 404,
    newIdentifier: counter('vs', 1001),
    newToken: counter('simulated-token-', 1),
    firstTask: 1001,
    recordRequests: true,
    allowUnknownRoutes: false,
    ...options,
    ...resolveWorld(options),
  };
}
