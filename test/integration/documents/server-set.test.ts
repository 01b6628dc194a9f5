/**
 * Follows docs/how-to/server-set.md with kubectl, a real API server, the operator and a simulated provider. There is no garbage
 * collector: the page scales the set to 0 before it deletes the set.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { createShell, followSection } from '../support/document.ts';
import { usePlugin } from '../support/plugin.ts';
import { createWorld } from '../support/world.ts';

const page = await readFile(join(import.meta.dirname, '../../../docs/how-to/server-set.md'), 'utf8');
const folder = usePlugin();
const DEBIAN = Array(3).fill('cloudinit-debian-trixie.raw.gz');
/** Allows for some thirty calls of kubectl. */
const WHOLE_MS = 240_000;

it('leads through the life of a set', { timeout: WHOLE_MS }, async () => {
  const world = await createWorld();
  const { simulator } = world;
  const shell = await createShell({
    kubeconfigPath: inject('kubeconfigPath'),
    kubectl: inject('kubectl'),
    namespace: world.namespace,
    path: [folder()],
  });
  const orders = (): number => simulator.ledger.creates().length;
  /** The image of each server that is alive. */
  const images = (): unknown[] => {
    const alive = new Set(simulator.aliveServers().map(({ serial }) => serial));
    const ordered = simulator.ledger.creates().filter(({ serial }) => alive.has(serial));
    return ordered.map(({ body }) => body['image']);
  };
  const follow = (heading: string): Promise<string> => followSection(shell, page, heading);

  expect(await follow('Create a set')).toMatch(/^web .*\n(?:.*\n)*.*web-2/m);
  expect([orders(), images()]).toEqual([3, DEBIAN]);
  await follow('Scale a set');
  expect([orders(), images()]).toEqual([4, DEBIAN]);
  // To another image, and back again.
  expect(await follow('Roll out a change')).toMatch(/"web" successfully rolled out\n$/);
  expect([orders(), images()]).toEqual([10, DEBIAN]);
  await follow('Pause');
  await follow('Protect a set');
  expect([orders(), images().length]).toEqual([10, 3]);
  expect(await follow('Replace a member')).toContain('virtualserver.vps-operator.dev "web-0" deleted');
  await world.until(() => orders() === 11 && images().length === 3, 'the replacement of web-0');
  await follow('Take a member out of the set');
  await world.until(() => orders() === 12 && images().length === 4, 'the replacement of web-2');
  expect(await follow('Delete a set')).toContain('virtualserverset.vps-operator.dev "web" deleted');
  await world.until(() => images().length === 1, 'the cancellation of all members');
  expect((await world.get('web-2'))?.status?.identifier).toBe(simulator.aliveServers()[0]?.identifier);
  expect(orders()).toBe(12);
});
