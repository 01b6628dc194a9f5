/** An autoscaler and a GitOps tool share a set: who owns spec.replicas, as docs/how-to/gitops.md says. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { withOwnKey } from '../../../tools/demo/manifests.ts';
import { blocksOf, createShell, typedIn } from '../support/document.ts';
import { createWorld, type World } from '../support/world.ts';
import { APPLIERS, kubectlIn } from './applied-life.ts';
import { ROOT } from '../deploy/cluster.ts';

const SERVER_SIDE = APPLIERS.filter(({ flags }) => flags.some((flag) => flag === '--server-side'));

let manifest: string;
let handover: string;
beforeAll(async () => {
  manifest = withOwnKey(await readFile(join(ROOT, 'examples/sets/web.yaml'), 'utf8'));
  const page = await readFile(join(ROOT, 'docs/how-to/gitops.md'), 'utf8');
  const commands = blocksOf(page, 'Sets and autoscalers').flatMap(typedIn);
  handover = commands.map(({ command }) => command).join('\n');
});

/** A set that the tool applies with a number of replicas or without one; there is no operator. */
async function toolIn(world: World, flags: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-set-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const kubectl = kubectlIn(world);
  const file = join(folder, 'web.yaml');
  return {
    apply: async (replicas?: number): Promise<void> => {
      const field = replicas === undefined ? '' : `  replicas: ${replicas}\n`;
      const text = manifest.replace('  replicas: 3\n', field);
      expect(text !== manifest || replicas === 3).toBe(true);
      await writeFile(file, text);
      await kubectl('apply', ...flags, '-f', file);
    },
    // Fails with the difference, if there is one.
    diff: (): Promise<string> => kubectl('diff', ...flags, '-f', file),
    // As an autoscaler does: by the scale subresource.
    scale: (replicas: number): Promise<string> => kubectl('scale', 'vpsset/web', `--replicas=${replicas}`),
    replicas: (): Promise<string> => kubectl('get', 'vpsset/web', '--output=jsonpath={.spec.replicas}'),
  };
}

describe.each(APPLIERS)('a set that $who applies without replicas', ({ flags }) => {
  it('has one server at first, and then the number that an autoscaler sets', async () => {
    const { apply, diff, scale, replicas } = await toolIn(await createWorld({ operator: false }), flags);
    await apply();
    expect(await replicas()).toBe('1');
    await scale(5);
    await apply();
    expect(await diff()).toBe('');
    expect(await replicas()).toBe('5');
  });
});

describe.each(APPLIERS)('a set whose manifest for $who loses its replicas', ({ flags }) => {
  it('falls back to one server, which the page warns of', async () => {
    const { apply, replicas } = await toolIn(await createWorld({ operator: false }), flags);
    await apply(3);
    await apply();
    expect(await replicas()).toBe('1');
  });
});

it.each(SERVER_SIDE)("keeps its number with $who after the page's command", async ({ flags }) => {
  const world = await createWorld({ operator: false });
  const { apply, diff, scale, replicas } = await toolIn(world, flags);
  const { kubeconfigPath, kubectl } = { kubeconfigPath: inject('kubeconfigPath'), kubectl: inject('kubectl') };
  const shell = await createShell({ kubeconfigPath, kubectl, namespace: world.namespace });
  await apply(3);
  expect(await shell.run({ language: 'sh', text: handover })).toMatch(/^3.*serverside-applied$/m);
  await apply();
  expect(await replicas()).toBe('3');
  await scale(5);
  await apply();
  expect(await diff()).toBe('');
  expect(await replicas()).toBe('5');
});
