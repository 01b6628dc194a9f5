/** Turns what the provider said into fields of status, clamped to the bounds of the schema. Pure. */
import { BOUNDS, type VirtualServerSpec, type VirtualServerStatus } from '../../api/virtual-server.ts';
import type { Server } from '../../provider/types.ts';
import { readProgress } from './task-text.ts';
import { cut } from '../../base/text.ts';

/** Who logs in over SSH: the provider authorises the keys for root. */
export const SSH_USER = 'root';
/** Where an SSH server listens that is not behind the proxy. */
export const SSH_PORT = 22;

const clamp = (text: string | undefined, bound: number): string | undefined =>
  text === undefined ? undefined : cut(text, bound);
const whole = (value: number | undefined): number | undefined =>
  value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
/** Text that would have to be changed to be stored is no address any more: it is left out. */
const isAddress = (value: string): boolean => cut(value, BOUNDS.address) === value;
const list = (values: readonly string[]): string[] => values.filter(isAddress).slice(0, BOUNDS.addresses);

/** Drops keys whose value is undefined, so that equal statuses are equal texts and no `undefined` is written. */
function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}

/** The fields that come from reading the server; they replace all earlier ones, the task is over. */
export function serverFields(server: Server): VirtualServerStatus {
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
    price: Number.isFinite(server.price) ? server.price : undefined,
    macs: list(server.macs),
    adminConsole: admin && { hostname: admin.hostname, username: cut(admin.username, BOUNDS.text) },
  });
}

const fits = (hostname: string): boolean => hostname !== '' && cut(hostname, BOUNDS.hostname) === hostname;
export const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65535;
/** Text that ssh may be given as an argument, or that may be connected to: no shell or ssh reads it as something else. */
export const isHost = (host: string): boolean => /^[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?$/.test(host);

/** Where `ssh` logs in; without a port at SSH_PORT. Undefined while the provider shows nothing that ssh can be given. */
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
export function taskField(task: number, message: string | undefined): NonNullable<VirtualServerStatus['task']> {
  return defined({ id: task, message: clamp(message, BOUNDS.text), ...readProgress(message) });
}

/** In what the server differs from spec, in words; undefined: in nothing that can be compared. */
export function drift(spec: VirtualServerSpec, status: VirtualServerStatus): string | undefined {
  const differences: string[] = [];
  const compare = (field: string, wanted: string | number, found: string | number | undefined): void => {
    if (found !== undefined && found !== wanted) differences.push(`${field} is ${found} instead of ${wanted}`);
  };
  compare('product', spec.product, status.product);
  compare('disk size', spec.diskSize, status.specs?.diskSize);
  compare('disk type', 'ssd', status.specs?.diskType);
  return differences.length === 0 ? undefined : differences.join('; ');
}

/** True once the server was read: its task is over. */
export function isProvisioned(status: VirtualServerStatus | undefined): boolean {
  return status?.serverStatus !== undefined;
}
