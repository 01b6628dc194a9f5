/** The fields of an order that may be left out, as public sources name them. */
import type { ServerObject } from '../server-object.ts';
import type { Settings } from '../settings.ts';

/** What an order asks for with them. */
export interface Further {
  diskType: string;
  name: string | null;
  ipv4: boolean;
  /** Undefined: the provider chooses. */
  zone: { name: string; code: string } | undefined;
  extraCores?: number;
  extraMemory?: number;
  devices?: Partial<Pick<ServerObject, 'cpu_mode' | 'net_device' | 'disk_bus' | 'tablet'>>;
}

/** The types of the other fields. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  hostname: ['string'],
  host_server: ['string'],
  set_forward_dns: ['boolean'],
  set_reverse_dns: ['boolean'],
  extra_cores: ['number'],
  extra_ram: ['number'],
  user_data: ['string', 'number'],
  user_data_string: ['string'],
  cpu_mode: ['string'],
  net_device: ['string'],
  disk_bus: ['string'],
  tablet: ['boolean'],
};
const FIELDS = new Set(['disk_type', 'ipv4', 'zone', ...Object.keys(TYPES)]);
const DEVICES = ['cpu_mode', 'net_device', 'disk_bus', 'tablet'];
const NONE: Further = { diskType: 'ssd', name: null, ipv4: false, zone: undefined };

/** What the order asks for, or the text of the 400. `known`: the fields that the API itself reads. */
export function readFurther(
  body: Readonly<Record<string, unknown>>,
  known: readonly string[],
  { zones, hosts, furtherFields }: Pick<Settings, 'zones' | 'hosts'> & Pick<Settings['variants'], 'furtherFields'>,
): Further | string {
  const given = Object.keys(body).filter((field) => !known.includes(field));
  const refused = given.find((field) => furtherFields === 'refused' || (field !== 'name' && !FIELDS.has(field)));
  if (refused !== undefined) return `Unknown parameter ${refused}`;
  const { disk_type: diskType = NONE.diskType, name = null, ipv4 = false, zone } = body;
  if (name !== null && typeof name !== 'string') return 'Invalid name';
  if (furtherFields === 'ignored') return { ...NONE, name: known.includes('name') ? name : null };
  if (typeof diskType !== 'string') return 'Invalid disk type';
  if (typeof ipv4 !== 'boolean') return 'Invalid ipv4';
  const ordered = zones.find(({ code }) => code === zone);
  // A zone that contains others has no servers itself.
  const place = zones.find(({ parents }) => parents.includes(String(zone))) ?? ordered;
  if (zone !== undefined && ordered === undefined) return 'Invalid zone';
  const { host_server: host } = body;
  if (typeof host === 'string' && !hosts.includes(host)) return 'Invalid host';
  const wrong = given.find((field) => TYPES[field]?.includes(typeof body[field]) === false);
  if (wrong !== undefined) return `Invalid ${wrong}`;
  const { user_data_string: userData = '#' } = body;
  // As cloud-init knows its formats.
  if (!/^(#|Content-Type:)/.test(String(userData))) return `Invalid user data: ${JSON.stringify(userData)}`;
  const { extra_cores: extraCores = 0, extra_ram: extraMemory = 0 } = body as Record<string, number>;
  const devices = Object.fromEntries(DEVICES.filter((field) => field in body).map((field) => [field, body[field]]));
  return {
    diskType,
    name,
    ipv4,
    zone: place && { name: place.name, code: place.code },
    extraCores,
    extraMemory,
    devices,
  };
}
