/** The endpoints: each request gets its answer synchronously, without faults or waits. */
import type { Accounts } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import type { RequestEntry } from './ledger.ts';
import {
  type CancelAnswer,
  type FalseAnswer,
  type FalseStatus,
  type LieHandle,
  Lies,
  type List,
  type ShortList,
} from './lies.ts';
import type { CreateAnswer, Settings, SimulatedImage, SimulatedProduct } from './settings.ts';
import { json, mediaType, type Route, type RouteMatch, type WireRequest, type WireResponse } from './wire.ts';
import type { FoundServer } from './servers.ts';

interface CatalogPatch {
  products?: SimulatedProduct[];
  images?: SimulatedImage[];
  diskSizes?: Record<string, number[]>;
}

/** Every route except the login. */
type Provisioning = Exclude<Route, '/login'>;

const LISTS: Route[] = ['/beta/vps/products', '/beta/vps/images', '/beta/vps/disk-sizes'];
const CREATE_FIELDS = ['product', 'image', 'ssh_keys', 'disk_size'];

export class SimulatedProvider {
  readonly #settings: Settings;
  readonly #accounts: Accounts;
  readonly #fleet: Fleet;
  readonly #baseUrl: () => string;
  readonly #lies: Lies;
  readonly #windows = new Map<string, { startedAt: number; requests: number }>();

  constructor(settings: Settings, accounts: Accounts, fleet: Fleet, baseUrl: () => string) {
    this.#settings = settings;
    this.#accounts = accounts;
    this.#fleet = fleet;
    this.#baseUrl = baseUrl;
    this.#lies = new Lies(settings.clock);
  }

  setCatalog(patch: CatalogPatch): void {
    Object.assign(this.#settings, patch);
  }

  setCreateAnswer(answer: Partial<CreateAnswer>): void {
    this.#settings.createAnswer = { ...this.#settings.createAnswer, ...answer };
  }

  /** Gives matching requests a false answer within a time window, without acting on them. */
  falsify(answer: FalseAnswer): LieHandle {
    return this.#lies.falsify(answer);
  }

  /** Shortens a list within a time window; hidden entries can still be ordered. */
  shorten(list: ShortList): LieHandle {
    return this.#lies.shorten(list);
  }

  /** Answers a DELETE with 200 and another body within a time window; it cancels only with `cancels`. */
  answerCancels(answer: CancelAnswer): LieHandle {
    return this.#lies.answerCancels(answer);
  }

  /** Ends every false answer, every short list and every odd answer to a DELETE. */
  endLies(): void {
    this.#lies.end();
  }

  /** Sets `processed` and `fault` of the entry. */
  handle(request: WireRequest, match: RouteMatch, entry: Pick<RequestEntry, 'processed' | 'fault'>): WireResponse {
    const { route } = match;
    entry.processed = true;
    if (route === '/login') {
      const falseStatus = this.#falsified(request, match, this.#accounts.identify(request)?.account, entry);
      return falseStatus === undefined
        ? this.#accounts.login(request)
        : this.#accounts.refuseLogin(request, falseStatus);
    }
    const account = this.#accounts.authenticate(request)?.account;
    if (account === undefined) return this.#refuse(401, route);
    const limited = this.#limit(account);
    if (limited) return limited;
    const falseStatus = this.#falsified(request, match, account, entry);
    if (falseStatus !== undefined) return this.#refuse(falseStatus, route);
    const suspension = this.#accounts.suspension(account);
    if (suspension?.how === 'calls') return this.#refuse(suspension.status, route);
    const hasNothing = suspension?.how === 'empty' && !LISTS.includes(route);
    return hasNothing ? this.#refuse(404, route) : this.#process(account, request, route, match.param);
  }

  #falsified(
    { method }: WireRequest,
    match: RouteMatch,
    account: string | undefined,
    entry: Pick<RequestEntry, 'processed' | 'fault'>,
  ): FalseStatus | undefined {
    const status = this.#lies.statusFor(method, match, account);
    if (status === undefined) return undefined;
    entry.fault = 'falsified';
    entry.processed = false;
    return status;
  }

  #process(account: string, request: WireRequest, route: Provisioning, param: string): WireResponse {
    switch (route) {
      case '/beta/vps/products':
        return this.#list(account, 'products');
      case '/beta/vps/images':
        return this.#list(account, 'images');
      case '/beta/vps/disk-sizes':
        return this.#list(account, 'disk-sizes');
      case '/beta/vps/servers':
        return this.#create(account, request);
      case '/beta/queue/vps/{task}':
        return this.#poll(account, param);
      case '/beta/vps/servers/{identifier}':
        return request.method === 'DELETE' ? this.#cancel(account, param) : this.#read(account, param);
    }
  }

  #list(account: string, list: List): WireResponse {
    const isEmpty = this.#accounts.suspension(account)?.how === 'empty';
    return json(200, listBody(list, this.#settings, isEmpty ? 0 : this.#lies.kept(list, account)));
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
    return this.#accept(this.#fleet.create(account, product, diskSize, body));
  }

  #accept(task: number): WireResponse {
    const { status, body, location } = this.#settings.createAnswer;
    const headers: Record<string, string> = location ? { location: `${this.#baseUrl()}/beta/queue/vps/${task}` } : {};
    return body ? json(status, { task }, headers) : { status, headers, body: '' };
  }

  #poll(account: string, param: string): WireResponse {
    const answer = /^[0-9]+$/.test(param) ? this.#fleet.pollTask(account, Number(param)) : undefined;
    if (!answer) return this.#refuse(404, '/beta/queue/vps/{task}');
    const { identifier } = answer;
    if (answer.state === 'pending') return json(200, { identifier, status: answer.status });
    const location = `${this.#baseUrl()}/beta/vps/servers/${encodeURIComponent(answer.identifier)}`;
    return json(303, { identifier }, { location });
  }

  #read(account: string, identifier: string): WireResponse {
    const found = this.#fleet.read(account, identifier, this.#settings.readDuringTask === 200);
    if (!found) return this.#refuse(404, '/beta/vps/servers/{identifier}');
    return json(200, found.state === 'creating' ? { ...found.object, status: 'installing' } : found.object);
  }

  #cancel(account: string, identifier: string): WireResponse {
    const state = this.#fleet.find(account, identifier)?.state;
    const status = this.#cancelStatus(state);
    if (status === 404) return this.#refuse(404, '/beta/vps/servers/{identifier}');
    if (status === 409) return this.#error(409, 'The server is still being created');
    const lie = this.#lies.cancelAnswer(identifier, account);
    const cancels = lie === undefined || lie.cancels === true;
    if (cancels && state !== 'cancelled') this.#fleet.cancel(account, identifier);
    return lie === undefined ? json(200, { message: 'The server has been unprovisioned' }) : oddAnswer(lie.body);
  }

  #cancelStatus(state: FoundServer['state'] | undefined): 200 | 404 | 409 {
    switch (state) {
      case undefined:
        return 404;
      case 'creating':
        return this.#settings.deleteDuringTask;
      case 'cancelled':
        return this.#settings.lag.cancelAgain;
      // Only reads lag; a DELETE acts on the actual server.
      case 'lagging':
      case 'ready':
        return 200;
    }
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

  /** False and true answers look the same, so no client can tell them apart. */
  #refuse(status: FalseStatus, route: Route): WireResponse {
    switch (status) {
      case 401:
        return this.#error(401, 'The token is not valid');
      case 403:
        return this.#error(403, 'The account may not do this');
      case 404:
        return this.#error(404, `There is no such ${route === '/beta/queue/vps/{task}' ? 'task' : 'server'}`);
      case 500:
        return this.#error(500, 'Something went wrong');
    }
  }

  /** The documentation shows no error bodies, so clients must not rely on them: an option chooses the form. */
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

/** Products, images and disk sizes, as the endpoints list them: at most the first `keep` entries, or sizes of each disk type. */
function listBody(list: List, { products, images, diskSizes }: Settings, keep: number): unknown {
  switch (list) {
    case 'products':
      return products.slice(0, keep).map(({ code, ram }) => ({ code, specs: { ram } }));
    case 'images':
      return images.slice(0, keep).map(({ name, description }) => ({ name, description }));
    case 'disk-sizes':
      if (keep === 0) return {};
      return Object.fromEntries(Object.entries(diskSizes).map(([type, sizes]) => [type, sizes.slice(0, keep)]));
  }
}

function oddAnswer(body: CancelAnswer['body']): WireResponse {
  switch (body) {
    case 'html':
      return { status: 200, headers: { 'content-type': 'text/html' }, body: '<html><body>Maintenance</body></html>' };
    case 'error':
      return json(200, { error: 'The server is locked' });
    case 'empty':
      return { status: 200, headers: {}, body: '' };
    case 'message':
      return json(200, { message: 'The server is locked' });
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
