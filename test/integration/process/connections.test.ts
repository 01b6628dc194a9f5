/** How many connections the operator opens during many lives, counted at the remote ends. */
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createWorld } from '../support/world.ts';

const LIVES = 100;
/** VirtualServers, ServerCatalogs and VirtualServerSets: each watch has a connection for as long as it lasts. */
const WATCHED_KINDS = 3;

/** Forwards bytes to a port of this machine, and counts connections. */
async function startForwarder(port: number) {
  const connections = { total: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    connections.total += 1;
    const outer = connect(port, '127.0.0.1');
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    inner.pipe(outer).pipe(inner);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, connections, close };
}

it(`opens few connections in ${LIVES} lives: one per watched kind and up to seven to the API server, under ten to the provider, plus one per create`, async () => {
  const text = await readFile(inject('operatorKubeconfigPath'), 'utf8');
  const [, port = ''] = /server: https:\/\/127\.0\.0\.1:(\d+)/.exec(text) ?? [];
  const proxy = await startForwarder(Number(port));
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-connections-'));
  onTestFinished(async () => {
    proxy.close();
    await rm(folder, { recursive: true });
  });
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, text.replace(`127.0.0.1:${port}`, `127.0.0.1:${proxy.port}`));
  const world = await createWorld({
    operator: false,
    // If the provider closed idle connections, the operator would open more, which is not its fault.
    simulator: { keepAliveTimeoutMs: 60_000 },
    flags: [`--kubeconfig=${kubeconfig}`, '--max-concurrent-reconciles=32', '--max-creates-per-hour=0'],
  });
  await world.startOperator();

  const names = Array.from({ length: LIVES }, (_, index) => `web-${index}`);
  await Promise.all(names.map((name) => world.create(virtualServer(name))));
  for (const name of names) await world.waitForReason(name, 'Available', 'Ready');
  await Promise.all(names.map((name) => world.delete(name)));
  for (const name of names) await world.waitGone(name);

  const { ledger } = world.simulator;
  const creates = ledger.requests({ method: 'POST', route: '/beta/vps/servers' });
  expect(creates).toHaveLength(LIVES);
  const ofCreates = new Set(creates.map(({ connection }) => connection));
  const toProvider = ledger.connections().length - ofCreates.size;
  console.log(`connections in ${LIVES} lives: ${proxy.connections.total} to the API server,`);
  console.log(`to the provider ${ofCreates.size} of creates and ${toProvider} besides`);
  expect(proxy.connections.total).toBeLessThanOrEqual(WATCHED_KINDS + 7);
  expect(toProvider).toBeLessThan(10);
  // Each create uses a new connection on which nothing else was ever sent.
  expect(ofCreates.size).toBe(LIVES);
  expect(ledger.requests().filter(({ connection }) => ofCreates.has(connection))).toHaveLength(LIVES);
});
