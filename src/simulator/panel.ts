/** The control panel of a simulator in a separate process: reads its ledger and injects faults, as JSON over HTTP. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import * as z from 'zod';
import { toTask } from '../base/exact-numbers.ts';
import type { FaultHandle, FaultInput } from './faults.ts';
import { faultSchema } from './named-faults.ts';
import type { CancelEntry, CreateEntry } from './ledger.ts';
import type { AliveServer, ServerLife } from './servers.ts';
import type { Simulation } from './simulation.ts';
import { orderWorld, read, WrongOrderError } from './world.ts';

/** The answer to `GET /state`. */
export interface PanelState {
  creates: CreateEntry[];
  cancels: CancelEntry[];
  alive: AliveServer[];
  /** Every server that ever existed. */
  servers: ServerLife[];
  /** Requests to known routes so far. */
  requests: number;
}

export interface Panel {
  url: string;
  close(): Promise<void>;
}

const COMPLETION = z.strictObject({ account: z.string().min(1).optional() });
const NAMED = z.strictObject({ fault: faultSchema });
const TASK_DURATION = z.strictObject({ ms: z.number().min(0).nullable() });
/** Fault actions that JSON can express. */
const ACTIONS = ['status', 'error', 'failTask', 'drop', 'reset', 'hang', 'delay'];

/**
 * `GET /state` returns the state. `POST /faults` with a FaultInput, or with `{ fault }` as --fault takes it, returns `{ id }`, `GET /faults/ID` returns how often
 * the fault has struck, `POST /faults/ID/release` lets hanging requests continue, `DELETE /faults/ID` ends the fault.
 * `POST /task-duration` takes `{ ms }`, null for tasks that never end. `POST /tasks/NUMBER/complete` completes the
 * newest task with this number, with `{ account }` in that account. `POST /world` takes orders of world.ts, such as
 * `{ "lag": { "serverMs": 5000 }, "suspend": { "account": "default", "how": "empty" } }`.
 * The panel has no access control. Rejects if the port is taken.
 */
export async function startPanel(simulation: Simulation, port: number, host = '127.0.0.1'): Promise<Panel> {
  const faults = new Map<string, FaultHandle>();
  const server = createServer((request, response) => void respond(request, response));

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [status, answer] = await act(request).then(
      (body) => (body === undefined ? [404, { error: 'not found' }] : [200, body]),
      (error: unknown) => [400, { error: String(error) }],
    );
    response.writeHead(status as number, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  }

  /** Undefined if there is no such endpoint or fault. */
  async function act(request: IncomingMessage): Promise<object | undefined> {
    const { method = '' } = request;
    const [first = '', name = '', verb = ''] = (request.url ?? '').slice(1).split('/');
    const input = method === 'POST' ? parse(await text(request)) : {};
    if (first === 'state' && method === 'GET') return state(simulation);
    if (first === 'task-duration' && method === 'POST') {
      simulation.fleet.setTaskDuration(read('task-duration', TASK_DURATION, input).ms ?? Infinity);
      return {};
    }
    if (first === 'tasks' && method === 'POST' && verb === 'complete') {
      simulation.fleet.completeTask(toTask(name) ?? name, read('complete', COMPLETION, input).account);
      return {};
    }
    if (first === 'world' && method === 'POST') {
      orderWorld(simulation, input);
      return {};
    }
    if (first === 'faults') return name === '' ? inject(method, input) : tend(method, name, verb);
    return undefined;
  }

  function inject(method: string, input: object): object | undefined {
    if (method !== 'POST') return undefined;
    const id = String(faults.size + 1);
    faults.set(id, simulation.faults.inject(faultOf(input)));
    return { id };
  }

  function tend(method: string, id: string, verb: string): object | undefined {
    const fault = faults.get(id);
    if (fault === undefined) return undefined;
    if (method === 'POST' && verb === 'release') fault.release();
    else if (method === 'DELETE') fault.remove();
    else if (method !== 'GET') return undefined;
    return { count: fault.count };
  }

  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const { port: actual } = typeof address === 'object' && address !== null ? address : { port };
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function faultOf(input: object): FaultInput {
  if ('fault' in input) return read('faults', NAMED, input).fault;
  const order = input as FaultInput;
  if (ACTIONS.includes((order.action as Partial<FaultInput['action']> | undefined)?.kind ?? '')) return order;
  throw new WrongOrderError(`action.kind must be one of ${ACTIONS.join(', ')}`);
}

function state({ ledger, fleet }: Simulation): PanelState {
  return {
    creates: ledger.creates(),
    cancels: ledger.cancels(),
    alive: fleet.aliveServers(),
    servers: fleet.history(),
    requests: ledger.requestCount,
  };
}

function parse(body: string): Record<string, unknown> {
  const value: unknown = body === '' ? {} : JSON.parse(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WrongOrderError('the body must be a JSON object');
  return value as Record<string, unknown>;
}
