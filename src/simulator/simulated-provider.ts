/** The endpoints: each request gets its answer synchronously, without faults or waits. */
import { toTask, type TaskNumber } from '../base/exact-numbers.ts';
import { without } from '../base/without.ts';
import { type SimulatedAccounts, loginError, type Restriction } from './accounts.ts';
import type { Api } from './api/api.ts';
import { APIS } from './api/apis.ts';
import type { Fleet } from './fleet.ts';
import { RUNNING, type ServerObject } from './server-object.ts';
import type { FoundServer } from './servers.ts';
import type { SwitchCall, RequestEntry } from './ledger.ts';
import {
  type CancelAnswer,
  type FalseAnswer,
  type FalseStatus,
  type LieHandle,
  Lies,
  type List,
  type ShortList,
} from './lies.ts';
import {
  changeAnswers,
  type CreateAnswer,
  type Settings,
  type SimulatedImage,
  type SimulatedProduct,
  type SimulatedZone,
} from './settings.ts';
import type { ApiName, VariantOptions } from './variants.ts';
import { json, mediaType, type Route, type RouteMatch, type WireRequest, type WireResponse } from './wire.ts';

interface CatalogPatch {
  products?: SimulatedProduct[];
  images?: SimulatedImage[];
  zones?: SimulatedZone[];
  diskSizes?: Record<string, number[]>;
}

/** Every route except the login. */
type Provisioning = Exclude<Route, '/login'>;
type Entry = Pick<RequestEntry, 'processed' | 'fault' | 'task'>;

const CATALOG: Route[] = ['/beta/vps/products', '/beta/vps/images', '/beta/vps/disk-sizes', '/beta/vps/zones'];
const ZONES = '/beta/vps/zones';
const PRICING = '/beta/vps/pricing';
const SERVERS = '/beta/vps/servers';
const SERVER = '/beta/vps/servers/{identifier}';
const POWER = '/beta/vps/servers/{identifier}/power';
const REBOOT = '/beta/vps/servers/{identifier}/reboot';
const DORMANT = '/beta/vps/servers/{identifier}/dormant';
const OF_POWER: Route[] = [POWER, REBOOT, DORMANT];
const POWER_CALLS = ['power-on', 'power-off', 'shutdown'] as const;
const TASK = '/beta/queue/vps/{task}';
const FAILURE = 'Something went wrong';
/** What the list shows, as a part of what a server costs; undefined: there is no list. */
const PRICE_FACTORS = { exact: 1, lower: 0.5, higher: 2, missing: undefined } as const;
const BUSY = 'The server cannot be deleted while another task is running';
const OUT_OF_STOCK = 'No host has room for this product';

export class SimulatedProvider {
  readonly #settings: Settings;
  readonly #accounts: SimulatedAccounts;
  readonly #fleet: Fleet;
  readonly #baseUrl: () => string;
  readonly #lies: Lies;
  readonly #windows = new Map<string, { startedAt: number; requests: number }>();
  /** Codes of products that are out of stock. */
  readonly #soldOut = new Set<string>();
  /** Number of orders for an identifier. */
  #named = 0;

  constructor(settings: Settings, accounts: SimulatedAccounts, fleet: Fleet, baseUrl: () => string) {
    this.#settings = settings;
    this.#accounts = accounts;
    this.#fleet = fleet;
    this.#baseUrl = baseUrl;
    this.#lies = new Lies(settings.clock);
  }

  setCatalog(patch: CatalogPatch): void {
    Object.assign(this.#settings, patch);
  }

  /** Variants that were never chosen follow the API. Servers and tasks stay. */
  setApi(api: ApiName): void {
    changeAnswers(this.#settings, { api });
  }

  /** Omitted variants keep their values. */
  setVariants(variants: VariantOptions): void {
    changeAnswers(this.#settings, { variants });
  }

  /** Orders of a product that is not in stock get the answer of the variant `outOfStock`; the list still has it. */
  setStock(product: string, inStock: boolean): void {
    if (inStock) this.#soldOut.delete(product);
    else this.#soldOut.add(product);
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

  /** A server that is ready shows this status within a time window, whatever it does. */
  misname(status: FalseStatus): LieHandle {
    return this.#lies.misname(status);
  }

  /** Ends every false answer and status, every short list and every odd answer to a DELETE. */
  endLies(): void {
    this.#lies.end();
  }

  /** Sets `processed`, `fault` and `task` of the entry. */
  handle(request: WireRequest, match: RouteMatch, entry: Entry): WireResponse {
    const { route, param } = match;
    entry.processed = true;
    if (route === '/login') {
      const lie = this.#falsified(request, match, this.#accounts.identify(request)?.account, entry);
      return lie === undefined ? this.#accounts.login(request) : this.#accounts.refuseLogin(request, lie.status);
    }
    const identity = this.#accounts.authenticate(request);
    if (identity === undefined) return this.#refuse(401, route);
    const { account } = identity;
    const limited = this.#limit(account);
    if (limited) return limited;
    const lie = this.#falsified(request, match, account, entry);
    if (lie !== undefined) return this.#refuse(lie.status, route, lie.says);
    const suspension = this.#accounts.suspension(account);
    if (suspension?.how === 'calls') return this.#refuse(suspension.status, route);
    const isList = request.method === 'GET' && [...CATALOG, PRICING, SERVERS].includes(route);
    if (suspension?.how === 'empty' && !isList)
      return request.method === 'POST' ? this.#refuse(404, route) : this.#deny(route, request.method);
    const restriction = this.#accounts.restriction(identity);
    const restricted = restriction && this.#restricted(restriction, request.method, route);
    return restricted ?? this.#process(account, request, route, param, entry);
  }

  /** An error in the form of the API; a 403 without a text says that the key lacks the right. */
  errorAnswer(route: Route, status: number, text?: string): WireResponse {
    if (route === '/login')
      return loginError(status, status === 401 ? 'invalid_client' : 'server_error', text ?? FAILURE);
    return this.#error(status, text ?? (status === 403 ? this.#api.notAuthorized : FAILURE));
  }

  get #api(): Api {
    return APIS[this.#settings.api];
  }

  #falsified(
    { method }: WireRequest,
    match: RouteMatch,
    account: string | undefined,
    entry: Entry,
  ): FalseAnswer | undefined {
    const lie = this.#lies.answerFor(method, match, account);
    if (lie === undefined) return undefined;
    entry.fault = 'falsified';
    entry.processed = false;
    return lie;
  }

  /** The answer to a key that lacks the right; undefined if the key may make this call. */
  #restricted(restriction: Restriction, method: string, route: Provisioning): WireResponse | undefined {
    if (restriction !== 'all' && CATALOG.includes(route)) return undefined;
    if (route === PRICING && this.#api.prices === undefined) return undefined;
    const isMissing = !this.#api.named && route === (method === 'GET' ? SERVERS : SERVER) && method !== 'DELETE';
    if (method === 'PATCH' && (!this.#api.readChange || this.#settings.variants.changes === 'missing'))
      return undefined;
    if (isMissing || (route === ZONES && !this.#hasZones)) return undefined;
    if (OF_POWER.includes(route) && !this.#hasPower(route)) return undefined;
    if (restriction === 'unseen' && route === SERVERS && method === 'GET')
      return json(200, this.#api.named?.list([], this.#settings.products));
    const isDenied = (restriction === 'hidden' && route !== SERVERS) || restriction === 'unseen';
    const isHidden = isDenied && method !== 'POST';
    return isHidden ? this.#deny(route, method) : this.#refuse(403, route);
  }

  #process(account: string, request: WireRequest, route: Provisioning, param: string, entry: Entry): WireResponse {
    const { method } = request;
    switch (route) {
      case '/beta/vps/products':
        return json(200, this.#api.products(this.#settings.products.slice(0, this.#kept('products', account))));
      case '/beta/vps/images':
        return json(200, this.#api.images(this.#settings.images.slice(0, this.#kept('images', account))));
      case '/beta/vps/disk-sizes':
        return this.#listDiskSizes(account);
      case '/beta/vps/zones':
        return this.#listZones(account);
      case '/beta/vps/hosts':
        return this.#listHosts();
      case '/beta/vps/pricing':
        return this.#listPrices();
      case '/beta/vps/servers':
        return method === 'GET' ? this.#listServers(account) : this.#create(account, request, entry);
      case '/beta/queue/vps/{task}':
        return this.#poll(account, param);
      case '/beta/vps/servers/{identifier}':
        if (method === 'POST') return this.#createNamed(account, request, entry, param);
        if (method === 'PATCH') return this.#change(account, request, param);
        return method === 'DELETE' ? this.#cancel(account, param) : this.#read(account, param);
      case '/beta/vps/servers/{identifier}/power':
      case '/beta/vps/servers/{identifier}/reboot':
      case '/beta/vps/servers/{identifier}/dormant':
        return this.#switch(account, request, route, param);
    }
  }

  /** How many entries the list shows. */
  #kept(list: List, account: string): number {
    return this.#accounts.suspension(account)?.how === 'empty' ? 0 : this.#lies.kept(list, account);
  }

  #listDiskSizes(account: string): WireResponse {
    const keep = this.#kept('disk-sizes', account);
    const sizes = keep === 0 ? [] : Object.entries(this.#api.diskSizes(this.#settings.diskSizes));
    return json(200, Object.fromEntries(sizes.map(([type, ofType]) => [type, ofType.slice(0, keep)])));
  }

  #listZones(account: string): WireResponse {
    const { zones } = this.#settings;
    if (!this.#hasZones) return this.#missing();
    return json(200, this.#api.zones?.(zones.slice(0, this.#kept('zones', account))));
  }

  #listHosts(): WireResponse {
    const { hosts, variants } = this.#settings;
    const body = variants.listsHosts ? this.#api.hosts?.(hosts) : undefined;
    return body === undefined ? this.#missing() : json(200, body);
  }

  get #hasZones(): boolean {
    return this.#api.zones !== undefined && this.#settings.variants.listsZones;
  }

  #listPrices(): WireResponse {
    const { products, variants } = this.#settings;
    const factor = PRICE_FACTORS[variants.priceList];
    const prices = factor === undefined ? undefined : this.#api.prices?.(products, factor);
    return prices === undefined ? this.#missing() : json(200, prices);
  }

  #listServers(account: string): WireResponse {
    const { named } = this.#api;
    if (!named) return this.#missing();
    const servers = this.#fleet
      .list(account)
      .slice(0, this.#kept('servers', account))
      .map((server) => this.#misnamed(server, 'ready', { account, where: 'list' }));
    const { listsPage } = this.#settings.variants;
    if (listsPage === 0) return json(200, named.list(servers, this.#settings.products));
    const page = servers.slice(0, listsPage);
    const { fields, headers } = this.#aboutPages(servers.length, page.length);
    return json(200, { ...named.list(page, this.#settings.products), ...fields }, headers);
  }

  /** What says whether the list of so many servers has more than the first page shows. */
  #aboutPages(all: number, shown: number): { fields?: Record<string, unknown>; headers?: Record<string, string> } {
    const { pageTells, listsPage } = this.#settings.variants;
    const isMore = all > shown;
    const next = `${this.#baseUrl()}${SERVERS}?page=2`;
    switch (pageTells) {
      case 'next':
        return { fields: { next: isMore ? next : null } };
      case 'next_page':
        return { fields: { next_page: isMore ? 2 : null } };
      case 'has_more':
        return { fields: { has_more: isMore } };
      case 'total':
        return { fields: { total: all } };
      case 'per_page':
        return { fields: { page: 1, per_page: listsPage } };
      case 'links':
        return { fields: { links: isMore ? { next: { href: next } } : {} } };
      case 'header':
        return isMore ? { headers: { link: `<${next}>; rel="next"` } } : {};
      case 'total-header':
        return { headers: { 'x-total-count': String(all) } };
    }
  }

  /** A server that is ready shows another status within a time window. */
  #misnamed(
    object: ServerObject,
    state: FoundServer['state'],
    asked: { account: string; where: 'reads' | 'list' },
  ): ServerObject {
    const status = state === 'ready' ? this.#lies.statusFor(object.identifier, asked) : undefined;
    return status === undefined ? object : { ...object, status };
  }

  #createNamed(account: string, request: WireRequest, entry: Entry, identifier: string): WireResponse {
    const { named } = this.#api;
    if (!named) return this.#missing();
    if (!named.isIdentifier(identifier)) return this.#error(400, 'Invalid identifier');
    const deliver = (): WireResponse => this.#create(account, request, entry, identifier);
    this.#named += 1;
    const { heldEvery } = this.#settings.variants;
    return heldEvery > 0 && this.#named % heldEvery === 0 ? this.#hold(deliver, entry) : deliver();
  }

  /** What a proxy answers that delivers the request later, whatever the key may do by then. */
  #hold(deliver: () => WireResponse, entry: Entry): WireResponse {
    const { variants, clock } = this.#settings;
    entry.fault = 'held';
    entry.processed = false;
    void clock.sleep(variants.heldMs).then(() => {
      entry.processed = true;
      deliver();
    });
    const headers = { 'content-type': 'text/html' };
    return {
      status: variants.heldStatus,
      headers,
      body: '<html><body>The gateway has waited for too long</body></html>',
    };
  }

  /** Without an identifier, the provider chooses one. */
  #create(account: string, request: WireRequest, entry: Entry, identifier?: string): WireResponse {
    if (mediaType(request.contentType) !== 'application/json') {
      return this.#error(400, 'Content-Type must be application/json');
    }
    const body = parseObject(request.body);
    if (!body) return this.#error(400, 'The body must be a JSON object');
    const order = this.#api.readOrder(body, this.#settings);
    if (typeof order === 'string') return this.#error(400, order);
    const { outOfStock, sameOrder } = this.#settings.variants;
    if (identifier !== undefined && this.#fleet.isInUse(identifier)) {
      const task = sameOrder === 202 ? this.#fleet.taskOf(account, identifier, body) : undefined;
      return task === undefined ? this.#error(409, 'Identifier is already in use') : this.#accept(task);
    }
    const isSoldOut = this.#soldOut.has(order.product.code);
    if (isSoldOut && outOfStock !== 'task') return this.#error(outOfStock, OUT_OF_STOCK);
    const task = this.#fleet.create(account, order.product, order.diskSize, body, { ...order, identifier });
    if (isSoldOut) this.#fleet.failTask(task, { text: OUT_OF_STOCK });
    entry.task = task;
    return this.#accept(task);
  }

  #accept(task: TaskNumber): WireResponse {
    const { status, body, location } = this.#settings.createAnswer;
    const headers: Record<string, string> = location ? { location: `${this.#baseUrl()}/beta/queue/vps/${task}` } : {};
    // Digits that a number cannot hold are a JSON number all the same.
    return body ? { ...json(status, {}, headers), body: `{"task":${task}}` } : { status, headers, body: '' };
  }

  #poll(account: string, param: string): WireResponse {
    const task = toTask(param);
    const answer = task === undefined ? undefined : this.#fleet.pollTask(account, task);
    switch (answer?.state) {
      case undefined:
        return this.#deny(TASK, 'GET');
      case 'pending':
        return json(200, { identifier: answer.identifier, status: answer.status });
      case 'failed':
        return this.#error(500, answer.text);
      case 'complete': {
        const { identifier } = answer;
        const location = `${this.#baseUrl()}/beta/vps/servers/${encodeURIComponent(identifier)}`;
        return json(303, { identifier }, { location });
      }
    }
  }

  #read(account: string, identifier: string): WireResponse {
    const { readDuringTask } = this.#settings.variants;
    const found = this.#fleet.find(account, identifier);
    if (found === undefined || found.state === 'lagging') return this.#deny(SERVER, 'GET');
    const isCreating = found.state === 'creating';
    if (isCreating && readDuringTask !== 200) return this.#refuseDuringTask(readDuringTask);
    this.#fleet.wasRead(found.serial);
    const object = isCreating ? { ...found.object, status: this.#settings.variants.creatingAs } : found.object;
    const shown = this.#misnamed(object, found.state, { account, where: 'reads' });
    const server = this.#api.server(shown, this.#settings.products);
    return json(200, this.#showsPeriod(object) ? server : without(server, 'period'));
  }

  #showsPeriod({ status }: ServerObject): boolean {
    const { periods } = this.#settings.variants;
    return periods === 'shown' || (periods === 'running' && status === RUNNING);
  }

  #cancel(account: string, identifier: string): WireResponse {
    const { state, isLocked, isSwitching } = this.#fleet.find(account, identifier) ?? {};
    const { variants, lag } = this.#settings;
    if (state === undefined) return this.#deny(SERVER, 'DELETE');
    if (state === 'creating' && variants.deleteDuringTask !== 200)
      return this.#refuseDuringTask(variants.deleteDuringTask);
    if (state === 'cancelled' && lag.cancelAgain === 404) return this.#refuseAgain();
    if (isLocked) return this.#error(409, BUSY);
    if (isSwitching && variants.cancelWhileSwitching === 'ignored') return json(200, { message: 'Server is locked' });
    // Only reads lag; a DELETE acts on the actual server.
    const lie = this.#lies.cancelAnswer(identifier, account);
    const cancels = lie === undefined || lie.cancels === true;
    if (cancels && state !== 'cancelled') this.#fleet.cancel(account, identifier);
    return lie === undefined ? json(200, { message: this.#api.cancelled }) : oddAnswer(lie.body);
  }

  #change(account: string, request: WireRequest, identifier: string): WireResponse {
    const { readChange } = this.#api;
    const { changes, deleteDuringTask } = this.#settings.variants;
    if (readChange === undefined || changes === 'missing') return this.#missing();
    const state = this.#fleet.find(account, identifier)?.state;
    if (state === undefined || state === 'cancelled') return this.#deny(SERVER, 'PATCH');
    if (state === 'creating') return this.#refuseDuringTask(deleteDuringTask === 200 ? 409 : deleteDuringTask);
    const body = mediaType(request.contentType) === 'application/json' ? parseObject(request.body) : undefined;
    if (body === undefined) return this.#error(400, 'The body must be a JSON object');
    const asked = readChange(body, this.#settings.products);
    const refusal = typeof asked === 'string' ? asked : this.#fleet.change(account, identifier, body, asked);
    return refusal === undefined ? json(200, { message: this.#api.cancelled }) : this.#refuseCall(refusal);
  }

  #refuseCall(why: string): WireResponse {
    return this.#error(this.#settings.variants.refusedStatus, why);
  }

  #hasPower(route: Route): boolean {
    const { power } = this.#settings.variants;
    return this.#api.power !== undefined && power !== 'missing' && (power === 'all' || route !== DORMANT);
  }

  /** Switches a server off or on. */
  #switch(account: string, request: WireRequest, route: Provisioning, identifier: string): WireResponse {
    const messages = this.#api.power;
    if (messages === undefined || !this.#hasPower(route)) return this.#missing();
    const state = this.#fleet.find(account, identifier)?.state;
    const { deleteDuringTask } = this.#settings.variants;
    if (state === undefined || state === 'cancelled') return this.#deny(route, request.method);
    if (state === 'creating') return this.#refuseDuringTask(deleteDuringTask === 200 ? 409 : deleteDuringTask);
    const asked = this.#powerCall(request, route);
    if (typeof asked === 'string') return this.#refuseCall(asked);
    const refusal = this.#fleet.switch(account, identifier, asked.call, asked.product);
    return refusal === undefined ? json(200, { message: messages[asked.call] }) : this.#refuseCall(refusal);
  }

  /** What the request asks for, or the text of the 400. */
  #powerCall(
    { body, contentType }: WireRequest,
    route: Provisioning,
  ): { call: SwitchCall; product?: SimulatedProduct } | string {
    if (route === REBOOT) return { call: 'reboot' };
    const fields = mediaType(contentType) === 'application/json' ? parseObject(body) : undefined;
    if (fields === undefined) return 'The body must be a JSON object';
    if (route === POWER) {
      const call = POWER_CALLS.find((one) => one === fields['power']);
      return call === undefined ? 'Invalid power' : { call };
    }
    if (fields['dormant'] === true) return { call: 'dormant' };
    const product = this.#settings.products.find(({ code }) => code === fields['product']);
    if (fields['dormant'] !== false) return 'Invalid dormant';
    return product === undefined ? 'Invalid product' : { call: 'wake', product };
  }

  /** The answer for a server or task that does not exist, or belongs to another account. */
  #deny(route: Provisioning, method: string): WireResponse {
    const { readDenied, deleteDenied, taskDenied } = this.#settings.variants;
    if (route === TASK) return this.#denial(taskDenied, route);
    return this.#denial(method === 'DELETE' ? deleteDenied : readDenied, route);
  }

  #denial(status: 403 | 404, route: Provisioning): WireResponse {
    return this.#error(status, this.#api.denial(status, route === TASK ? 'task' : 'server'));
  }

  /** The answer to another DELETE of a server that was cancelled. */
  #refuseAgain(): WireResponse {
    switch (this.#settings.variants.cancelAgain) {
      case 'denied':
        return this.#deny(SERVER, 'DELETE');
      case 'conflict':
        return this.#error(409, 'Conflict');
      case 'busy':
        return this.#error(409, BUSY);
      case 'gone':
        return this.#error(410, 'Gone');
      case 'cancelled':
        return this.#error(400, 'The server was already cancelled');
    }
  }

  #refuseDuringTask(status: 403 | 404 | 409): WireResponse {
    return status === 409 ? this.#error(409, 'The server is still being created') : this.#denial(status, SERVER);
  }

  /** The answer to a call that only the public API has. */
  #missing(): WireResponse {
    return this.#error(this.#settings.variants.missingCall, 'There is no such call');
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
  #refuse(
    status: FalseAnswer['status'],
    route: Provisioning,
    says: FalseAnswer['says'] = 'not-authorised',
  ): WireResponse {
    switch (status) {
      case 401:
        return this.#error(401, 'The token is not valid');
      case 403:
        return says === 'does-not-exist' ? this.#denial(403, route) : this.#error(403, this.#api.notAuthorized);
      case 404:
        return this.#denial(404, route);
      case 500:
        return this.#error(500, FAILURE);
    }
  }

  /** The documentation shows no error bodies, so clients must not rely on them: an option chooses the form. */
  #error(status: number, text: string): WireResponse {
    switch (this.#settings.errorBodies) {
      case 'json':
        return json(status, this.#api.error(text));
      case 'empty':
        return { status, headers: {}, body: '' };
      case 'html':
        return { status, headers: { 'content-type': 'text/html' }, body: `<html><body>${text}</body></html>` };
      case 'text':
        return { status, headers: { 'content-type': 'text/plain' }, body: text };
    }
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
