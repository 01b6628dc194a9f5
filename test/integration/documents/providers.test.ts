/** Follows "Check your own provider in five minutes" of docs/reference/providers.md, with kubectl and a simulated provider. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { createShell, followSection } from '../support/document.ts';
import { createWorld } from '../support/world.ts';

const page = await readFile(join(import.meta.dirname, '../../../docs/reference/providers.md'), 'utf8');

it('leads from an API key to one server that is cancelled again', async () => {
  const account = { name: 'reader', keys: [{ keyId: 'my-key-id', secret: 'my-key-secret' }] };
  const world = await createWorld({ secret: false, simulator: { accounts: [account] } });
  const shell = await createShell({
    kubeconfigPath: inject('kubeconfigPath'),
    kubectl: inject('kubectl'),
    namespace: world.namespace,
  });
  const said = await followSection(shell, page, 'Check your own provider in five minutes');
  expect(said).toContain('virtualserver.vps-operator.dev/trial condition met');
  expect(said).toMatch(/^virtualserver.vps-operator.dev "trial" deleted/m);
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.aliveServers()).toEqual([]);
});
