/** Well-formed but wrong answers: Locations that lead elsewhere, odd identifiers, fields of another type. */
import { describe, expect, it, vi } from 'vitest';
import type { FaultAction, FaultMatch } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { records, sent, stalled, triesWithGrowingPauses } from '../support/creates.ts';
import { startElsewhere } from '../support/outage.ts';
import { condition, createWorld, type World } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const LOGIN = { route: '/login' } as const;
const CREATE = { method: 'POST', route: '/beta/vps/servers' } as const;
const POLL = { route: '/beta/queue/vps/{task}' } as const;
const READ = { method: 'GET', route: '/beta/vps/servers/{identifier}' } as const;
const DELETE = { method: 'DELETE', route: '/beta/vps/servers/{identifier}' } as const;

/** Runs one object through its whole life: ordered once, cancelled once. */
async function lives(world: World): Promise<void> {
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'Available', 'Ready');
  await ends(world);
}

async function ends(world: World): Promise<void> {
  await world.delete('web');
  await world.waitGone('web');
  expect(sent(world)).toHaveLength(1);
  const [created] = world.simulator.ledger.creates();
  expect(world.simulator.ledger.cancels().map(({ identifier }) => identifier)).toEqual([created?.identifier]);
  expect(world.simulator.aliveServers()).toEqual([]);
  expect(world.log.filter(({ level }) => level === 'error')).toEqual([]);
}

const always = (world: World, match: FaultMatch, action: FaultAction) =>
  world.simulator.faults.inject({ match, times: Infinity, action });

describe('a Location that leads away from the provider', () => {
  const PLACES: [string, (port: number, path: string) => string][] = [
    ['another host', (port, path) => `http://127.0.0.1:${port}${path}`],
    ['another scheme', (port, path) => `https://127.0.0.1:${port}${path}`],
    ['another host without a scheme', (port, path) => `//127.0.0.1:${port}${path}`],
    ['another host behind the name of a user', (port, path) => `http://simulator@127.0.0.1:${port}${path}`],
    ['a file', (_port, path) => `file://${path}`],
    ['no URL', () => 'http://['],
    ['a step upwards', (_port, path) => `${path}/../../../login`],
  ];

  it.concurrent.for(PLACES)(
    'to %s is ignored, and the operator uses the body instead',
    async ([, place], { onTestFinished }) => {
      const { port, connections } = await startElsewhere(onTestFinished);
      const world = await createWorld({ onTestFinished });
      for (const match of [CREATE, POLL]) {
        const location = (original: string): string => place(port, new URL(original).pathname);
        always(world, match, { kind: 'location', location });
      }
      await lives(world);
      expect(connections()).toBe(0);
      expect(world.simulator.ledger.unknownRoutes()).toEqual([]);
    },
  );

  it.concurrent.for([301, 302, 303, 307, 308])(
    'receives no key, token or create when a login, then a create are answered with %i',
    async (status, { onTestFinished }) => {
      const { port, connections } = await startElsewhere(onTestFinished);
      const world = await createWorld({ onTestFinished });
      const headers = { location: `http://127.0.0.1:${port}/beta/queue/vps/1001` };
      for (const match of [LOGIN, CREATE]) {
        world.simulator.faults.inject({ match, action: { kind: 'status', status, headers } });
      }
      await world.create(virtualServer('web'));
      const parked = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
      expect(stalled(parked).message).toContain(`answered ${status}, a redirect that the operator does not follow`);
      expect(world.simulator.ledger.requests({ ...LOGIN, status })).toHaveLength(1);
      expect(sent(world)).toHaveLength(1);
      expect(connections()).toBe(0);
    },
  );

  it.concurrent('to another server than the body parks the order until both agree', async ({ onTestFinished }) => {
    const world = await createWorld({ onTestFinished });
    world.simulator.fleet.addServer('default', { identifier: 'vs-of-others' });
    const location = (original: string): string => original.replace(/[^/]+$/, 'vs-of-others');
    const fault = always(world, { ...POLL, status: 303 }, { kind: 'location', location });
    await world.create(virtualServer('web'));
    const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
    expect(stalled(parked).message).toContain('body and Location of the completed task name different servers');
    expect(records(parked).annotation.identifier).not.toBe('vs-of-others');
    fault.remove();
    await world.waitForReason('web', 'Available', 'Ready');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.aliveServers().map(({ identifier }) => identifier)).toEqual(['vs-of-others']);
  });
});

describe('an identifier', () => {
  it.concurrent.for([
    'a/b/../c',
    '...',
    '..%2f..%2flogin',
    '%2e%2e',
    '%',
    'ключ-名-🔥',
    'e\u0301 \u00a0\u202e',
    '"}\\n{{x}}$(id)`',
    'a\u0001\u007f',
    'x'.repeat(253),
    '🔥'.repeat(126),
  ])('with odd characters is used unchanged: %j', async (identifier, { onTestFinished }) => {
    const world = await createWorld({ simulator: { newIdentifier: () => identifier }, onTestFinished });
    await world.create(virtualServer('web'));
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(ready.status?.identifier).toBe(identifier);
    expect(records(ready).annotation.identifier).toBe(identifier);
    await ends(world);
  });

  const UNUSABLE = [
    ['of one step', '.'],
    ['of one step upwards', '..'],
    ['that is no text', '\ud800'],
    ['of 254 characters', 'x'.repeat(254)],
    ['of 1 KB', 'x'.repeat(1024)],
    ['of 1 KB of steps', '../'.repeat(341)],
    ['of 1 MB', 'x'.repeat(1_000_000)],
  ] as const;

  it.concurrent.for(UNUSABLE)(
    '%s is not stored, and the next valid one is',
    async ([, identifier], { onTestFinished }) => {
      const world = await createWorld({ simulator: { taskDurationMs: Infinity }, onTestFinished });
      const fault = always(world, POLL, { kind: 'body', body: (body: object) => ({ ...body, identifier }) });
      await world.create(virtualServer('web'));
      const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
      expect(stalled(parked).message).toMatch(/identifier/);
      expect(records(parked).annotation).toEqual(records(parked).mirror);
      expect(records(parked).annotation.identifier).toBeUndefined();
      fault.remove();
      world.simulator.fleet.completeTask(1001);
      await world.waitForReason('web', 'Available', 'Ready');
      await ends(world);
    },
  );

  it.concurrent.for(UNUSABLE)(
    '%s that never becomes valid keeps the object and its server',
    async ([, identifier], { onTestFinished }) => {
      const world = await createWorld({ simulator: { taskDurationMs: Infinity }, onTestFinished });
      const from = Date.now();
      const fault = always(world, POLL, { kind: 'body', body: (body: object) => ({ ...body, identifier }) });
      await world.create(virtualServer('web'));
      await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
      await world.delete('web');
      const held = await world.waitFor('web', (object) => condition(object, 'Stalled')?.observedGeneration === 2);
      expect(stalled(held).reason).toBe('ProviderProtocolError');
      expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
      expect(records(held).mirror.task).toBe(1001);
      // The deletion may cause one additional call.
      expect(fault.count).toBeLessThanOrEqual(1 + triesWithGrowingPauses(world, from));
      expect(world.simulator.ledger.unknownRoutes()).toEqual([]);
      expect(world.simulator.aliveServers()).toHaveLength(1);
    },
  );
});

describe('fields of another type', () => {
  const HARMLESS: [string, FaultMatch, object][] = [
    ['a task that is not a number, with a valid Location', CREATE, { task: { id: 1001 } }],
    ['a negative task, with a valid Location', CREATE, { task: -1 }],
    ['a task with a fraction, with a valid Location', CREATE, { task: 1001.5 }],
    ['an identifier that is a number while the task runs', { ...POLL, status: 200 }, { identifier: 7, status: 'x' }],
    ['no identifier while the task runs', { ...POLL, status: 200 }, { identifier: null, status: null }],
    ['a task status that is an object', { ...POLL, status: 200 }, { status: { percent: 50 } }],
    ['a list as the identifier of a completed task', { ...POLL, status: 303 }, { identifier: ['vs1001'] }],
    ['a token lifetime that is a word', LOGIN, { expires_in: 'soon', token_type: 7 }],
    ['a negative token lifetime', LOGIN, { expires_in: -5 }],
    ['an enormous token lifetime', LOGIN, { expires_in: 1e300 }],
    ['a cancellation message that is a number', DELETE, { message: 7 }],
  ];

  it.concurrent.for(HARMLESS)('do no harm: %s', async ([, match, fields], { onTestFinished }) => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity }, onTestFinished });
    always(world, match, { kind: 'body', body: (body: object) => ({ ...body, ...fields }) });
    await world.create(virtualServer('web'));
    await world.until(() => world.simulator.ledger.requests({ ...POLL, status: 200 }).length > 1, 'two polls');
    world.simulator.fleet.completeTask(1001);
    await world.waitForReason('web', 'Available', 'Ready');
    await ends(world);
  });

  it.concurrent('remove only the affected elements of a list', async ({ onTestFinished }) => {
    const world = await createWorld({ onTestFinished });
    const among = (body: unknown[]): unknown[] => [null, 7, 'x', {}, { code: 7, name: [] }, ...body];
    always(world, { route: '/beta/vps/products' }, { kind: 'body', body: among });
    always(world, { route: '/beta/vps/images' }, { kind: 'body', body: among });
    const sizes = (body: { ssd: unknown[] }) => ({ nvme: 'many', hdd: null, ssd: ['10', null, 1.5, ...body.ssd] });
    always(world, { route: '/beta/vps/disk-sizes' }, { kind: 'body', body: sizes });
    await lives(world);
  });

  const SPOILT: [string, FaultMatch, object, RegExp][] = [
    ['a token that is a number', LOGIN, { access_token: 7 }, /no usable access token/],
    ['a token with a line break', LOGIN, { access_token: 'a\r\nx-evil: 1' }, /no usable access token/],
    ['a token of 1 MB', LOGIN, { access_token: 'x'.repeat(1_000_000) }, /no usable access token/],
    [
      'an object instead of the products',
      { route: '/beta/vps/products' },
      {},
      /products failed: the answer is not a JSON array/,
    ],
    ['a server identifier that is a number', READ, { identifier: 7 }, /is not a server/],
  ];

  it.concurrent.for(SPOILT)(
    'are reported if they are required, and the operator waits until they are valid: %s',
    async ([, match, body, words], { onTestFinished }) => {
      const world = await createWorld({ onTestFinished });
      const fault = always(world, match, { kind: 'body', body });
      await world.create(virtualServer('web'));
      const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
      expect(stalled(parked).message).toMatch(words);
      fault.remove();
      await world.waitForReason('web', 'Available', 'Ready');
      await ends(world);
    },
  );
});
