/** A client for tests of the simulator, in process or over a socket; it relies only on the documentation. */
import { Buffer } from 'node:buffer';

import { createHandler, DEFAULT_KEY, Simulation } from '../../../src/simulator/index.ts';
import type { Clock, Key, SimulationOptions } from '../../../src/simulator/index.ts';

const ADDRESS = '192.0.2.1';
export const CREATE = {
  product: 'VPSX8',
  image: 'cloudinit-debian-trixie.raw.gz',
  ssh_keys: 'ssh-ed25519 AAAA me@example.org',
  disk_size: 10240,
};

/** A clock that moves only with `advance`, which wakes the sleepers that are due. */
export class ManualClock implements Clock {
  #now = Date.UTC(2030, 0, 1);
  #sleepers: { until: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number): Promise<void> {
    const until = this.#now + ms;
    return new Promise((wake) => this.#sleepers.push({ until, wake }));
  }

  get sleeping(): number {
    return this.#sleepers.length;
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#sleepers.filter(({ until }) => until <= this.#now);
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#now);
    for (const { wake } of due) wake();
  }
}

export function basic({ keyId, secret }: Key): string {
  return `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`;
}

export function loginRequest(authUrl: string, key: Key = DEFAULT_KEY): Request {
  return new Request(`${authUrl}/login`, {
    method: 'POST',
    headers: { authorization: basic(key) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
}

interface Call {
  method?: string;
  token?: string;
  json?: unknown;
  headers?: Record<string, string>;
  body?: string;
  address?: string;
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** Undefined if the text is not JSON. */
  json: unknown;
}

/** A simulation without a socket, and functions to call it; `call` takes a path or a URL. */
export function inProcess(options: SimulationOptions = {}) {
  const clock = new ManualClock();
  const simulation = new Simulation({ clock, ...options });
  const handler = createHandler(simulation);
  const send = async (request: Request, address = ADDRESS): Promise<Answer> =>
    read(await handler(request, { sourceAddress: address }));

  const call = (path: string, { method = 'GET', token, json, headers = {}, body, address }: Call = {}) => {
    const init: RequestInit = { method, headers: { ...headers } };
    const set = init.headers as Record<string, string>;
    if (token !== undefined) set['authorization'] = `Bearer ${token}`;
    if (json !== undefined) set['content-type'] ??= 'application/json';
    if (json !== undefined || body !== undefined) init.body = body ?? JSON.stringify(json);
    const url = path.startsWith('http') ? path : simulation.baseUrl + path;
    return send(new Request(url, init), address);
  };
  const login = async (key: Key = DEFAULT_KEY, address = ADDRESS): Promise<string> => {
    const answer = await send(loginRequest(simulation.authUrl, key), address);
    return (answer.json as { access_token: string }).access_token;
  };
  /** Orders a server; returns the number of the task. */
  const create = async (token: string): Promise<number> => {
    const answer = await call('/beta/vps/servers', { method: 'POST', token, json: CREATE });
    return (answer.json as { task: number }).task;
  };
  return { clock, simulation, handler, send, call, login, create };
}

export async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
