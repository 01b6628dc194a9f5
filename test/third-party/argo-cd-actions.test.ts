/** Argo CD's resource actions, run by Argo CD's interpreter: its own test format, and their effect on a real object. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { RECONCILE_AT_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { customization, KINDS, type Kind } from '../../tools/gitops.ts';
import { SOME_TIME } from '../fixtures/resource-actions.ts';
import { virtualServer } from '../fixtures/virtual-server.ts';
import { readyServer } from '../integration/support/records.ts';
import { createSet } from '../integration/support/sets.ts';
import { createWorld, type World } from '../integration/support/world.ts';
import { buildJudge, judge } from './judge.ts';

const BUILD_MS = 20 * 60_000;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Argo CD's action_test.yaml. */
interface ActionTests {
  discoveryTests: { inputPath: string; result: { name: string; disabled?: boolean; params?: { name: string }[] }[] }[];
  actionTests: {
    action: string;
    inputPath: string;
    parameters?: Record<string, string>;
    expectedOutputPath?: string;
    expectedErrorMessage?: string;
  }[];
}

interface Loose {
  metadata: { annotations?: Record<string, string> };
}

beforeAll(async () => {
  await buildJudge();
}, BUILD_MS);

/** Replaces the current time, as Argo CD's own tests do. */
function timeless(object: Loose): Loose {
  const { annotations = {} } = object.metadata;
  const time = annotations[RECONCILE_AT_ANNOTATION];
  if (time === undefined) return object;
  expect(time).toMatch(TIME);
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...annotations, [RECONCILE_AT_ANNOTATION]: SOME_TIME } },
  };
}

describe.each(KINDS)('action_test.yaml of %s', (kind: Kind) => {
  const path = join(customization(kind), 'actions/action_test.yaml');
  const read = async (relative: string): Promise<Loose> =>
    parse(await readFile(join(dirname(path), relative), 'utf8')) as Loose;

  it('passes when it is run as Argo CD runs its own tests', async () => {
    const { discoveryTests, actionTests } = parse(await readFile(path, 'utf8')) as ActionTests;
    const inputs = new Set([...discoveryTests, ...actionTests].map(({ inputPath }) => inputPath));
    const objects = Object.fromEntries(
      await Promise.all([...inputs].map(async (input) => [input, await read(input)] as const)),
    );
    const judged = await judge(objects);
    expect(discoveryTests.length).toBeGreaterThan(0);
    for (const { inputPath, result } of discoveryTests) {
      expect(judged[inputPath]?.actions.offered, inputPath).toEqual(result);
    }
    const tested = new Set(actionTests.map(({ action }) => action));
    expect([...tested].sort()).toEqual(discoveryTests[0]?.result.map(({ name }) => name));
    for (const { action, inputPath, parameters, expectedOutputPath, expectedErrorMessage } of actionTests) {
      const { [inputPath]: judgement } =
        parameters === undefined ? judged : await judge({ [inputPath]: objects[inputPath] }, parameters);
      const { object, error } = judgement?.actions.results[action] ?? {};
      expect(error, `${action} ${inputPath}`).toBe(expectedErrorMessage);
      if (expectedOutputPath === undefined) continue;
      expect(timeless(object as Loose), `${action} ${inputPath}`).toEqual(await read(expectedOutputPath));
    }
  });
});

describe('the actions on an object that the operator reconciles', () => {
  /** Runs an action as Argo CD does: computes the merge patch from the live object and sends it. */
  async function run(world: World, name: string, action: string): Promise<VirtualServer> {
    const live = await world.get(name);
    const { offered, results } = (await judge({ live })).live?.actions ?? { offered: [], results: {} };
    expect(offered.find((each) => each.name === action)).toEqual({ name: action });
    return world.patch(name, results[action]?.patch ?? {});
  }

  it('pause, resume, reconcile, protect and retain the server', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    await run(world, 'web', 'pause');
    await world.waitForReason('web', 'Paused', 'Paused');
    await run(world, 'web', 'resume');
    await world.waitFor('web', ({ status }) => status?.conditions?.every(({ type }) => type !== 'Paused') === true);

    const reads = (): number =>
      world.simulator.ledger.requests({ method: 'GET', route: '/beta/vps/servers/{identifier}' }).length;
    const before = reads();
    await run(world, 'web', 'reconcile');
    await expect.poll(reads).toBeGreaterThan(before);

    await run(world, 'web', 'protect');
    await run(world, 'web', 'retain');
    expect((await world.get('web'))?.spec).toMatchObject({ deletionProtection: true, deletionPolicy: 'Retain' });
    await world.patch('web', { spec: { deletionProtection: false } });
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });

  it('resume an object that has no other annotation', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    await run(world, 'web', 'pause');
    const { metadata } = await run(world, 'web', 'resume');
    expect(metadata.annotations ?? {}).toEqual({});
  });

  it('pause, scale, resume and protect a set', async () => {
    const world = await createWorld();
    const set = await createSet(world, { replicas: 1 });
    const orders = (): number => world.simulator.ledger.creates().length;
    const run = async (action: string, parameters?: Record<string, string>): Promise<void> => {
      const live = await set.get();
      const { offered, results } = (await judge({ live }, parameters)).live?.actions ?? { offered: [], results: {} };
      expect(offered.find(({ name }) => name === action)?.disabled).toBeUndefined();
      await set.patch(results[action]?.patch ?? {});
    };
    await world.waitForReason('web-0', 'Available', 'Ready');
    await run('pause');
    await run('scale', { replicas: '2' });
    const { status } = await set.waitForReason('Scaling');
    expect(status).toMatchObject({ replicas: 1, unavailableReplicas: 1 });
    expect(orders()).toBe(1);
    await run('resume');
    await world.waitForReason('web-1', 'Available', 'Ready');
    expect(orders()).toBe(2);
    await run('protect');
    for (const name of ['web-0', 'web-1']) await world.waitFor(name, ({ spec }) => spec.deletionProtection);
  });
});
