/** Simulated users of ServerCatalogs, a provider that changes its lists, and a check of both. */
import { RECONCILE_AT_ANNOTATION } from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import { currentReason } from '../../src/api/conditions.ts';
import { shows } from '../oracles/catalogs.ts';
import type { ApiServer } from './api-server.ts';
import { KEY_SECRET, OTHER_KEY_SECRET } from './caretaker.ts';
import { keyOf } from './object-store.ts';
import type { Random } from './random.ts';

/** A disk of 5120 adds 2.5. Sums of such prices are exact. */
const diskPrice = 2.5 / 5120;
const ipv4Price = 1;
const extra = { diskPrice, ipv4Price };
const PRODUCTS = [1, 2, 4].map((gb) => ({ code: `VPSX${gb * 4}`, ram: gb * 1024, cores: gb, price: gb, ...extra }));
const IMAGES = [{ name: 'cloudinit-debian-trixie.raw.gz', description: 'Debian 13' }];
/** Products that the provider lists only some of the time. */
const MORE_PRODUCTS = [{ code: 'VPSX32', ram: 8192, cores: 4, price: 8, ...extra }];
const MORE_IMAGES = [{ name: 'cloudinit-ubuntu-resolute.raw.gz', description: 'Ubuntu' }];
const ZONES = [
  { code: 'uk', name: 'United Kingdom', parents: [] },
  { code: 'lon', name: 'London', parents: ['uk'] },
];
const MORE_ZONES = [{ code: 'cam', name: 'Cambridge', parents: ['uk'] }];
const SIZES = [5120, 10240, 20480, 40960];
/** The public API always lists both types. */
const DISK_SIZES = { hdd: SIZES, ssd: SIZES };
const INTERVALS = ['10m', '1h', '1h'];
const MISSING_SECRET = 'no-such-secret';

export interface CatalogParts {
  api: ApiServer;
  simulation: Simulation;
  random: Random;
  namespaces: readonly string[];
  /** Whether the provider lists its zones. */
  hasZones: boolean;
  tell: (what: string) => void;
}

export class CatalogPeople {
  readonly #parts: CatalogParts;
  #offer = { products: PRODUCTS, images: IMAGES, diskSizes: DISK_SIZES, zones: [...ZONES, ...MORE_ZONES] };
  #tariffs = 0;

  constructor(parts: CatalogParts) {
    this.#parts = parts;
    parts.simulation.provider.setCatalog(this.#offer);
  }

  /** Does one random action; the API server rejects some of them. */
  act(): void {
    const { api, random } = this.#parts;
    const catalogs = api.catalogs.list();
    const some = catalogs.length > 0 ? random.pick(catalogs) : undefined;
    if (random.chance(0.2)) this.#offerOtherwise();
    else if (some === undefined || random.chance(0.4)) this.#create();
    else random.pick([() => this.#edit(some), () => this.#ask(some), () => this.#delete(some)])();
  }

  /** Once faults have stopped: catalogs that neither show their account's lists nor say why. */
  atRest(): string[] {
    const { api } = this.#parts;
    return api.catalogs.list().flatMap((catalog) => {
      const { metadata, spec, status } = catalog;
      const reason = currentReason(status?.conditions);
      const isRead = spec.apiKeySecretRef.name !== MISSING_SECRET;
      const asked = metadata.annotations?.[RECONCILE_AT_ANNOTATION];
      const isRight = isRead ? shows(catalog, this.#lists()) : reason === 'SecretNotFound';
      const isHandled = asked === undefined || status?.lastHandledReconcileAt === asked;
      if (isRight && isHandled) return [];
      return [`catalog ${keyOf(catalog)} has reason ${reason ?? 'none'} and does not match the provider's lists`];
    });
  }

  #lists(): Parameters<typeof shows>[1] {
    const { products, images, diskSizes, zones } = this.#offer;
    return {
      products: products.map(({ code, ram }) => ({ code, ram })),
      images,
      diskSizes: Object.entries(diskSizes).map(([type, sizes]) => ({ type, sizes })),
      ...(this.#parts.hasZones && { zones }),
    };
  }

  #create(): void {
    const { api, random, namespaces, tell } = this.#parts;
    const [namespace, name] = [random.pick(namespaces), `c${random.int(1, 3)}`];
    tell(`create catalog ${namespace}/${name}`);
    api.createCatalog(namespace, name, this.#spec());
  }

  #spec(): ServerCatalog['spec'] {
    const { random } = this.#parts;
    const name = random.pick([KEY_SECRET, KEY_SECRET, OTHER_KEY_SECRET, MISSING_SECRET]);
    return { apiKeySecretRef: { name }, refreshInterval: random.pick(INTERVALS) };
  }

  #edit({ metadata: { namespace, name } }: ServerCatalog): void {
    this.#parts.tell(`edit catalog ${namespace}/${name}`);
    this.#parts.api.catalogs.editSpec(namespace, name, this.#spec());
  }

  #ask({ metadata: { namespace, name } }: ServerCatalog): void {
    this.#parts.tell(`ask for catalog ${namespace}/${name}`);
    this.#parts.api.catalogs.annotate(namespace, name, { [RECONCILE_AT_ANNOTATION]: this.#parts.random.hex(8) });
  }

  #delete({ metadata: { namespace, name } }: ServerCatalog): void {
    this.#parts.tell(`delete catalog ${namespace}/${name}`);
    this.#parts.api.catalogs.delete(namespace, name);
  }

  #offerOtherwise(): void {
    const { random, simulation, tell } = this.#parts;
    this.#tariffs += 1;
    this.#offer = {
      products: dearer(random.chance(0.5) ? PRODUCTS : [...PRODUCTS, ...MORE_PRODUCTS], this.#tariffs % 3),
      images: random.chance(0.5) ? IMAGES : [...IMAGES, ...MORE_IMAGES],
      diskSizes: DISK_SIZES,
      zones: random.chance(0.7) ? [...ZONES, ...MORE_ZONES] : ZONES,
    };
    simulation.provider.setCatalog(this.#offer);
    tell(`the provider now offers ${this.#offer.products.length} products, ${this.#offer.images.length} images`);
  }
}

/** Servers keep the price that they were ordered at. */
const dearer = (products: typeof PRODUCTS, by: number): typeof PRODUCTS =>
  products.map((product) => ({ ...product, price: product.price + by }));
