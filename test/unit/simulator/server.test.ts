import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';
import { Agent, request } from 'undici';

import { startSimulator } from '../../../src/simulator/index.ts';
import type { Simulator, SimulatorOptions } from '../../../src/simulator/index.ts';
import { basic, loginRequest } from './client.ts';

const PRODUCTS = '/beta/vps/products';
const open: Simulator[] = [];

async function start(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  open.push(simulator);
  return simulator;
}

async function login(simulator: Simulator): Promise<string> {
  const response = await fetch(loginRequest(simulator.authUrl, simulator));
  return ((await response.json()) as { access_token: string }).access_token;
}

/** The status of a request sent from this local address. */
async function statusFrom(localAddress: string, url: string, token: string): Promise<number | undefined> {
  const req = httpRequest(url, { localAddress, agent: false, headers: { authorization: `Bearer ${token}` } });
  req.end();
  const [response] = (await once(req, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

afterEach(async () => {
  for (const simulator of open.splice(0)) await simulator.close();
});

describe('a simulator on a port', () => {
  it('reports its URLs with the chosen prefixes, and its key', async () => {
    const simulator = await start({
      basePrefix: '/a/b',
      authPrefix: '/c',
      accounts: [{ name: 'mine', keys: [{ keyId: 'k', secret: 's' }] }],
    });
    expect(simulator.baseUrl).toBe(`http://127.0.0.1:${simulator.port}/a/b`);
    expect(simulator.authUrl).toBe(`http://127.0.0.1:${simulator.port}/c`);
    const headers = { authorization: `Bearer ${await login(simulator)}` };
    expect((await fetch(simulator.baseUrl + PRODUCTS, { headers })).status).toBe(200);
    expect(simulator.ledger.requests({ route: PRODUCTS })).toMatchObject([{ account: 'mine', keyId: 'k' }]);
  });

  it('binds tokens to the source address of the connection', async () => {
    const simulator = await start();
    const token = await login(simulator);
    expect(await statusFrom('127.0.0.1', simulator.baseUrl + PRODUCTS, token)).toBe(200);
    expect(await statusFrom('127.0.0.2', simulator.baseUrl + PRODUCTS, token)).toBe(401);
  });

  it('issues tokens that another simulator does not accept', async () => {
    const first = await start();
    const second = await start();
    const headers = { authorization: `Bearer ${await login(first)}` };
    await login(second);
    expect((await fetch(second.baseUrl + PRODUCTS, { headers })).status).toBe(401);
  });

  it('numbers connections, and records the connection of each request', async () => {
    const simulator = await start();
    const agent = new Agent({ connections: 1, pipelining: 1 });
    for (const path of ['/beta/vps/images', PRODUCTS]) {
      await (await request(simulator.baseUrl + path, { dispatcher: agent })).body.dump();
    }
    await agent.close();
    await statusFrom('127.0.0.1', simulator.baseUrl + PRODUCTS, 'none');
    expect(simulator.ledger.connections()).toMatchObject([{ connection: 1 }, { connection: 2 }]);
    expect(simulator.ledger.requests().map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });

  it('goes down and comes back on the same port with its state', async () => {
    const simulator = await start();
    const { identifier } = simulator.fleet.addServer('default');
    const token = await login(simulator);
    const url = `${simulator.baseUrl}/beta/vps/servers/${identifier}`;
    await simulator.goDown();
    await expect(statusFrom('127.0.0.1', url, token)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await simulator.comeUp();
    expect(await statusFrom('127.0.0.1', url, token)).toBe(200);
  });

  it('rejects when its port is taken', async () => {
    const { port } = await start();
    await expect(startSimulator({ port })).rejects.toThrow('EADDRINUSE');
  });

  it('reports an internal failure at close', async () => {
    const simulator = await startSimulator();
    simulator.faults.inject({
      action: {
        kind: 'body',
        body: () => {
          throw new Error('of the test');
        },
      },
    });
    await expect(fetch(simulator.baseUrl + PRODUCTS)).rejects.toThrow();
    await expect(simulator.close()).rejects.toThrow('The simulator failed');
  });

  it('serves HTTPS if it has a certificate', async () => {
    const simulator = await start({ tls: selfSigned() });
    expect(simulator.baseUrl).toMatch(/^https:/);
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    const answer = await request(`${simulator.authUrl}/login`, {
      method: 'POST',
      headers: { authorization: basic(simulator), 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
      dispatcher,
    });
    expect(answer.statusCode).toBe(200);
    await answer.body.dump();
    await dispatcher.close();
    expect(simulator.ledger.requests()).toMatchObject([{ connection: 1 }]);
  });
});

function selfSigned(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const args = ['req', '-x509', ...curve, '-subj', '/CN=localhost', '-days', '1', '-keyout', key, '-out', cert];
  execFileSync('openssl', args, { stdio: 'pipe' });
  const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return pair;
}
