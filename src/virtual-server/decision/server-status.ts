/** The fields of status that come from the provider, and what they say. Pure. */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import {
  BOUNDS,
  DEFAULT_DISK_TYPE,
  type VirtualServer,
  type VirtualServerSpec,
  type VirtualServerStatus,
} from '../../api/virtual-server.ts';
import { mirrorIn, type ServerRecord } from '../../api/record.ts';
import type { Server } from '../../provider/types.ts';
import { isPrice } from '../../base/price.ts';
import { saysCancelled } from '../../base/cancelled.ts';
import { cut } from '../../base/text.ts';

/** The SSH user: the provider authorizes the keys for root. */
export const SSH_USER = 'root';
/** The port of an SSH server that is not behind the proxy. */
export const SSH_PORT = 22;

const clamp = (text: string | undefined, bound: number): string | undefined =>
  text === undefined ? undefined : cut(text, bound);
const whole = (value: number | undefined): number | undefined =>
  value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
/** Leaves out text that would need changes to be stored: the result would not be an address. */
const isAddress = (value: string): boolean => cut(value, BOUNDS.address) === value;
const list = (values: readonly string[]): string[] => values.filter(isAddress).slice(0, BOUNDS.addresses);

/** Drops keys whose value is undefined, so that equal statuses are equal texts and no `undefined` is written. */
function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}

/** The fields from a read of the server. `price`: the last known one, which counts while the provider states none. */
export function serverFields(server: Server, price?: number): VirtualServerStatus {
  const { zone, specs, sshProxy, adminConsole } = server;
  const proxy = sshProxy !== undefined && fits(sshProxy.hostname) && isPort(sshProxy.port) ? sshProxy : undefined;
  const admin = adminConsole !== undefined && fits(adminConsole.hostname) ? adminConsole : undefined;
  const ways = defined<VirtualServerStatus>({ ipv6: list(server.ipv6), ipv4: list(server.ipv4), sshProxy: proxy });
  return defined<VirtualServerStatus>({
    identifier: server.identifier,
    ...ways,
    ssh: sshArguments(ways),
    serverStatus: clamp(server.status ?? '', BOUNDS.text),
    name: clamp(server.name, BOUNDS.text),
    zone: zone && defined({ name: clamp(zone.name, BOUNDS.text), code: clamp(zone.code, BOUNDS.text) }),
    hostServer: clamp(server.hostServer, BOUNDS.text),
    product: clamp(server.product, BOUNDS.text),
    specs:
      specs &&
      defined({
        cores: whole(specs.cores),
        ram: whole(specs.ram),
        diskSize: whole(specs.diskSize),
        diskType: clamp(specs.diskType, BOUNDS.text),
      }),
    advanced: advancedField(server),
    price: isPrice(server.price) ? server.price : price,
    macs: list(server.macs),
    adminConsole: admin && { hostname: admin.hostname, username: cut(admin.username, BOUNDS.text) },
  });
}

function advancedField(server: Server): VirtualServerStatus['advanced'] {
  const { specs = {}, cpuMode, netDevice, diskBus, tablet } = server;
  const fields = defined<NonNullable<VirtualServerStatus['advanced']>>({
    extraCores: whole(specs.extraCores),
    extraMemory: whole(specs.extraMemory),
    cpuMode: clamp(cpuMode, BOUNDS.text),
    netDevice: clamp(netDevice, BOUNDS.text),
    diskBus: clamp(diskBus, BOUNDS.text),
    tablet,
  });
  return Object.keys(fields).length === 0 ? undefined : fields;
}

const fits = (hostname: string): boolean => hostname !== '' && cut(hostname, BOUNDS.hostname) === hostname;
export const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65535;
/**
 * Text that is safe as an argument of ssh or as a host to connect to: no shell and no ssh reads it as anything else.
 */
export const isHost = (host: string): boolean => /^[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?$/.test(host);

/** Where `ssh` logs in; the default port is SSH_PORT. Undefined while the provider shows nothing that ssh can use. */
export function sshEndpoint({ sshProxy, ipv6 = [] }: VirtualServerStatus): { host: string; port?: number } | undefined {
  if (sshProxy !== undefined && isHost(sshProxy.hostname)) return { host: sshProxy.hostname, port: sshProxy.port };
  const [address] = ipv6;
  return address !== undefined && isHost(address) ? { host: address } : undefined;
}

function sshArguments(ways: VirtualServerStatus): string | undefined {
  const { host, port } = sshEndpoint(ways) ?? {};
  if (host === undefined) return undefined;
  return port === undefined ? `${SSH_USER}@${host}` : `${SSH_USER}@${host} -p ${port}`;
}

/** The `task` field while the task runs. */
export function taskField(
  task: TaskNumber,
  message: string | undefined,
  expectedAt?: string,
): NonNullable<VirtualServerStatus['task']> {
  return defined({ id: task, message: clamp(message, BOUNDS.text), ...readProgress(message), expectedAt });
}

/** How the server differs from the spec, in words; undefined if nothing that can be compared differs. */
export function drift(spec: VirtualServerSpec, status: VirtualServerStatus): string | undefined {
  const differences: string[] = [];
  const compare = (field: string, wanted: string | number, found: string | number | undefined): void => {
    if (found !== undefined && found !== wanted) differences.push(`${field} is ${found} instead of ${wanted}`);
  };
  // Another condition tells what the operator changes.
  if ((spec.changePolicy ?? 'Never') === 'Never') {
    compare('product', spec.product, status.product);
    compare('disk size', spec.diskSize, status.specs?.diskSize);
  }
  compare('disk type', spec.diskType ?? DEFAULT_DISK_TYPE, status.specs?.diskType);
  if (spec.ipv4 === true && (status.ipv4 ?? []).length === 0) differences.push('it has no IPv4 address');
  return differences.length === 0 ? undefined : differences.join('; ');
}

/**
 * True if the server of the record was ever read, or is said to have been: the record or the status shows it. Status fields
 * that were copied or restored from another object prove nothing, so the mirror next to them must name the same server.
 */
export function wasRead({ status }: VirtualServer, record: ServerRecord): boolean {
  const { fingerprint, mode, missingAt } = record;
  if (fingerprint !== undefined || mode === 'adopt' || missingAt !== undefined) return true;
  const mirror = mirrorIn(status);
  return mirror?.owner === record.owner && mirror.identifier === record.identifier && isProvisioned(status);
}

/**
 * True if the server was shown as one that is not cancelled, or was adopted. A provider may show one in the making as removed, and
 * such a server is not adopted.
 */
export function wasSeenAlive(object: VirtualServer, record: ServerRecord): boolean {
  if (record.readyAt !== undefined || record.mode === 'adopt') return true;
  const { serverStatus } = object.status ?? {};
  return serverStatus !== undefined && !saysCancelled(serverStatus) && wasRead(object, record);
}

/** True once the server was read; its task has ended then. */
export function isProvisioned(status: VirtualServerStatus | undefined): boolean {
  return status?.serverStatus !== undefined;
}

export interface TaskProgress {
  percent?: number;
  secondsRemaining?: number;
}

/** Reads a task's status text. The provider does not specify the wording; unmatched text is ignored. */
export function readProgress(text: string | undefined): TaskProgress {
  if (text === undefined) return {};
  const percent = /\b(?<!\d\.)(\d{1,3})(?:\.\d+)?\s?(?:%|percent\b)/i.exec(text)?.[1];
  const seconds = /\b(?<!\d\.)(\d{1,9})\s?(?:s|secs?|seconds?)\b/i.exec(text)?.[1];
  return {
    ...(percent !== undefined && Number(percent) <= 100 && { percent: Number(percent) }),
    ...(seconds !== undefined && { secondsRemaining: Number(seconds) }),
  };
}
