/** Starts simulators on real ports, for tests of faults. */
import { connect } from 'node:net';

import { expect } from 'vitest';

import { startSimulator } from '../../../src/simulator/index.ts';
import type { FaultAction, FaultInput, Simulator, SimulatorOptions } from '../../../src/simulator/index.ts';
import { CREATE, loginRequest } from './client.ts';

export const PRODUCTS = '/beta/vps/products';
export const SERVERS = '/beta/vps/servers';

const open: Simulator[] = [];

/** A simulator on a port, and a token for it. Callers must call `closeAll` after each test. */
export async function start(options: SimulatorOptions = {}) {
  const simulator = await startSimulator(options);
  open.push(simulator);
  const { access_token: token } = (await (await fetch(loginRequest(simulator.authUrl))).json()) as {
    access_token: string;
  };
  const get = (path: string, signal?: AbortSignal) =>
    fetch(simulator.baseUrl + path, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
      ...(signal && { signal }),
    });
  const create = () =>
    fetch(simulator.baseUrl + SERVERS, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(CREATE),
    });
  const inject = (action: FaultAction, rest: Omit<FaultInput, 'action'> = {}) =>
    simulator.faults.inject({ action, ...rest });
  return { simulator, token, get, create, inject };
}

/** The code of the network error behind a failed fetch. */
export async function networkError(call: Promise<Response>): Promise<unknown> {
  const error = await call.then((response) => response.text()).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(TypeError);
  return ((error as TypeError).cause as { code: string }).code;
}

/** Closes all simulators, which fails the test if a fault was not met. */
export async function closeAll(): Promise<void> {
  for (const simulator of open.splice(0)) await simulator.close();
}

/** Everything that the simulator sends until it closes the connection. */
export function rawExchange(simulator: Simulator, request: string): Promise<string> {
  const socket = connect(simulator.port, '127.0.0.1', () => socket.write(request));
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
  return new Promise((resolve, reject) => socket.on('close', () => resolve(received)).on('error', reject));
}
