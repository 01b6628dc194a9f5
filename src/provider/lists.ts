/** The provider's lists for one API key, read in one shared call and cached with their age. */
import type { Caller } from './caller.ts';
import type { Endpoints, Endpoint } from './endpoints.ts';
import { failure } from './failure.ts';
import { bodyOf, type Operation } from './transport.ts';
import type { Catalog, Product } from './types.ts';
import { parseDiskSizes, parseImages, parseJson, parseProducts } from './wire.ts';

export class Lists {
  readonly #caller: Caller;
  readonly #endpoints: Endpoints;
  readonly #now: () => number;
  #catalog: { lists: Catalog; answeredAt: number } | undefined;
  #call: Promise<Catalog> | undefined;

  /** `caller` stands for no tenant: all tenants of the key share the result, and none should wait for another. */
  constructor(caller: Caller, endpoints: Endpoints, now: () => number) {
    this.#caller = caller;
    this.#endpoints = endpoints;
    this.#now = now;
  }

  /** See `Session.catalog`. */
  async catalog(maxAgeMs: number): Promise<Catalog> {
    if (this.#catalog && this.#now() - this.#catalog.answeredAt <= maxAgeMs) return this.#catalog.lists;
    this.#call ??= this.#read().finally(() => (this.#call = undefined));
    return this.#call;
  }

  async #read(): Promise<Catalog> {
    let answeredAt = Infinity;
    const list = async (operation: Operation, target: Endpoint): Promise<unknown> => {
      const body = await readList(this.#caller, operation, target);
      answeredAt = Math.min(answeredAt, this.#now());
      return body;
    };
    const [products, images, diskSizes] = await Promise.all([
      list('products', this.#endpoints.products).then(parseProducts),
      list('images', this.#endpoints.images).then(parseImages),
      list('diskSizes', this.#endpoints.diskSizes).then(parseDiskSizes),
    ]);
    const lists = { products, images, diskSizes };
    this.#catalog = { lists, answeredAt };
    return lists;
  }
}

/** A fresh read of the products list for `caller` alone. */
export async function readProducts(caller: Caller, endpoints: Endpoints): Promise<Product[]> {
  return parseProducts(await readList(caller, 'products', endpoints.products));
}

async function readList(caller: Caller, operation: Operation, target: Endpoint): Promise<unknown> {
  const answer = await caller.call({ operation, method: 'GET', target }, 'high');
  if (answer.status !== 200) throw failure(answer, operation, caller.redactor);
  return parseJson(bodyOf(answer), operation);
}
