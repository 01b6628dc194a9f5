/** Guards: the operator's work under them, what they forbid to the operator, and break-glass access. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  API_VERSION,
  CATALOG_KIND,
  FINALIZER,
  RECONCILE_AT_ANNOTATION,
  RECORD_ANNOTATION,
} from '../../../src/api/names.ts';
import { virtualServer, withAnnotations } from '../../fixtures/virtual-server.ts';
import { OTHER_FINALIZER, patch, statusPatch, useGuards } from '../support/guarded-objects.ts';
import { BREAK_GLASS, refusal, succeed, type Kubectl } from '../support/guards.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const { guarded, objects } = useGuards();

/** A world under the guards; its operator uses the ServiceAccount with the shipped rights. */
function guardedWorld(): Promise<World> {
  const { operatorKubeconfigPath, kubeconfigPath } = guarded;
  return createWorld({ kubeconfigPath, operatorKubeconfigPath });
}

describe("a server's life under the guards", () => {
  it('covers order, edit, Retain, adoption and deletion', async () => {
    const world = await guardedWorld();
    const { status } = await readyServer(world, 'web');
    const within = ['--namespace', world.namespace];
    await succeed(guarded.editor, [...patch('web', { spec: { deletionPolicy: 'Retain' } }), ...within]);
    await succeed(guarded.editor, ['delete', 'vps', 'web', ...within]);
    expect(world.simulator.aliveServers()).toMatchObject([{ identifier: status?.identifier }]);

    const adopting = withAnnotations({ 'vps-operator.dev/adopt': status?.identifier ?? '' });
    await succeed(guarded.editor, ['create', '--filename=-', ...within], virtualServer('again', adopting));
    await world.waitForReason('again', 'Available', 'Ready');
    await succeed(guarded.editor, ['delete', 'vps', 'again', ...within]);
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('keeps the record although kubectl replace would drop it', async () => {
    const world = await guardedWorld();
    const before = await readyServer(world, 'web');
    const replace = ['replace', '--filename=-', '--namespace', world.namespace];
    expect(await refusal(guarded.editor, replace, virtualServer('web'))).toContain('denied request');
    expect((await world.get('web'))?.metadata).toEqual(before.metadata);
  });

  it("obeys users' annotations", async () => {
    const world = await guardedWorld();
    const annotate = (text: string) =>
      succeed(guarded.editor, ['annotate', '--overwrite', 'vps', 'web', text, '--namespace', world.namespace]);
    world.simulator.faults.inject({ match: { method: 'POST', route: '/beta/vps/servers' }, action: { kind: 'drop' } });
    await world.create(virtualServer('web'));
    const unknown = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Ready');
    await annotate('vps-operator.dev/paused=true');
    await world.waitForReason('web', 'Paused', 'Paused');
    await annotate(`vps-operator.dev/not-created=${recordOf(unknown).attempt}`);
    await annotate('vps-operator.dev/paused-');
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('can be ended without the operator only by break-glass, which leaves the server', async () => {
    const world = await guardedWorld();
    const { status } = await readyServer(world, 'web');
    await world.stopOperator();
    const within = ['--namespace', world.namespace];
    await succeed(guarded.editor, ['delete', 'vps', 'web', '--wait=false', ...within]);
    const command = commandOf(/^kubectl --as=break-glass .* patch vps web .*finalizers.*$/m);
    const strip = [...command, ...within];
    const plain = strip.filter((argument) => !BREAK_GLASS.includes(argument));
    expect(plain).toHaveLength(strip.length - 2);
    expect(await refusal(guarded.admin, plain)).toContain('only the operator may add or remove the finalizer');
    await succeed(guarded.admin, strip);
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toMatchObject([{ identifier: status?.identifier }]);
  });
});

describe('the operator', () => {
  it('may write only its finalizer, its record and the status', async () => {
    await objects.claimed('limits');
    await succeed(guarded.editor, ['label', 'vps', 'limits', 'team=a']);
    const before = await objects.read('limits');
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' };
    for (const [body, what] of [
      [{ spec: { deletionProtection: true } }, 'spec'],
      [{ spec: { product: 'another' } }, 'spec'],
      [{ metadata: { labels: { team: 'b' } } }, 'labels'],
      [{ metadata: { labels: null } }, 'labels'],
      [{ metadata: { ownerReferences: [owner] } }, 'owners'],
      [{ metadata: { annotations: { 'vps-operator.dev/adopt': 'v1' } } }, 'any annotation but'],
      [{ metadata: { annotations: { 'example.org/owner': 'me' } } }, 'any annotation but'],
      [{ metadata: { annotations: { 'example.org/owner': null } } }, 'any annotation but'],
      [{ metadata: { annotations: null } }, 'any annotation but'],
      [{ metadata: { finalizers: null } }, 'any finalizer but'],
      [{ metadata: { finalizers: [OTHER_FINALIZER, FINALIZER, 'another.org/x'] } }, 'any finalizer but'],
    ] as const) {
      const said = await refusal(guarded.operator, patch('limits', body));
      expect(said, JSON.stringify(body)).toMatch(RegExp(`the operator may not change .*${what}`));
    }
    expect(await objects.read('limits')).toEqual(before);

    const metadata = { finalizers: [OTHER_FINALIZER], annotations: { [RECORD_ANNOTATION]: null } };
    await succeed(guarded.operator, patch('limits', { metadata }));
    expect((await objects.read('limits')).metadata).toMatchObject({
      annotations: { 'example.org/owner': 'erin' },
      finalizers: [OTHER_FINALIZER],
    });
  });

  it('is checked less strictly on an object with more than 500 annotations', async () => {
    const annotations = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`a${index}`, '']));
    await objects.create('huge', withAnnotations(annotations));
    await succeed(guarded.operator, patch('huge', { metadata: { annotations: { a0: 'x' } } }));
    expect(await refusal(guarded.operator, patch('huge', { spec: { deletionProtection: true } }))).toContain('spec');
    expect(
      await refusal(guarded.editor, patch('huge', { metadata: { annotations: { [RECORD_ANNOTATION]: '' } } })),
    ).toContain(RECORD_ANNOTATION);
  });
});

describe('a ServerCatalog, which has no guard', () => {
  it('cannot be written with the shipped rights of users, and is corrected at the next read', async () => {
    const world = await guardedWorld();
    const within = ['--namespace', world.namespace];
    const manifest = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
    await succeed(guarded.editor, ['create', '--filename=-', ...within], manifest);
    await succeed(guarded.editor, ['wait', '--for=condition=Ready', 'vpscat/catalog', ...within]);
    const read = ['get', 'vpscat', 'catalog', '--output=jsonpath={.status.products[*].code}', ...within];
    const listed = await succeed(guarded.editor, read);
    const status = JSON.stringify({ status: { products: [{ code: 'free-of-charge' }] } });
    const forge = ['patch', 'vpscat', 'catalog', '--type=merge', '--subresource=status', `--patch=${status}`];
    await refusal(guarded.editor, ['auth', 'can-i', 'patch', 'vpscat', '--subresource=status', ...within]);
    await succeed(guarded.admin, [...forge, ...within]);
    expect(await succeed(guarded.editor, read)).toBe('free-of-charge');
    await succeed(guarded.editor, ['annotate', 'vpscat', 'catalog', `${RECONCILE_AT_ANNOTATION}=now`, ...within]);
    await guarded.until(guarded.editor, read, ({ text }) => text === listed);
  });
});

describe('break-glass', () => {
  it('lets a cluster administrator change and remove finalizer, record and status', async () => {
    await objects.claimed('glass');
    const { breakGlass } = guarded;
    await succeed(breakGlass, statusPatch('glass', { status: null }));
    await succeed(breakGlass, ['annotate', 'vps', 'glass', `${RECORD_ANNOTATION}-`]);
    await succeed(breakGlass, patch('glass', { metadata: { finalizers: null } }));
    const { metadata, status } = await objects.read('glass');
    expect(metadata.finalizers).toBeUndefined();
    expect(metadata.annotations).not.toHaveProperty([RECORD_ANNOTATION]);
    expect(status).toEqual({ observedGeneration: -1 });
  });

  it('is denied to users who may not impersonate the group', async () => {
    await objects.claimed('glass-editor');
    const impersonating: Kubectl = (args, input) =>
      guarded.editor(['--as=break-glass', '--as-group=vps-operator.dev:break-glass', ...args], input);
    expect(await refusal(impersonating, patch('glass-editor', { metadata: { finalizers: null } }))).toContain(
      'cannot impersonate',
    );
  });
});

const DOCUMENT = await readFile(join(import.meta.dirname, '../../../docs/how-to/break-glass.md'), 'utf8');

function commandOf(pattern: RegExp): string[] {
  const [line] = pattern.exec(DOCUMENT) ?? [];
  if (line === undefined) throw new Error(`docs/how-to/break-glass.md has no line ${String(pattern)}`);
  return line
    .split(' ')
    .slice(1)
    .map((word) => word.replaceAll("'", ''));
}
