/**
 * The ends of an installation on a real API server, with servers in it all the while, that docs/install.md describes: of
 * the operator, of a namespace, of the CRD.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BOTH, CRD, useInstallation } from '../integration/deploy/installation.ts';
import { SYSTEM } from '../integration/deploy/pod.ts';

const here = useInstallation();

it('leaves servers, objects and CRD alone when its namespace is deleted, twice, and takes them up again', () =>
  here.removeTwice(['namespace', SYSTEM]));

it('cancels nothing when the guards are deleted too, twice, and the servers can be taken over by new objects', async () => {
  const pod = await here.pod();
  await here.applyServer('web');
  await here.ready('web');
  const servers = here.alive();
  const refused = here.kubectl('delete', '--wait=false', ...BOTH);
  await expect(refused).rejects.toThrow('vps-operator.dev/allow-deletion=true');
  await pod.stop();
  // A policy that was deleted is in force for a moment more.
  await expect
    .poll(() => here.kubectl('delete', '--wait=false', '--ignore-not-found', ...BOTH).then(() => 'deleted', String))
    .toBe('deleted');
  await expect.poll(async () => (await here.list())[0]?.metadata.deletionTimestamp).toBeDefined();
  await here.kubectl('wait', `namespace/${SYSTEM}`, '--for=delete', '--timeout=50s');

  await here.install();
  await here.configure();
  const next = await here.pod();
  const stalled = 'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}';
  await here.kubectl('wait', 'vps/web', '-n', here.namespace, `--for=${stalled}=CRDDeleting`, '--timeout=40s');
  expect(here.alive()).toEqual(servers);

  // As the runbook of CRDDeleting says.
  const saved = await here.kubectl('get', 'vps', '--all-namespaces', '-o', 'yaml');
  const patch = '--patch={"spec":{"deletionPolicy":"Retain","deletionProtection":false}}';
  await here.kubectl('patch', 'vps', 'web', '-n', here.namespace, '--type=merge', patch);
  await here.kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=40s');
  await next.stop();
  await here.install();
  const again = await here.pod();
  await again.saying('operator runs');
  const file = join(await mkdtemp(join(tmpdir(), 'vps-operator-saved-')), 'virtualservers.yaml');
  onTestFinished(() => rm(dirname(file), { recursive: true }));
  await writeFile(file, saved.replaceAll(/^ {4}(resourceVersion|uid):.*\n/gm, ''));
  await here.kubectl('create', '-f', file);
  await here.kubectl('wait', 'vps/web', '-n', here.namespace, `--for=${stalled}=RecordMismatch`, '--timeout=40s');
  await here.kubectl('annotate', 'vps', 'web', '-n', here.namespace, `vps-operator.dev/adopt=${servers[0] ?? ''}`);
  await here.ready('web');
  expect(here.alive()).toEqual(servers);
  expect(here.simulator.ledger.creates()).toHaveLength(1);
  await here.kubectl('delete', 'vps', 'web', '-n', here.namespace, '--timeout=40s');
  expect(here.alive()).toEqual([]);
  await again.stop();
});

it('cancels the servers of a namespace that is deleted, though its Secret goes with it', async () => {
  const pod = await here.pod();
  await here.applyServer('one');
  await here.applyServer('two');
  await here.ready('one', 'two');
  await here.kubectl('delete', 'namespace', here.namespace, '--timeout=50s');
  expect(here.alive()).toEqual([]);
  await pod.stop();
});

it('keeps a namespace with a protected server until the protection is lifted', async () => {
  const pod = await here.pod();
  await here.applyServer('kept', { deletionProtection: true });
  await here.ready('kept');
  await here.kubectl('delete', 'namespace', here.namespace, '--wait=false');
  await here.kubectl(
    'wait',
    `namespace/${here.namespace}`,
    '--for=jsonpath={.status.phase}=Terminating',
    '--timeout=40s',
  );
  const stuck = [
    'wait',
    `namespace/${here.namespace}`,
    '--for=condition=NamespaceDeletionContentFailure',
    '--timeout=40s',
  ];
  await here.kubectl(...stuck);
  expect(here.alive()).toHaveLength(1);
  const patch = '{"spec":{"deletionProtection":false}}';
  await here.kubectl('patch', 'vps', 'kept', '-n', here.namespace, '--type=merge', `--patch=${patch}`);
  await here.kubectl('wait', `namespace/${here.namespace}`, '--for=delete', '--timeout=50s');
  expect(here.alive()).toEqual([]);
  await pod.stop();
});

it('cancels every server that may be when the CRD is deleted, and lets the CRD go when the last object has', async () => {
  const pod = await here.pod();
  await here.applyServer('web');
  await here.applyServer('kept', { deletionProtection: true });
  await here.ready('web', 'kept');
  await expect(here.kubectl('delete', 'crd', CRD, '--wait=false')).rejects.toThrow('deletes every VirtualServer');
  await here.kubectl('annotate', 'crd', CRD, 'vps-operator.dev/allow-deletion=true');
  await here.kubectl('delete', 'crd', CRD, '--wait=false');

  await here.kubectl('wait', 'vps/web', '-n', here.namespace, '--for=delete', '--timeout=40s');
  const reason = 'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}';
  await here.kubectl('wait', 'vps/kept', '-n', here.namespace, `--for=${reason}=DeletionProtected`, '--timeout=40s');
  expect(here.alive()).toHaveLength(1);
  const patch = '{"spec":{"deletionPolicy":"Retain"}}';
  await here.kubectl('patch', 'vps', 'kept', '-n', here.namespace, '--type=merge', `--patch=${patch}`);
  await here.kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=40s');
  expect(here.alive()).toHaveLength(1);
  await pod.stop();
});

it('cancels nothing while no operator runs, and what was deleted meanwhile when one does', async () => {
  const pod = await here.pod();
  await here.applyServer('web');
  await here.ready('web');
  await pod.stop();
  await here.kubectl('annotate', 'crd', CRD, 'vps-operator.dev/allow-deletion=true');
  await here.kubectl('delete', 'crd', CRD, '--wait=false');
  await expect.poll(async () => (await here.list())[0]?.metadata.deletionTimestamp).toBeDefined();
  expect(here.alive()).toHaveLength(1);
  await here.pod();
  await here.kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=40s');
  expect(here.alive()).toEqual([]);
});
