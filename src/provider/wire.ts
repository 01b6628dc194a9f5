/** Parses the provider's JSON leniently: ignores unknown fields and drops optional fields of a wrong type. */
import * as z from 'zod';
import { saysCancelled } from '../base/cancelled.ts';
import { isObject } from '../base/deep-equal.ts';
import { parseExact } from '../base/exact-numbers.ts';
import { isPrice } from '../base/price.ts';
import { ProviderError, failureMessage, type ProviderOperation } from './error.ts';
import { identifierKey, isSameIdentifier } from '../base/identifier.ts';
import { PagedList, goesOn, toldByHeaders, withoutPaging } from './paged-list.ts';
import type { Image, AccountServer, ListShape, PriceList, Product, Server, Zone } from './types.ts';

const text = z.string().optional().catch(undefined);
const count = z.int().min(0).optional().catch(undefined);
/** Drops elements that are not strings: the provider does not document what an element of `ipv4` looks like. */
const texts = z
  .array(z.unknown())
  .catch([])
  .transform((values) => values.filter((value) => typeof value === 'string'));

const productSchema = z.object({
  code: z.string().min(1),
  specs: z.object({ ram: count }).optional().catch(undefined),
  period: text,
});
const imageSchema = z.object({ name: z.string().min(1), description: text });
const zoneSchema = z.object({ code: text, name: text, description: text, parents: texts });
const hostSchema = z.object({ name: z.string().min(1) });

/** A string, or a number, whose digits count. */
const identifier = z.union([z.string().min(1), z.int().min(0).transform(String)]);

/** A number, or the same number as text. */
const price = z
  .union([
    z.number(),
    z
      .string()
      .trim()
      .regex(/^\d{1,12}(\.\d{1,12})?$/)
      .transform(Number),
  ])
  .optional()
  .catch(undefined);

const serverSchema = z.object({
  identifier,
  name: text,
  status: text,
  dormant: z.literal(true).optional().catch(undefined),
  product: text,
  price,
  period: text,
  zone: z.object({ name: text, code: text }).optional().catch(undefined),
  host_server: text,
  specs: z
    .object({ cores: count, ram: count, disk_size: count, disk_type: text, extra_cores: count, extra_ram: count })
    .optional()
    .catch(undefined),
  cpu_mode: text,
  net_device: text,
  disk_bus: text,
  tablet: z.boolean().optional().catch(undefined),
  upgrade_specs: z.object({ cores: count, ram: count, disk_size: count }).optional().catch(undefined),
  ipv4: texts,
  ipv6: texts,
  macs: texts,
  admin_console: z.object({ hostname: z.string(), username: z.string() }).optional().catch(undefined),
  ssh_proxy: z
    .object({ hostname: z.string(), port: z.int().min(1).max(65535) })
    .optional()
    .catch(undefined),
  vnc: z
    .object({ mode: text, password: text, display: count, port: count, ipv4: text, ipv6: text })
    .optional()
    .catch(undefined),
});

/** Drops malformed entries. Throws PROVIDER_PROTOCOL for anything but an array or an object with at least one product. */
export function parseProducts(body: unknown): Product[] {
  return nonEmpty(entries(body, 'products', 'code', productSchema), body, 'products').map(
    ({ code, specs, period }) => ({
      code,
      ram: specs?.ram,
      ...(period !== undefined && { period }),
    }),
  );
}

/** Drops malformed entries. Throws PROVIDER_PROTOCOL for anything but an array or an object with at least one image. */
export function parseImages(body: unknown): Image[] {
  return nonEmpty(entries(body, 'images', 'name', imageSchema), body, 'images');
}

/**
 * The zones by code, and the zones that contain them. Drops malformed entries. Throws PROVIDER_PROTOCOL for anything but an array
 * or an object with at least one zone.
 */
export function parseZones(body: unknown): Zone[] {
  const zones = entries(body, 'zones', 'code', zoneSchema).flatMap(({ code, name, description, parents }) => [
    { code: code ?? name, description: description ?? name },
    ...parents.map((parent) => ({ code: parent, description: undefined })),
  ]);
  const byCode = new Map<string, Zone>();
  for (const { code, description } of zones)
    if (code) byCode.set(code, { code, description: byCode.get(code)?.description ?? description });
  if (byCode.size > 0) return [...byCode.values()];
  throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('zones', 'the answer lists no zones'));
}

/**
 * The hosts of a private cloud by name, and by key in an object: no source says which of them an order has to name. Drops and throws in
 * the same way.
 */
export function parseHosts(body: unknown): string[] {
  const hosts = entries(body, 'hosts', 'name', hostSchema).map(({ name }) => name);
  if (hosts.length === 0)
    throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('hosts', 'the answer lists no hosts'));
  const keys = isObject(body) ? Object.keys(body).filter((key) => !ERRORS.has(key)) : [];
  return [...new Set([...hosts, ...keys])];
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * The identifiers of the account's servers, as keys of a map. Absence is read off this list, so no entry is dropped: each key of
 * an object is an identifier, whatever its value, unless it tells about pages. Throws PagedList for one page of a longer list, of which
 * the headers may tell too, and PROVIDER_PROTOCOL for anything else.
 */
export function parseServerList(list: unknown, headers: Headers = {}): ReadonlySet<string> {
  const whole = withoutPaging(list);
  const body = withoutCancelled(whole);
  const identifiers = Array.isArray(body) ? body.map(identifierOf) : isObject(body) ? identifiersIn(body) : [undefined];
  if (identifiers.includes(undefined))
    throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('listServers', 'the answer is no list of servers'));
  const found = new Set(identifiers.filter((identifier) => identifier !== undefined).map(identifierKey));
  // The list may count those that are gone.
  const count = isObject(whole) ? Object.keys(whole).length : found.size;
  if (toldByHeaders(headers, count) || goesOn(list, count)) throw new PagedList(found, serversIn(body));
  return found;
}

/** What the list says of each server. Throws like `parseServerList`. */
export function parseListedServers(list: unknown, headers: Headers = {}): AccountServer[] {
  parseServerList(list, headers);
  return serversIn(withoutCancelled(withoutPaging(list)));
}

function serversIn(body: unknown): AccountServer[] {
  const entries: [string | undefined, unknown][] = Array.isArray(body)
    ? body.map((value: unknown) => [undefined, value])
    : Object.entries(asObject(body, 'listServers'));
  return entries.flatMap(([key, value]) => {
    const found = (key === undefined || isObject(value) ? identifierOf(value) : undefined) ?? key;
    if (found === undefined) return [];
    const { name, product, dormant } = isObject(value) ? value : {};
    const alias = isSameIdentifier(key, found) ? undefined : key;
    return [
      {
        identifier: found,
        alias,
        name: textIn(name),
        product: textIn(product),
        ...(dormant === true && { isDormant: true }),
      },
    ];
  });
}

const textIn = (value: unknown): string | undefined => text.parse(value);

/** A list may keep servers that are gone. */
function withoutCancelled(list: unknown): unknown {
  const isGone = (value: unknown): boolean =>
    isObject(value) &&
    (identifierOf(value) !== undefined || 'product' in value) &&
    saysCancelled(textIn(value['status']));
  if (Array.isArray(list)) return list.filter((value: unknown) => !isGone(value));
  if (!isObject(list)) return list;
  return Object.fromEntries(Object.entries(list).filter(([, value]) => !isGone(value)));
}

/** What surrounds a list, or replaces it, such as `{"servers": {}}` and `{"status": "unavailable"}`. A server of this name shows fields. */
const AROUND = /^(servers|vps|data|items|results?|status(_?code)?|code|success|ok|reason)$/i;

/** `[undefined]` for an object that is another answer, such as an error, or a list inside of another object. */
function identifiersIn(body: Record<string, unknown>): (string | undefined)[] {
  return Object.entries(body).flatMap(([key, value]) => {
    const own = isObject(value) ? identifierOf(value) : undefined;
    const isError = ERRORS.has(key) && own === undefined;
    const isAround = AROUND.test(key) && !(isObject(value) && Object.keys(value).length > 0);
    const isList =
      Array.isArray(value) || (isObject(value) && Object.values(value).some(isObject) && !('product' in value));
    if (isError || isList || isAround) return [undefined];
    return own === undefined ? [key] : [key, own];
  });
}

function identifierOf(value: unknown): string | undefined {
  return toIdentifier(isObject(value) ? value['identifier'] : value);
}

/** Undefined for anything that cannot be an identifier. */
export function toIdentifier(value: unknown): string | undefined {
  return identifier.safeParse(value).data;
}

/** The form of a list that one of these functions accepts. */
export const shapeOf = (body: unknown): ListShape => (Array.isArray(body) ? 'Array' : 'Object');

/**
 * Sizes by disk type, without malformed entries. Throws PROVIDER_PROTOCOL if the response is not an object, or an object
 * without any list, such as an error.
 */
export function parseDiskSizes(body: unknown): Record<string, number[]> {
  const entries = Object.entries(asObject(body, 'diskSizes'));
  const sizes = entries.flatMap(([type, values]) =>
    Array.isArray(values) ? [[type, values.filter((value) => Number.isSafeInteger(value))]] : [],
  );
  if (entries.length > 0 && sizes.length === 0)
    throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('diskSizes', 'the answer lists no disk sizes'));
  return Object.fromEntries(sizes) as Record<string, number[]>;
}

/** Drops malformed entries. Throws PROVIDER_PROTOCOL for anything but an object with the price of at least one product. */
export function parsePrices(body: unknown): PriceList {
  const { products, disk, ipv4 } = asObject(body, 'prices');
  const listed = entriesOf(products).flatMap(([code, value]) => {
    const amount = price.parse(value);
    return code !== '' && isPrice(amount) ? [[code, amount] as const] : [];
  });
  if (listed.length === 0)
    throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('prices', 'the answer has no price of a product'));
  const disks = entriesOf(disk).flatMap(([type, value]) => {
    const { price: each, extent: gigabytes } = isObject(value) ? value : {};
    const [amount, extent] = [price.parse(each), price.parse(gigabytes)];
    return isPrice(amount) && isPrice(extent) && extent > 0 ? [[type, { price: amount, extent }] as const] : [];
  });
  const address = price.parse(ipv4);
  return {
    products: Object.fromEntries(listed),
    disks: Object.fromEntries(disks),
    ...(isPrice(address) && { ipv4: address }),
  };
}

const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);

/** Keeps the provider's spelling of the identifier. Throws PROVIDER_PROTOCOL unless it is the requested server. */
export function parseServer(body: unknown, identifier: string): Server {
  const result = serverSchema.safeParse(body);
  if (!result.success) throw new ProviderError('PROVIDER_PROTOCOL', 'the answer to reading the server is not a server');
  const {
    dormant,
    host_server: hostServer,
    specs,
    admin_console: adminConsole,
    ssh_proxy: sshProxy,
    cpu_mode: cpuMode,
    net_device: netDevice,
    disk_bus: diskBus,
    upgrade_specs: resize,
    ...rest
  } = result.data;
  if (!isSameIdentifier(rest.identifier, identifier))
    throw new ProviderError('PROVIDER_PROTOCOL', 'the provider answered with another server');
  return {
    ...rest,
    ...(dormant === true && { isDormant: true }),
    hostServer,
    specs: specs && {
      cores: specs.cores,
      ram: specs.ram,
      diskSize: specs.disk_size,
      diskType: specs.disk_type,
      extraCores: specs.extra_cores,
      extraMemory: specs.extra_ram,
    },
    cpuMode,
    netDevice,
    diskBus,
    resize: resize && { cores: resize.cores, ram: resize.ram, diskSize: resize.disk_size },
    adminConsole,
    sshProxy,
  };
}

/** The text of the documented answer to a DELETE. Throws PROVIDER_PROTOCOL for anything else. */
export function parseMessage(body: unknown): string {
  const { message } = asObject(body, 'deleteServer');
  if (typeof message === 'string') return message;
  throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('deleteServer', 'the answer has no message'));
}

/** Throws PROVIDER_PROTOCOL without the parser's own message, which quotes the text. */
export function parseJson(text: string, operation: ProviderOperation): unknown {
  try {
    return parseExact(text);
  } catch {
    throw new ProviderError('PROVIDER_PROTOCOL', failureMessage(operation, 'the answer is not JSON'));
  }
}

/** Throws PROVIDER_PROTOCOL for anything but a JSON object. */
export function asObject(value: unknown, operation: ProviderOperation): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new ProviderError('PROVIDER_PROTOCOL', failureMessage(operation, 'the answer is not a JSON object'));
}

/** The JSON object in a body; empty if the body is anything else. */
export function objectIn(text: unknown): Record<string, unknown> {
  if (typeof text !== 'string') return {};
  try {
    const value = parseExact(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * The valid entries of an array, or of an object keyed by `key`, as the public service answers: there, the key replaces the
 * field of a value where it is missing or empty.
 */
function entries<T>(body: unknown, operation: ProviderOperation, key: string, schema: z.ZodType<T>): T[] {
  const values = Array.isArray(body) ? (body as unknown[]) : keyedValues(body, key);
  if (values === undefined)
    throw new ProviderError(
      'PROVIDER_PROTOCOL',
      failureMessage(operation, 'the answer is neither a JSON array nor an object'),
    );
  return values.flatMap((value) => {
    const result = schema.safeParse(value);
    return result.success ? [result.data] : [];
  });
}

/** The keys of an error answer, which name no product, image or server. */
const ERRORS = new Set(['error', 'errors', 'error_description', 'message', 'msg', 'detail', 'title']);

function keyedValues(body: unknown, key: string): object[] | undefined {
  if (!isObject(body)) return undefined;
  return Object.entries(body).flatMap(([name, value]) => {
    if (!isObject(value) || ERRORS.has(name)) return [];
    const own = value[key];
    return own === undefined || own === null || own === '' ? [{ ...value, [key]: name }] : [value];
  });
}

/** An array may be empty. An object without any valid entry is another answer, such as an error. */
function nonEmpty<T>(found: T[], body: unknown, operation: ProviderOperation): T[] {
  if (found.length > 0 || Array.isArray(body)) return found;
  throw new ProviderError(
    'PROVIDER_PROTOCOL',
    failureMessage(operation, 'the answer is an object without any valid entry'),
  );
}
