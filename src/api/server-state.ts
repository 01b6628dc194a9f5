/** What a VirtualServer says about itself, for every kind of object that asks. Pure. */
import { FINALIZER, PAUSED_ANNOTATION } from './names.ts';
import { mirrorIn } from './record.ts';
import type { VirtualServer } from './virtual-server.ts';

/** Annotations such as `paused` count with any value but `false`. */
export function isAnnotated({ metadata: { annotations } }: Pick<VirtualServer, 'metadata'>, name: string): boolean {
  const value = annotations?.[name];
  return value !== undefined && value !== 'false';
}

export function isPaused(object: VirtualServer): boolean {
  return isAnnotated(object, PAUSED_ANNOTATION);
}

/** True if the operator is done with the object and its server, and only other finalizers keep the object. */
export function isLetGo({ metadata }: VirtualServer): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FINALIZER) !== true;
}

/** Which servers an object is about, for questions about servers that no object holds. */
export interface ServerClaims {
  namespace: string;
  name: string;
  /** Identifiers. */
  holds: readonly string[];
  mayHold: readonly string[];
  /** Since when it may hold a server whose identifier is not known; empty: since ever. */
  orderedAt?: string | undefined;
}

/** `status` is the provider's own word. */
export const isRunning = (status: string | undefined): boolean => status?.trim().toLowerCase() === 'running';

/** `unknown`: some other word, which tells nothing about what the server will do. */
export type PowerState = 'on' | 'off' | 'dormant' | 'starting' | 'stopping' | 'unknown';

/** The words that public sources show, and those that other providers use for the same. */
const POWER_STATES: Readonly<Record<string, PowerState>> = {
  running: 'on',
  'shut down': 'off',
  'shut off': 'off',
  'powered off': 'off',
  shutdown: 'off',
  shutoff: 'off',
  stopped: 'off',
  off: 'off',
  paused: 'starting',
  starting: 'starting',
  booting: 'starting',
  'powering on': 'starting',
  'shutting down': 'stopping',
  stopping: 'stopping',
  'powering off': 'stopping',
};

/** `status` is the provider's own word. */
export function powerStateOf(status: string | undefined, isDormant?: boolean): PowerState {
  if (isDormant === true) return 'dormant';
  const words = (status ?? '')
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, ' ');
  return Object.hasOwn(POWER_STATES, words) ? (POWER_STATES[words] ?? 'unknown') : 'unknown';
}

/** True if the server is off because the object asks for that. */
export function isOffOnPurpose(object: VirtualServer): boolean {
  const { spec, status } = object;
  const isWanted = spec.power === 'Off' || spec.power === 'Dormant';
  return isWanted && powerStateOf(status?.serverStatus) === 'off' && hasReadServer(object);
}

/** True if the server runs now. */
export function hasRunningServer(object: VirtualServer): boolean {
  return isRunning(object.status?.serverStatus) && hasReadServer(object);
}

/** True if the server counts for what servers cost: one that is off on purpose costs money too. */
export const isPaidFor = (object: VirtualServer): boolean => hasRunningServer(object) || isOffOnPurpose(object);

/** True if status shows the current server, running or not. The status of a server that is missing shows its last state. */
export function hasReadServer(object: VirtualServer): boolean {
  const { status } = object;
  return status?.serverStatus !== undefined && mirrorIn(status)?.missingAt === undefined && !isLetGo(object);
}
