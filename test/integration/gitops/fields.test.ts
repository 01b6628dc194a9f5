/** An object's whole life while tools repeatedly apply the same manifest; test/exhaustive has the other tools. */
import { expect, it } from 'vitest';
import { spawnOperator } from '../support/process.ts';
import { createWorld } from '../support/world.ts';
import { APPLIERS, applyThroughLife, difference, kubectlIn, LIFE_MS, MANIFEST, NAME, OBJECT } from './applied-life.ts';

it.each(APPLIERS.slice(0, 1))(
  'applies one manifest with $who through a whole life without a difference or a conflict',
  { timeout: LIFE_MS },
  applyThroughLife,
);

it(
  'applies a manifest with all tools at once without a conflict, and carries out an edit by one of them',
  async () => {
    const world = await createWorld({ operator: false });
    const kubectl = kubectlIn(world);
    await spawnOperator(world);
    for (const { flags } of APPLIERS)
      await kubectl('apply', ...flags.filter((flag) => flag !== '--force-conflicts'), '-f', MANIFEST);
    await kubectl('wait', '--for=condition=Ready', OBJECT, '--timeout=60s');
    for (const { flags } of APPLIERS) expect(await difference(kubectl, flags)).toBe('');

    await kubectl('patch', OBJECT, '--type=merge', '--patch', '{"spec":{"deletionPolicy":"Retain"}}');
    await world.waitFor(NAME, ({ status }) => status?.observedGeneration === 2);
    await kubectl('delete', OBJECT, '--timeout=60s');
    expect(world.simulator.aliveServers()).toHaveLength(1);
  },
  LIFE_MS,
);
