/**
 * The API as public documents and clients of the same API tell. It was written from those sources, and was never
 * compared with a live service.
 */
import type { ServerObject } from '../server-object.ts';
import { CHOICES } from '../variants.ts';
import type { SimulatedProduct } from '../settings.ts';
import { type Api, type ChangeRequest, documentedTaskStatus, NOT_THERE } from './api.ts';
import { readFurther } from './further-fields.ts';

const PERIOD = 'on-demand';
/** Part of the duration of a task in which a host is selected. */
const SELECTING = 1 / 6;

/** The unit of a disk in the list of prices. No source tells the real one. */
const EXTENT_GB = 5;
const MB_PER_GB = 1024;

const CREATE_FIELDS = ['product', 'image', 'ssh_keys', 'disk_size', 'name'];

const byKey = <Value extends object>(entries: (readonly [string, Value])[]): Record<string, Value> =>
  Object.fromEntries(entries);

const familyOf = (product: SimulatedProduct | undefined): string => product?.family ?? 'VPS';

/** What the list shows of a server, and the server too. */
function summary(
  { identifier, product: code, name, dormant, family, period }: ServerObject,
  products: SimulatedProduct[],
) {
  return {
    identifier,
    product: code,
    family: family ?? familyOf(products.find((product) => product.code === code)),
    period: period ?? PERIOD,
    name,
    dormant: dormant ?? false,
  };
}

const CHANGES = ['product', 'specs', 'name', 'boot_device', 'iso_image'];
const SPECS = ['disk_size', 'extra_cores', 'extra_ram'];
/** The server must be off for these. */
const DEVICES: Readonly<Record<string, string>> = {
  cpu_mode: 'string',
  net_device: 'string',
  disk_bus: 'string',
  tablet: 'boolean',
};

/** What a change asks for, or the text of the 400. */
function readChange(body: Readonly<Record<string, unknown>>, products: SimulatedProduct[]): ChangeRequest | string {
  const { product: code, specs = {}, name } = body;
  const unknown = Object.keys(body).find((field) => !CHANGES.includes(field) && !(field in DEVICES));
  if (unknown !== undefined) return `Unknown parameter ${unknown}`;
  const product = products.find((one) => one.code === code);
  if (code !== undefined && product === undefined) return 'Invalid product';
  if (typeof specs !== 'object' || specs === null || Array.isArray(specs)) return 'Invalid specs';
  const wrong = Object.entries(specs).find(([field, value]) => !SPECS.includes(field) || typeof value !== 'number');
  if (wrong !== undefined) return `Invalid ${wrong[0]}`;
  if (name !== undefined && name !== null && typeof name !== 'string') return 'Invalid name';
  const devices = Object.entries(body).filter(([field]) => field in DEVICES);
  const odd = devices.find(([field, value]) => typeof value !== DEVICES[field]);
  if (odd !== undefined) return `Invalid ${odd[0]}`;
  const { disk_size: diskSize, extra_cores: extraCores, extra_ram: extraMemory } = specs as Record<string, number>;
  const needsOff = devices.length > 0 || 'boot_device' in body || 'iso_image' in body;
  return { product, diskSize, extraCores, extraMemory, name, ...Object.fromEntries(devices), needsOff };
}

/** The list shows only these: no source shows one of a server that exists. */
const LISTED_STATUS = new Set<string>([...CHOICES.cancelledAs, 'removed']);

export const publicApi: Api = {
  error: (error) => ({ error }),
  notAuthorized: 'Not authorised',
  denial: () => NOT_THERE,
  cancelled: 'Operation successful',
  taskStatus: (elapsedMs, durationMs) => {
    const selectingMs = durationMs * SELECTING;
    if (elapsedMs < selectingMs) return 'Selecting host in lon zone';
    return documentedTaskStatus(elapsedMs - selectingMs, durationMs - selectingMs);
  },
  products: (products) =>
    byKey(
      products.map((product) => {
        const { code, ram, cores, name = code, description = `${cores} cores, ${ram} MB of RAM` } = product;
        const specs = { cores, ram, bandwidth: 1000 };
        return [code, { code, name, description, family: familyOf(product), period: PERIOD, specs }];
      }),
    ),
  images: (images) => byKey(images.map(({ name, description }) => [name, { name, description }])),
  zones: (zones) =>
    byKey(zones.map(({ code, name, parents }) => [code, { name, description: `${name} zone`, parents }])),
  hosts: (names) => byKey(names.map((name) => [name, { name }])),
  diskSizes: ({ ssd = [], hdd = ssd, ...others }) => ({ hdd, ssd, ...others }),
  // All products have the same price of disk and address, or else the list shows those of the first one.
  prices(products, factor) {
    const [{ diskPrice = 0, ipv4Price = 0 } = {}] = products;
    const listed = (price: number): number => Math.round(price * factor);
    const disk = { price: listed(diskPrice * MB_PER_GB * EXTENT_GB), extent: EXTENT_GB };
    return {
      disk: { ssd: disk, hdd: disk },
      ipv4: listed(ipv4Price),
      products: Object.fromEntries(products.map(({ code, price }) => [code, listed(price)])),
    };
  },
  server(server, products) {
    const {
      vnc,
      admin_console,
      specs,
      ssh_proxy,
      iso_image,
      price,
      tablet = true,
      upgrade_specs = null,
      ...same
    } = server;
    return {
      ...same,
      ...summary(server, products),
      // A test may show something else than a number.
      price: Number.isFinite(price) ? Math.round(price) : price,
      iso_image: iso_image === '' ? null : iso_image,
      tablet,
      specs: { extra_cores: 0, extra_ram: 0, ...specs },
      upgrade_specs,
      ssh_proxy: { ...ssh_proxy, enabled: true },
    };
  },
  readOrder(body, { products, images, diskSizes, zones, hosts, variants }) {
    const { product: code, image, ssh_keys: sshKeys, disk_size: diskSize } = body;
    const product = products.find((one) => one.code === code);
    if (!product) return 'Invalid product';
    if (image !== undefined && !images.some((one) => one.name === image)) return 'Invalid image';
    if (sshKeys !== undefined && typeof sshKeys !== 'string') return 'Invalid SSH keys';
    const further = readFurther(body, CREATE_FIELDS, { zones, hosts, furtherFields: variants.furtherFields });
    if (typeof further === 'string') return further;
    const sizes = publicApi.diskSizes(diskSizes)[further.diskType];
    if (sizes === undefined) return 'Invalid disk type';
    if (typeof diskSize !== 'number' || !sizes.includes(diskSize)) return 'Invalid disk size';
    return { product, diskSize, ...further };
  },
  power: {
    'power-on': 'Server powered on',
    'power-off': 'Server powered off',
    shutdown: 'Server shutdown initiated',
    reboot: 'Reboot initiated',
    dormant: 'Operation successful',
    wake: 'Operation successful',
  },
  readChange,
  named: {
    list: (servers, products) =>
      byKey(
        servers.map((server) => {
          const { identifier, status } = server;
          return [identifier, { ...summary(server, products), ...(LISTED_STATUS.has(status) && { status }) }];
        }),
      ),
    isIdentifier: (text) => /^[a-z0-9]{3,20}$/.test(text),
  },
};
