/**
 * A provider that fails for a while, and four objects: one whose server is being created, one that is Ready, one that
 * is being deleted, and one created later. Whatever the provider does, all of them reach their goal once it is healthy
 * again.
 */
import { mirrorIn } from '../../../src/api/record.ts';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, type TestContext } from 'vitest';
import type { FaultAction, FaultHandle, FaultMatch, RequestEntry } from '../../../src/simulator/index.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { triesWithGrowingPauses } from './creates.ts';
import { condition, createWorld, type World } from './world.ts';

const ROLES = ['making', 'ready', 'leaving', 'late'] as const;
export type Role = (typeof ROLES)[number];

export interface Saying {
  reason: string;
  words: RegExp;
}

export interface Outage {
  name: string;
  /** Whether every call fails, or only the login that a revoked token makes necessary. */
  at: 'calls' | 'login';
  /** Gets the port of another host that must never be connected to. */
  action: (elsewhere: number) => FaultAction;
  /** What the objects report. */
  says: Saying;
  differs?: Partial<Record<Role, Saying>>;
  /** Calls per try of one object to the same endpoint; default 1. */
  callsPerTry?: number;
  /** The first call of each object is repeated at once: its connection may have died while it was idle. */
  repeatsFirst?: true;
  /** Number of objects that ask for the lists; default 1, the late one. */
  listReaders?: number;
  /** The earliest time of a call's first retry (ms after the call, or ms since the epoch). */
  retryAfter?: { ms: number } | { at: () => number };
  flags?: string[];
}

/** All calls but the create, which is not sent while the lists fail. A server that cannot be read is not cancelled. */
const CALLS: FaultMatch[] = [
  { route: '/beta/vps/products' },
  { route: '/beta/vps/images' },
  { route: '/beta/vps/disk-sizes' },
  { route: '/beta/queue/vps/{task}' },
  { method: 'GET', route: '/beta/vps/servers/{identifier}' },
];

/** A separate key, because lists that were just read with another one would suffice for a create. */
const LATE_KEY = { keyId: 'late-key', secret: 'secret-of-the-late-key' };

/** Number of tries per object before the provider recovers. */
const TRIES = 2;
/** One second, minus its jitter. */
const FIRST_PAUSE_MS = 900;

export async function throughOutage(outage: Outage, { onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const elsewhere = await startElsewhere(onTestFinished);
  const world = await createWorld({
    simulator: { taskDurationMs: 50, accounts: [{ name: 'default', keys: [DEFAULT_KEY, LATE_KEY] }] },
    flags: ['--resync-interval=100ms', ...(outage.flags ?? [])],
    onTestFinished,
  });
  const identifiers = await prepare(world);
  const from = Date.now();
  const faults = inject(world, outage, elsewhere.port);
  await world.delete('leaving');
  await world.create(virtualServer('late', withSpec({ apiKeySecretRef: { name: 'late' } })));
  const struck = (): Map<string, RequestEntry[]> => groups(world, from);
  await Promise.all(ROLES.map((role) => says(world, outage, role)));
  await world.until(
    () => enoughTries(outage, struck()),
    () => `${TRIES} tries per object: ${JSON.stringify([...struck()].map(([key, calls]) => [key, calls.length]))}`,
  );
  expectFewCalls(world, outage, from, struck());
  for (const fault of faults) fault.remove();
  await expectRecovery(world, identifiers);
  expect(elsewhere.connections()).toBe(0);
  expect(world.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
}

/** Prepares three objects; the fourth is created later. */
async function prepare(world: World): Promise<{ ready: string; leaving: string }> {
  await world.putSecret('late', LATE_KEY);
  for (const name of ['ready', 'leaving']) await world.create(virtualServer(name));
  const [ready = '', leaving = ''] = await Promise.all(
    ['ready', 'leaving'].map(
      async (name) => (await world.waitForReason(name, 'Available', 'Ready')).status?.identifier,
    ),
  );
  world.simulator.fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('making'));
  await world.waitFor('making', ({ status }) => status?.record?.identifier !== undefined);
  world.simulator.fleet.setTaskDuration(50);
  return { ready, leaving };
}

function inject(world: World, { at, action }: Outage, elsewhere: number): FaultHandle[] {
  const { faults, accounts } = world.simulator;
  const order = (match: FaultMatch): FaultHandle =>
    faults.inject({ match, times: Infinity, action: action(elsewhere) });
  if (at === 'calls') return CALLS.map(order);
  const fault = order({ route: '/login' });
  accounts.forgetTokens();
  return [fault];
}

/** Waits until the object reports the problem. */
async function says(world: World, { says: usual, differs }: Outage, role: Role): Promise<void> {
  const expected = differs?.[role] ?? usual;
  const object = await world.waitFor(
    role,
    ({ status }) =>
      status?.conditions?.some(({ reason, message }) => reason === expected.reason && expected.words.test(message)) ===
      true,
    `${expected.reason} with ${String(expected.words)}`,
  );
  // A running server keeps running, whatever the provider answers.
  if (role === 'ready' && expected.reason.startsWith('Provider')) {
    expect(condition(object, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
  }
  if (role === 'late') expect(object.metadata.finalizers).toBeUndefined();
  else expect(object.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
}

/** Calls since `from` that the fault hit, grouped by endpoint. */
function groups(world: World, from: number): Map<string, RequestEntry[]> {
  const found = new Map<string, RequestEntry[]>();
  for (const entry of world.simulator.ledger.requests()) {
    if (entry.at < from || entry.fault === undefined) continue;
    const key = `${entry.method} ${entry.route} ${entry.param}`;
    found.set(key, [...(found.get(key) ?? []), entry]);
  }
  return found;
}

/** Whether each waiting object has tried often enough to show the pauses between its tries. */
function enoughTries(outage: Outage, struck: Map<string, RequestEntry[]>): boolean {
  const { callsPerTry = 1 } = outage;
  const count = (start: string): number => {
    const sums = [...struck].map(([key, entries]) => (key.startsWith(start) ? entries.length : 0));
    return Math.max(0, ...sums) / callsPerTry;
  };
  // The first round takes at most one login per object, plus one for the object that is being deleted.
  if (outage.at === 'login') return count('POST /login') > ROLES.length + 1;
  return (
    count('GET /beta/queue') >= TRIES &&
    count('GET /beta/vps/servers/') >= TRIES &&
    count('GET /beta/vps/products') >= TRIES
  );
}

/** The calls and the steps since `from`, in ms, for the message of a failed check. */
function timeline(world: World, from: number, struck: Map<string, RequestEntry[]>): string {
  const calls = [...struck].map(([key, entries]) => [key, ...entries.map(({ at }) => at - from)]);
  const steps = world.log
    .filter(({ action, time }) => action !== undefined && Date.parse(String(time)) >= from)
    .map(({ time, name, action, outcome, reason }) => [Date.parse(String(time)) - from, name, action, outcome, reason]);
  return JSON.stringify({ calls, steps });
}

/** Checks the number of calls: the operator pauses for one second first, then twice as long each time. */
function expectFewCalls(world: World, outage: Outage, from: number, struck: Map<string, RequestEntry[]>): void {
  const seconds = (Date.now() - from) / 1000;
  const { callsPerTry = 1, repeatsFirst = false, listReaders = 1, retryAfter } = outage;
  const tries = triesWithGrowingPauses(world, from);
  const calls = [...struck.values()].reduce((sum, entries) => sum + entries.length, 0);
  console.log(`outage of ${seconds.toFixed(1)} s: ${calls} calls for ${ROLES.length} objects (${outage.name})`);
  for (const [key, entries] of struck) {
    // A login serves all objects; the deleted one may need it before that too. A server may be read just before its
    // object is deleted, and again for the deletion.
    const readers = key.startsWith('GET /beta/vps/servers/') ? 2 : 1;
    const askers = outage.at === 'login' ? ROLES.length + 1 : key.includes('products') ? listReaders : readers;
    const atOnce = askers * callsPerTry;
    const repeated = repeatsFirst ? askers : 0;
    expect(entries.length, key).toBeLessThanOrEqual(atOnce * tries + repeated);
    const [first, second] = [entries[0]?.at ?? 0, entries[atOnce + repeated]?.at];
    // A reconcile that meets a newer version is repeated at once.
    if (second === undefined || world.log.some(({ msg }) => msg === 'reconcile met a newer version; retrying'))
      continue;
    const asked = retryAfter === undefined ? 0 : 'ms' in retryAfter ? first + retryAfter.ms : retryAfter.at();
    expect(second, `${key} again; ${timeline(world, from, struck)}`).toBeGreaterThanOrEqual(
      Math.max(asked, first + FIRST_PAUSE_MS),
    );
  }
  expect(world.simulator.ledger.creates()).toHaveLength(3);
}

async function expectRecovery(world: World, { ready, leaving }: { ready: string; leaving: string }): Promise<void> {
  const { ledger, fleet } = world.simulator;
  const task = mirrorIn((await world.get('making'))?.status)?.task ?? 0;
  fleet.completeTask(Number(task));
  await Promise.all([
    ...['making', 'ready', 'late'].map((name) =>
      world.waitFor(
        name,
        ({ status }) =>
          status?.conditions?.length === 1 &&
          status.conditions[0]?.type === 'Ready' &&
          status.serverStatus === 'running',
        'Ready and no other condition',
      ),
    ),
    world.waitGone('leaving'),
  ]);
  expect(ledger.creates()).toHaveLength(4);
  expect(ledger.requests({ method: 'POST', route: '/beta/vps/servers' })).toHaveLength(4);
  expect(ledger.cancels().map(({ identifier }) => identifier)).toEqual([leaving]);
  const held = await Promise.all(['making', 'ready', 'late'].map(async (name) => (await world.get(name))?.status));
  const alive = world.simulator.aliveServers().map(({ identifier }) => identifier);
  expect(held.map((status) => status?.identifier).sort()).toEqual(alive.sort());
  expect(held[1]?.identifier).toBe(ready);
}

/** Another host that counts its connections, and proves that it counts. */
export async function startElsewhere(
  onTestFinished: (end: () => Promise<void>) => void,
): Promise<{ port: number; connections: () => number }> {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(connect(port, '127.0.0.1'), 'close');
  expect(count).toBe(1);
  onTestFinished(async () => {
    server.close();
    await once(server, 'close');
  });
  return { port, connections: () => count - 1 };
}
