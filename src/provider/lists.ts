/** The provider's lists for one API key, read in one shared call and cached with their age. */
import type { Caller } from './caller.ts';
import type { Endpoints, Endpoint } from './endpoints.ts';
import { failure } from './failure.ts';
import { bodyOf, type Operation } from './transport.ts';
import type { Catalog, Product, Session } from './types.ts';
import { parseDiskSizes, parseImages, parseJson, parseProducts } from './wire.ts';

/** `caller` stands for no tenant: all tenants of the key share the result, and none should wait for another. */
export function createLists(caller: Caller, endpoints: Endpoints, now: () => number): Session['catalog'] {
  let last: { lists: Catalog; answeredAt: number } | undefined;
  let call: Promise<Catalog> | undefined;

  async function read(): Promise<Catalog> {
    let answeredAt = Infinity;
    const list = async (operation: Operation, target: Endpoint): Promise<unknown> => {
      const body = await readList(caller, operation, target);
      answeredAt = Math.min(answeredAt, now());
      return body;
    };
    const [products, images, diskSizes] = await Promise.all([
      list('products', endpoints.products).then(parseProducts),
      list('images', endpoints.images).then(parseImages),
      list('diskSizes', endpoints.diskSizes).then(parseDiskSizes),
    ]);
    const lists = { products, images, diskSizes };
    last = { lists, answeredAt };
    return lists;
  }

  return async (maxAgeMs) => {
    if (last && now() - last.answeredAt <= maxAgeMs) return last.lists;
    call ??= read().finally(() => (call = undefined));
    return call;
  };
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
