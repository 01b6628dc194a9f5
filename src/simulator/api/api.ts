/** What the two APIs spell in different ways; the endpoints ask for it, and decide everything else. */
import type { ServerObject } from '../server-object.ts';
import type { SwitchCall } from '../ledger.ts';
import type { Further } from './further-fields.ts';
import type { Settings, SimulatedImage, SimulatedProduct, SimulatedZone } from '../settings.ts';

type Catalog = Pick<Settings, 'products' | 'images' | 'diskSizes' | 'zones' | 'hosts' | 'variants'>;

export interface Api {
  /** The body of an error. */
  error(text: string): object;
  /** The text of a 403 for a key that lacks the right. */
  notAuthorized: string;
  /** The text that denies a server or task. */
  denial(status: 403 | 404, what: 'server' | 'task'): string;
  /** The message of an accepted DELETE. */
  cancelled: string;
  taskStatus: (elapsedMs: number, durationMs: number) => string;
  products(products: SimulatedProduct[]): unknown;
  images(images: SimulatedImage[]): unknown;
  diskSizes(sizes: Record<string, number[]>): Record<string, number[]>;
  /** Undefined if there is no list of zones. */
  zones: ((zones: SimulatedZone[]) => unknown) | undefined;
  /** Undefined if there is no list of hosts. */
  hosts: ((names: string[]) => unknown) | undefined;
  /** `factor`: what the list shows for each part of what a server costs. Undefined if there is no list of prices. */
  prices: ((products: SimulatedProduct[], factor: number) => unknown) | undefined;
  server(server: ServerObject, products: SimulatedProduct[]): Pick<ServerObject, 'period'>;
  /** What a valid order asks for, or the text of the 400. */
  readOrder(body: Readonly<Record<string, unknown>>, catalog: Catalog): OrderRequest | string;
  /** The messages of accepted calls about power; undefined if there are no such calls. */
  power: Readonly<Record<SwitchCall, string>> | undefined;
  /** What a valid change asks for, or the text of the 400. Undefined if no server can be changed. */
  readChange:
    ((body: Readonly<Record<string, unknown>>, products: SimulatedProduct[]) => ChangeRequest | string) | undefined;
  /** Undefined if there is no list of servers, and no order for an identifier. */
  named: NamedServers | undefined;
}

interface NamedServers {
  list(servers: ServerObject[], products: SimulatedProduct[]): object;
  /** Whether a client may choose this identifier. */
  isIdentifier(text: string): boolean;
}

/** What a change asks for. */
export interface ChangeRequest {
  product?: SimulatedProduct | undefined;
  diskSize?: number | undefined;
  extraCores?: number | undefined;
  extraMemory?: number | undefined;
  name?: string | null | undefined;
  cpu_mode?: string | undefined;
  net_device?: string | undefined;
  disk_bus?: string | undefined;
  tablet?: boolean | undefined;
  /** It asks for something that the server must be off for. */
  needsOff: boolean;
}

export interface OrderRequest extends Further {
  product: SimulatedProduct;
  diskSize: number;
}

/** A 403 in place of a 404 has the same text in both APIs: only one was ever seen. */
export const NOT_THERE = 'Server does not exist or access denied';

/** "Forms seen: a wait for DNS and DHCP updates with the seconds remaining, and an OS installation with a percent complete." */
export function documentedTaskStatus(elapsedMs: number, durationMs: number): string {
  if (!Number.isFinite(durationMs)) return 'Installing OS, 99% complete';
  const waitMs = durationMs / 3;
  if (elapsedMs < waitMs) {
    const seconds = Math.ceil((waitMs - elapsedMs) / 1000);
    return `Waiting for DNS and DHCP updates, ${seconds} seconds remaining`;
  }
  const percent = Math.min(99, Math.floor((100 * (elapsedMs - waitMs)) / (durationMs - waitMs)));
  return `Installing OS, ${percent}% complete`;
}
