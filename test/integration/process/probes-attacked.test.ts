/** Peers hold connections to the probe port of a real operator while orders are in flight. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { probe, slowPeers, type SlowPeers, type Target } from '../../fixtures/slow-peers.ts';
import { SSH_KEY, virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { CREATE } from '../support/creates.ts';
import { spawnOperator } from '../support/process.ts';
import { createWorld, type World } from '../support/world.ts';

// A separate address, so that the port is still free when an operator starts on it again.
const HOST = '127.0.0.5';
const KUBELET = '127.0.0.6';
/** As many objects as one namespace gets workers in this operator. */
const NAMES = ['web-0', 'web-1', 'web-2'];

const sshKey = (name: string): string => `${SSH_KEY}-${name}`;

async function createServers(world: World): Promise<void> {
  for (const name of NAMES) await world.create(virtualServer(name, withSpec({ sshKeys: [sshKey(name)] })));
}

/** Identifiers of the servers that were ordered for the object. */
function ordered(world: World, name: string): string[] {
  const own = world.simulator.ledger.creates().filter(({ body }) => body['ssh_keys'] === sshKey(name));
  return own.map(({ identifier }) => identifier);
}

interface Attacked {
  target: Target;
  attack: SlowPeers;
}

/** Starts an operator with a probe port, and 140 slow connections to it until the test ends. */
async function attackedOperator(world: World): Promise<Attacked> {
  // Orders stay in flight for as long as the test needs.
  await spawnOperator(world, [`--health-probe-bind-address=${HOST}:0`, '--create-timeout=60s']);
  const served = () => world.log.find(({ msg }) => msg === 'serving pages');
  await world.until(() => served() !== undefined, 'the pages to be served');
  const target: Target = { host: HOST, port: Number(served()?.['port']) };
  // Some peers share the kubelet's address, like pods in the host network.
  const from = (peer: number): string => (peer % 2 === 0 ? KUBELET : '127.0.0.7');
  const attack = slowPeers(target, { count: 140, from, talk: true });
  onTestFinished(() => attack.stop());
  await world.until(() => attack.made() >= 140, 'the connections');
  return { target, attack };
}

function allReady(world: World): Promise<VirtualServer[]> {
  return Promise.all(NAMES.map((name) => world.waitForReason(name, 'Available', 'Ready')));
}

/** The answers that the kubelet gets during the work. */
async function probesDuring({ target, attack }: Attacked, work: Promise<unknown>): Promise<(number | string)[]> {
  const answers = [];
  const over = new AbortController();
  const done = work.finally(() => over.abort());
  while (!over.signal.aborted) answers.push(await probe(target, '/livez', KUBELET, attack));
  await done;
  return answers;
}

describe('an operator whose probe port is full of slow connections', () => {
  it('stays alive for the kubelet, and orders each server once', async () => {
    const world = await createWorld({ operator: false });
    const attacked = await attackedOperator(world);
    const { attack } = attacked;
    const held = world.simulator.faults.inject({
      match: CREATE,
      times: NAMES.length,
      action: { kind: 'hang', after: true },
    });
    await createServers(world);
    const answers = await probesDuring(attacked, held.met);
    // Long enough for every limit and deadline to take effect, and for the peers to reconnect.
    const before = attack.made();
    const again = world.until(() => attack.made() >= before + 280, 'the connections to be made again');
    answers.push(...(await probesDuring(attacked, again)));
    held.release();
    const ready = allReady(world);
    answers.push(...(await probesDuring(attacked, ready)));
    expect(answers.length).toBeGreaterThan(10);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    for (const { metadata, status } of await ready) expect(ordered(world, metadata.name)).toEqual([status?.identifier]);
  });
});
