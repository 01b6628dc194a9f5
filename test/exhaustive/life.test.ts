/**
 * Removal of an installation while servers exist, on a real API server, as docs/how-to/remove.md describes it: the operator,
 * a namespace, and the CRD.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BOTH, CRD, useInstallation } from '../integration/deploy/installation.ts';
import { SYSTEM } from '../integration/deploy/pod.ts';

const here = useInstallation();

it('leaves servers, objects and CRD alone when its namespace is deleted, twice, then manages them again', () =>
  here.removeTwice(['namespace', SYSTEM]));

it('cancels nothing when the guards are deleted too, twice, and new objects can adopt the servers', async () => {
  const pod = await here.pod();
  await here.applyServer('web');
  await here.ready('web');
  const servers = here.alive();
  const refused = here.kubectl('delete', '--wait=false', ...BOTH);
  await expect(refused).rejects.toThrow('vps-operator.dev/allow-deletion=true');
  await pod.stop();
  // A deleted policy stays in effect for a moment.
  await expect
    .poll(() => here.kubectl('delete', '--wait=false', '--ignore-not-found', ...BOTH).then(() => 'deleted', String))
    .toBe('deleted');
  await expect.poll(async () => (await here.list())[0]?.metadata.deletionTimestamp).toBeDefined();
  await here.kubectl('wait', `namespace/${SYSTEM}`, '--for=delete', '--timeout=2m');

  await here.install();
  await here.configure();
  const next = await here.pod();
  const stalled = 'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}';
  await here.kubectl('wait', 'vps/web', '-n', here.namespace, `--for=${stalled}=CRDDeleting`, '--timeout=2m');
  expect(here.alive()).toEqual(servers);

  // Follows the runbook for CRDDeleting.
  const saved = await here.kubectl('get', 'vps', '--all-namespaces', '-o', 'yaml');
  const patch = '--patch={"spec":{"deletionPolicy":"Retain","deletionProtection":false}}';
  await here.kubectl('patch', 'vps', 'web', '-n', here.namespace, '--type=merge', patch);
  await here.kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=2m');
  await next.stop();
  await here.install();
  const again = await here.pod();
  await again.saying('operator runs');
  const file = join(await mkdtemp(join(tmpdir(), 'vps-operator-saved-')), 'virtualservers.yaml');
  onTestFinished(() => rm(dirname(file), { recursive: true }));
  await writeFile(file, saved.replaceAll(/^ {4}(resourceVersion|uid):.*\n/gm, ''));
  await here.kubectl('create', '-f', file);
  await here.kubectl('wait', 'vps/web', '-n', here.namespace, `--for=${stalled}=RecordMismatch`, '--timeout=2m');
  await here.kubectl('annotate', 'vps', 'web', '-n', here.namespace, `vps-operator.dev/adopt=${servers[0] ?? ''}`);
  await here.ready('web');
  expect(here.alive()).toEqual(servers);
  expect(here.simulator.ledger.creates()).toHaveLength(1);
  await here.kubectl('delete', 'vps', 'web', '-n', here.namespace, '--timeout=2m');
  expect(here.alive()).toEqual([]);
  await again.stop();
});

it('cancels the servers of a deleted namespace although its Secret is deleted too', async () => {
  const pod = await here.pod();
  await here.applyServer('one');
  await here.applyServer('two');
  await here.ready('one', 'two');
  await here.kubectl('delete', 'namespace', here.namespace, '--timeout=2m');
  expect(here.alive()).toEqual([]);
  await pod.stop();
});

it('cancels every server that it may when the CRD is deleted, and releases the CRD after the last object', async () => {
  const pod = await here.pod();
  await here.applyServer('web');
  await here.applyServer('kept', { deletionProtection: true });
  await here.ready('web', 'kept');
  await expect(here.kubectl('delete', 'crd', CRD, '--wait=false')).rejects.toThrow('deletes every VirtualServer');
  await here.kubectl('annotate', 'crd', CRD, 'vps-operator.dev/allow-deletion=true');
  await here.kubectl('delete', 'crd', CRD, '--wait=false');

  await here.kubectl('wait', 'vps/web', '-n', here.namespace, '--for=delete', '--timeout=2m');
  const reason = 'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}';
  await here.kubectl('wait', 'vps/kept', '-n', here.namespace, `--for=${reason}=DeletionProtected`, '--timeout=2m');
  expect(here.alive()).toHaveLength(1);
  const patch = '{"spec":{"deletionPolicy":"Retain"}}';
  await here.kubectl('patch', 'vps', 'kept', '-n', here.namespace, '--type=merge', `--patch=${patch}`);
  await here.kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=2m');
  expect(here.alive()).toHaveLength(1);
  await pod.stop();
});

it('cancels nothing while no operator runs, and catches up on deletions when one starts', async () => {
  const pod = await here.pod();
  await here.applyServer('web');
  await here.ready('web');
  await pod.stop();
  await here.kubectl('annotate', 'crd', CRD, 'vps-operator.dev/allow-deletion=true');
  await here.kubectl('delete', 'crd', CRD, '--wait=false');
  await expect.poll(async () => (await here.list())[0]?.metadata.deletionTimestamp).toBeDefined();
  expect(here.alive()).toHaveLength(1);
  await here.pod();
  await here.kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=2m');
  expect(here.alive()).toEqual([]);
});
