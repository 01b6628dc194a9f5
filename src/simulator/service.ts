/** The endpoints: one request in, one answer out, at one instant, with nothing that could fail or wait. */
import type { Accounts } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import type { Settings, SimulatedImage, SimulatedProduct } from './options.ts';
import type { RouteMatch } from './routes.ts';
import { json, mediaType } from './wire.ts';
import type { WireRequest, WireResponse } from './wire.ts';

export interface CatalogPatch {
  products?: SimulatedProduct[];
  images?: SimulatedImage[];
  diskSizes?: Record<string, number[]>;
}

const CREATE_FIELDS = ['product', 'image', 'ssh_keys', 'disk_size'];

export class Service {
  readonly #settings: Settings;
  readonly #accounts: Accounts;
  readonly #fleet: Fleet;
  readonly #baseUrl: () => string;
  readonly #windows = new Map<string, { startedAt: number; requests: number }>();

  constructor(settings: Settings, accounts: Accounts, fleet: Fleet, baseUrl: () => string) {
    this.#settings = settings;
    this.#accounts = accounts;
    this.#fleet = fleet;
    this.#baseUrl = baseUrl;
  }

  setCatalog(patch: CatalogPatch): void {
    Object.assign(this.#settings, patch);
  }

  handle(request: WireRequest, { route, param }: RouteMatch): WireResponse {
    if (route === '/login') return this.#accounts.login(request);
    const account = this.#accounts.authenticate(request)?.account;
    if (account === undefined) return this.#error(401, 'The token is not valid');
    const limited = this.#limit(account);
    if (limited) return limited;
    switch (route) {
      case '/beta/vps/products':
        return json(
          200,
          this.#settings.products.map(({ code, ram }) => ({ code, specs: { ram } })),
        );
      case '/beta/vps/images':
        return json(
          200,
          this.#settings.images.map(({ name, description }) => ({ name, description })),
        );
      case '/beta/vps/disk-sizes':
        return json(200, this.#settings.diskSizes);
      case '/beta/vps/servers':
        return this.#create(account, request);
      case '/beta/queue/vps/{task}':
        return this.#poll(account, param);
      case '/beta/vps/servers/{identifier}':
        return request.method === 'DELETE' ? this.#cancel(account, param) : this.#read(account, param);
    }
  }

  #create(account: string, request: WireRequest): WireResponse {
    if (mediaType(request.contentType) !== 'application/json') {
      return this.#error(400, 'Content-Type must be application/json');
    }
    const body = parseObject(request.body);
    if (!body) return this.#error(400, 'The body must be a JSON object');
    const { product: code, image, ssh_keys: sshKeys, disk_size: diskSize } = body;
    const product = this.#settings.products.find((one) => one.code === code);
    if (!product) return this.#error(400, 'product is not one of the products');
    if (!this.#settings.images.some(({ name }) => name === image)) {
      return this.#error(400, 'image is not one of the images');
    }
    if (typeof sshKeys !== 'string' || sshKeys.trim() === '') return this.#error(400, 'ssh_keys must be a text');
    if (typeof diskSize !== 'number' || !this.#settings.diskSizes['ssd']?.includes(diskSize)) {
      return this.#error(400, 'disk_size is not one of the sizes');
    }
    const unknown = Object.keys(body).find((name) => !CREATE_FIELDS.includes(name));
    if (unknown !== undefined) return this.#error(400, `${unknown} is not a documented field`);
    const task = this.#fleet.create(account, product, diskSize, body);
    return json(202, { task }, { location: `${this.#baseUrl()}/beta/queue/vps/${task}` });
  }

  #poll(account: string, param: string): WireResponse {
    const answer = /^[0-9]+$/.test(param) ? this.#fleet.pollTask(account, Number(param)) : undefined;
    if (!answer) return this.#error(404, 'There is no such task');
    const { identifier } = answer;
    if (answer.state === 'pending') return json(200, { identifier, status: answer.status });
    const location = `${this.#baseUrl()}/beta/vps/servers/${encodeURIComponent(identifier)}`;
    return json(303, { identifier }, { location });
  }

  #read(account: string, identifier: string): WireResponse {
    const found = this.#fleet.find(account, identifier);
    if (found?.ready) return json(200, found.object);
    if (found && this.#settings.readDuringTask === 200) return json(200, { ...found.object, status: 'installing' });
    return this.#error(404, 'There is no such server');
  }

  #cancel(account: string, identifier: string): WireResponse {
    const found = this.#fleet.find(account, identifier);
    const status = found?.ready ? 200 : this.#settings.deleteDuringTask;
    if (!found || status === 404) return this.#error(404, 'There is no such server');
    if (status === 409) return this.#error(409, 'The server is still being created');
    this.#fleet.cancel(account, identifier);
    return json(200, { message: 'The server has been unprovisioned' });
  }

  #limit(account: string): WireResponse | undefined {
    const limit = this.#settings.rateLimit;
    if (!limit) return undefined;
    const now = this.#settings.clock.now();
    let window = this.#windows.get(account);
    if (!window || now - window.startedAt >= limit.perMs) {
      window = { startedAt: now, requests: 0 };
      this.#windows.set(account, window);
    }
    window.requests += 1;
    if (window.requests <= limit.requests) return undefined;
    const answer = this.#error(429, 'Too many requests');
    answer.headers['retry-after'] = String(Math.ceil((window.startedAt + limit.perMs - now) / 1000));
    return answer;
  }

  /** The documentation shows no error body of these endpoints, so nobody may rely on one: an option chooses. */
  #error(status: number, message: string): WireResponse {
    switch (this.#settings.errorBodies) {
      case 'json':
        return json(status, { message });
      case 'empty':
        return { status, headers: {}, body: '' };
      case 'html':
        return { status, headers: { 'content-type': 'text/html' }, body: `<html><body>${message}</body></html>` };
      case 'text':
        return { status, headers: { 'content-type': 'text/plain' }, body: message };
    }
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
