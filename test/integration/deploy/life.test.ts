/**
 * An installation on a real API server: orders and cancels, an upgrade, and its removal. test/exhaustive has other ways
 * to remove it.
 */
import { expect, it } from 'vitest';
import { INSTALL, useInstallation } from './installation.ts';

const here = useInstallation();

it('orders and cancels servers with its shipped permissions', async () => {
  const pod = await here.pod();
  await here.applyServer('web');
  await here.ready('web');
  expect(here.simulator.ledger.creates()).toHaveLength(1);
  await here.kubectl('delete', 'vps', 'web', '-n', here.namespace, '--timeout=40s');
  expect(here.alive()).toEqual([]);
  expect(await pod.stop()).toBe(0);
});

it('continues the work of an old pod in a new one, and orders nothing twice', async () => {
  const old = await here.pod();
  await old.saying('became the leader');
  await here.applyServer('web');
  await expect.poll(async () => (await here.list())[0]?.status?.record?.task).toBeDefined();
  await here.install();
  const young = await here.pod();
  expect(await old.stop()).toBe(0);
  await young.saying('became the leader');
  await here.ready('web');
  expect(here.simulator.ledger.creates()).toHaveLength(1);
  await here.kubectl('delete', 'vps', 'web', '-n', here.namespace, '--timeout=40s');
});

it('leaves servers, objects and CRD alone when install.yaml is deleted, twice, and manages them again afterwards', () =>
  here.removeTwice(INSTALL));
