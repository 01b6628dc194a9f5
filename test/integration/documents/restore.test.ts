/** Follows docs/how-to/backup-and-restore.md with a set, whose objects are lost between backup and restore. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { blocksOf, createShell, typedIn } from '../support/document.ts';
import { usePlugin } from '../support/plugin.ts';
import { createSet } from '../support/sets.ts';
import { createWorld } from '../support/world.ts';

const page = await readFile(join(import.meta.dirname, '../../../docs/how-to/backup-and-restore.md'), 'utf8');
const folder = usePlugin();
const WHOLE_MS = 120_000;

it('brings a set and its members back without another order', { timeout: WHOLE_MS }, async () => {
  const world = await createWorld();
  const { simulator, namespace } = world;
  const shell = await createShell({
    kubeconfigPath: inject('kubeconfigPath'),
    kubectl: inject('kubectl'),
    namespace,
    path: [folder()],
    // Other tests use other namespaces of the API server.
    replace: { ' --all-namespaces': '' },
  });
  const run = (command: string): Promise<string> => shell.run({ language: 'sh', text: command });
  const type = async (heading: string, text: string): Promise<void> => {
    const typed = blocksOf(page, heading).flatMap(typedIn);
    const { command } = typed.find((one) => one.command.includes(text)) ?? {};
    if (command === undefined) throw new Error(`"${heading}" has no command with ${text}`);
    await run(command);
  };
  const set = await createSet(world, { replicas: 2 });
  await set.waitForReason('Available');
  const before = simulator.aliveServers();

  await type('Back up', 'get vps --');
  await type('Back up', 'get vpsset');
  await world.stopOperator();
  // Without a garbage collector, its members stay.
  await run('kubectl delete vpsset web');
  await run(
    `for name in web-0 web-1; do kubectl patch vps $name --type merge -p '{"metadata":{"finalizers":null}}'; done`,
  );
  await run('kubectl delete vps --all --wait=false');
  await world.until(async () => (await world.get('web-1')) === undefined, 'the loss of the objects');
  await world.startOperator();

  await type('Restore objects', 'virtualservers.yaml | kubectl create');
  await world.waitForReason('web-1', 'RecordMismatch');
  expect((await world.get('web-0'))?.metadata.ownerReferences).toBeUndefined();
  await run('kubectl vps adopt --from-record --all --yes');
  await world.waitForReason('web-0', 'Available');
  await world.waitForReason('web-1', 'Available');
  await type('Restore objects', 'virtualserversets.yaml | kubectl create');
  const { status } = await set.waitForReason('Available');
  expect(status).toMatchObject({ replicas: 2, updatedReplicas: 2 });
  expect(simulator.aliveServers()).toEqual(before);
  expect([simulator.ledger.creates().length, simulator.ledger.cancels()]).toEqual([2, []]);
});
