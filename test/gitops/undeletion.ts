/** What the tests with Argo CD and with Flux share: a server with a delay, and its return while the tool watches. */
import { expect } from 'vitest';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { annotatedRecordOf } from '../fixtures/records.ts';
import { answerStatus } from '../integration/kube/proxy.ts';
import { createPlugin } from '../integration/support/plugin.ts';
import { pluginBehindProxy } from '../integration/support/plugin-proxy.ts';
import type { World } from '../integration/support/world.ts';

/** A process of the operator that has just started hands over nothing for that long. */
export const QUICK_HAND_OVERS = ['--create-timeout=1s', '--takeover-grace=1s'];

/** The manifest of a server that is cancelled only a day after its deletion. */
export const delayed = (manifest: string): string => manifest.replace(/^spec:\n/m, 'spec:\n  deletionDelay: 24h\n');

interface Undeletion {
  world: World;
  /** Of the deleted object. */
  name: string;
  /** Its server. */
  server: string | undefined;
}

export const serverOf = (object: VirtualServer | undefined): string | undefined =>
  object && annotatedRecordOf(object)?.identifier;

/** Takes the deletion back as a user does. */
export async function undelete(folder: string, { world, name, server }: Undeletion): Promise<void> {
  const plugin = await createPlugin(folder, world.namespace);
  const { code, stdout, stderr } = await plugin.kubectl(['vps', 'undelete', name]);
  expect([code, stdout, stderr]).toEqual([0, `${name} holds server ${server}\n`, stderr]);
}

/** The same, but the tool creates the object, which waits for its server: `look` makes the tool look now. */
export async function undeleteWithTool(folder: string, returned: Undeletion, look: () => Promise<unknown>) {
  const { world, name } = returned;
  const { plugin, proxy } = await pluginBehindProxy(folder, world);
  let creates = 0;
  proxy.intercept = ({ method, url = '' }, response) => {
    if (method !== 'POST' || !url.includes('/virtualservers') || url.includes('dryRun')) return false;
    creates += 1;
    // The first one creates the object between.
    return creates > 1 && answerStatus(response, 403);
  };
  const { code } = await plugin.kubectl(['vps', 'undelete', name]);
  proxy.intercept = undefined;
  // A tool that watches the object is usually faster than the plugin.
  expect([code, creates]).toEqual(code === 0 ? [0, 1] : [1, 2]);
  if (code === 0) return;
  await look();
  await world.waitForReason(name, 'HandOverPending', 'Reconciling');
  await undelete(folder, returned);
}

/** Nothing was ordered or cancelled since the one order, and no other object than this holds the server. */
export async function expectReturned(world: World, name: string, before: VirtualServer | undefined): Promise<void> {
  const after = await world.get(name);
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
  expect(after?.metadata.deletionTimestamp).toBeUndefined();
  expect(serverOf(after)).toBe(serverOf(before));
  await world.waitGone(`${name}-back`);
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.ledger.cancels()).toEqual([]);
  expect(world.simulator.aliveServers()).toHaveLength(1);
}
