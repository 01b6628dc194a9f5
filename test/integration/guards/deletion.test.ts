/** Guards: protected objects cannot be deleted, alone or with their namespace. */
import { describe, expect, it } from 'vitest';
import { DOCUMENTATION } from '../../../src/api/documentation.ts';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { patch, useGuards } from '../support/guarded-objects.ts';
import { refusal, succeed, typeWarnings } from '../support/guards.ts';
import { readyServer, stalledMessage } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

const { guarded, objects } = useGuards();

const protectedServer = withSpec({ deletionProtection: true });
const says = 'spec.deletionProtection is true, and deleting this VirtualServer would cancel its server';

describe('deletionProtection', () => {
  it.for(['editor', 'admin', 'root', 'breakGlass'] as const)('rejects every kind of deletion by %s', async (who) => {
    const name = `kept-${who.toLowerCase()}`;
    const manifest = await objects.create(name, protectedServer);
    for (const args of [
      ['delete', 'vps', name],
      ['delete', 'vps', '--all'],
      ['delete', 'vps', name, '--cascade=foreground'],
      ['delete', 'vps', name, '--grace-period=0', '--force'],
      ['delete', `--raw=/apis/vps-operator.dev/v1alpha1/namespaces/${guarded.namespace}/virtualservers`],
      ['replace', '--force', '--filename=-'],
    ]) {
      // Break-glass has fewer rights than an editor and may not create or delete; what is rejected here is rejected by
      // the guard.
      expect(await refusal(guarded[who], args, manifest), args.join(' ')).toMatch(
        who === 'breakGlass' && args[1]?.startsWith('--raw') === true ? /forbidden/ : new RegExp(says),
      );
    }
    expect((await objects.read(name)).metadata.deletionTimestamp).toBeUndefined();
    await succeed(guarded.root, patch(name, { spec: { deletionProtection: false } }));
    await succeed(guarded.root, ['delete', 'vps', name]);
  });

  it('names the command that lifts it', async () => {
    await objects.create('lifted', protectedServer);
    const args = patch('lifted', { spec: { deletionProtection: false } });
    const said = await refusal(guarded.editor, ['delete', 'vps', 'lifted']);
    expect(said).toContain(
      `run \`kubectl patch vps lifted --namespace ${guarded.namespace} --type=merge --patch='{"spec":{"deletionProtection":false}}'\`. ` +
        `To delete this object and keep the server, see ${DOCUMENTATION}/how-to/protect.md`,
    );
    await succeed(guarded.editor, args);
    await succeed(guarded.editor, ['delete', 'vps', 'lifted']);
  });

  it('does not threaten to cancel a server that deletionPolicy Retain keeps', async () => {
    await objects.create('retained', withSpec({ deletionProtection: true, deletionPolicy: 'Retain' }));
    const said = await refusal(guarded.editor, ['delete', 'vps', 'retained']);
    expect(said).toContain(
      'deleting this VirtualServer would leave its server running without an object that manages it. To allow the deletion, ' +
        `run \`kubectl patch vps retained --namespace ${guarded.namespace} --type=merge --patch='{"spec":{"deletionProtection":false}}'\`. ` +
        `See ${DOCUMENTATION}/how-to/protect.md`,
    );
    expect(said).not.toContain('cancel');
  });

  it('ignores an object that is already being deleted', async () => {
    await objects.claimed('late');
    await succeed(guarded.editor, ['delete', 'vps', 'late', '--wait=false']);
    await succeed(guarded.editor, patch('late', { spec: { deletionProtection: true } }));
    await succeed(guarded.editor, ['delete', 'vps', 'late', '--wait=false']);
    expect((await objects.read('late')).metadata.deletionTimestamp).toBeDefined();
    await succeed(guarded.breakGlass, patch('late', { metadata: { finalizers: null } }));
  });

  it('keeps a server alive and its namespace Terminating until it is lifted', async () => {
    const { kubeconfigPath, operatorKubeconfigPath } = guarded;
    const world = await createWorld({ kubeconfigPath, operatorKubeconfigPath });
    await readyServer(world, 'kept', protectedServer);
    await readyServer(world, 'other');
    await succeed(guarded.admin, ['delete', 'namespace', world.namespace, '--wait=false']);
    await guarded.until(
      guarded.root,
      ['get', 'namespace', world.namespace, '--output=jsonpath={.status.conditions}'],
      ({ text }) =>
        text.includes('NamespaceDeletionContentFailure') &&
        text.includes('ContentDeletionFailed') &&
        text.includes(says),
    );
    await guarded.until(
      guarded.root,
      ['get', 'secrets', '-n', world.namespace, '-o', 'name'],
      ({ text }) => text === '',
    );
    expect((await world.get('kept'))?.metadata.deletionTimestamp).toBeUndefined();
    const { identifier } = (await world.get('kept'))?.status ?? {};
    expect(world.simulator.aliveServers()).toContainEqual(expect.objectContaining({ identifier }));

    await succeed(guarded.editor, [...patch('kept', { spec: { deletionProtection: false } }), '-n', world.namespace]);
    await world.waitGone('kept');
    await world.waitGone('other');
    await guarded.until(guarded.root, ['get', 'namespace', world.namespace], ({ text }) => text.includes('NotFound'));
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(world.simulator.ledger.cancels()).toHaveLength(2);
  });
});

describe('a protected object with an owner', () => {
  const lifted = { spec: { deletionProtection: false } };
  const kept = { spec: { deletionPolicy: 'Retain', deletionProtection: false } };

  it('is deleted once its owner is gone and protection is lifted, and warns beforehand', async () => {
    const { kubeconfigPath, operatorKubeconfigPath } = guarded;
    const world = await createWorld({ kubeconfigPath, operatorKubeconfigPath });
    const inWorld = (...args: string[]): string[] => [...args, '-n', world.namespace];
    await succeed(guarded.root, inWorld('create', 'configmap', 'shop'));
    const uid = await succeed(guarded.root, inWorld('get', 'configmap', 'shop', '--output=jsonpath={.metadata.uid}'));
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'shop', uid }];
    for (const name of ['cancelled', 'retained']) {
      await readyServer(world, name, protectedServer);
      await succeed(guarded.editor, inWorld(...patch(name, { metadata: { ownerReferences } })));
      await world.waitFor(
        name,
        ({ status }) => status?.conditions?.some(({ type }) => type === 'Collectible') === true,
      );
    }
    const told = (await world.get('cancelled'))?.status?.conditions?.find(
      ({ type }) => type === 'Collectible',
    )?.message;
    expect(told).toContain('ConfigMap shop');
    expect(told).toContain(JSON.stringify(kept));
    const alive = (await world.get('retained'))?.status?.identifier;

    const asError = ['--dry-run=server', '--warnings-as-errors'];
    await guarded.until(guarded.editor, inWorld(...patch('cancelled', lifted, ...asError)), ({ ok }) => !ok);
    const warned = await guarded.editor(inWorld(...patch('cancelled', lifted, ...asError)));
    expect(warned.text).toContain('this VirtualServer has owners');
    await succeed(guarded.editor, inWorld(...patch('retained', kept, ...asError)));

    await succeed(guarded.root, inWorld('delete', 'configmap', 'shop'));
    await succeed(guarded.editor, inWorld(...patch('cancelled', lifted)));
    await succeed(guarded.editor, inWorld(...patch('retained', kept)));
    await world.waitGone('cancelled');
    await world.waitGone('retained');
    expect(world.simulator.aliveServers().map(({ identifier }) => identifier)).toEqual([alive]);
  });
});

describe('an object with the finalizer and without a readable record', () => {
  /** Bypasses the guards: such objects existed before the guards were installed. */
  const unguarded = ['--as=root', '--as-group=system:masters', '--as-group=vps-operator.dev:break-glass'];

  it('keeps its namespace until an editor sets the annotation that its condition names', async () => {
    const { kubeconfigPath, operatorKubeconfigPath, editor, root } = guarded;
    const world = await createWorld({ kubeconfigPath, operatorKubeconfigPath });
    const within = ['--namespace', world.namespace];
    const { identifier } = world.simulator.fleet.addServer('default', { identifier: 'of-others' });
    for (const [name, annotations] of [
      ['missing', {}],
      ['invalid', { [RECORD_ANNOTATION]: '{"identifier":"of-others"}' }],
    ] as const) {
      const { metadata, ...manifest } = virtualServer(name);
      const forged = { ...manifest, metadata: { ...metadata, annotations, finalizers: [FINALIZER] } };
      await succeed(root, ['create', '--filename=-', ...within, ...unguarded], forged);
    }
    await world.waitForReason('missing', 'RecordMissing', 'Stalled');
    await world.waitForReason('invalid', 'RecordInvalid', 'Stalled');
    await succeed(guarded.admin, ['delete', 'namespace', world.namespace, '--wait=false']);
    for (const name of ['missing', 'invalid']) {
      const held = await world.waitFor(name, (object) =>
        stalledMessage(object).includes('the object is then released'),
      );
      const [, word = ''] = /(\S+)`; the object is then released/.exec(stalledMessage(held)) ?? [];
      expect(await refusal(editor, [...patch(name, { metadata: { finalizers: null } }), ...within])).toContain(
        FINALIZER,
      );
      await succeed(editor, ['annotate', 'vps', name, word, ...within]);
      await world.waitGone(name);
    }
    await guarded.until(root, ['get', 'namespace', world.namespace], ({ text }) => text.includes('NotFound'));
    expect(world.simulator.ledger.creates()).toEqual([]);
    expect(world.simulator.ledger.cancels()).toEqual([]);
    expect(world.simulator.aliveServers()).toMatchObject([{ identifier }]);
  });
});

describe('deletionDelay', () => {
  it('warns that the server keeps running, and tells how to take the deletion back', async () => {
    await objects.claimed('delayed', withSpec({ deletionDelay: '24h' }));
    const args = ['delete', 'vps', 'delayed', '--wait=false', '--warnings-as-errors'];
    expect(await refusal(guarded.editor, args)).toMatch(
      new RegExp(
        'Warning: .*the server of this VirtualServer runs on and costs money for 24h .*' +
          `kubectl vps undelete delayed --namespace ${guarded.namespace}`,
      ),
    );
    expect((await objects.read('delayed')).metadata.deletionTimestamp).toBeDefined();
  });

  it('warns of nothing if the server is cancelled at once, or not at all', async () => {
    await objects.claimed('at-once');
    await objects.claimed('left', withSpec({ deletionDelay: '24h', deletionPolicy: 'Retain' }));
    for (const name of ['at-once', 'left'])
      await succeed(guarded.editor, ['delete', 'vps', name, '--wait=false', '--warnings-as-errors']);
  });
});

describe('the deletion of a Secret', () => {
  const secret = (name: string, keys: readonly string[], labels = {}): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels },
    stringData: Object.fromEntries(keys.map((key) => [key, 'S3CR3T'])),
  });

  it('with an API key is accepted with a warning that names the way back, and shows no value', async () => {
    await succeed(guarded.root, ['create', '--filename=-'], secret('vps-api-key', ['keyId', 'secret']));
    const warned = await refusal(guarded.admin, [
      'delete',
      'secret',
      'vps-api-key',
      '--dry-run=server',
      '--warnings-as-errors',
    ]);
    expect(warned).toContain('Servers whose VirtualServers use it run on and cost money');
    expect(warned).toContain(`kubectl vps login --namespace ${guarded.namespace} --secret vps-api-key`);
    expect(warned).not.toMatch(/S3CR3T|UzNDUjNU/);
    await succeed(guarded.admin, ['delete', 'secret', 'vps-api-key']);
  });

  it.each([
    ['without a key ID', ['secret'], {}],
    ['without a secret', ['keyId'], {}],
    ['without any data', [], {}],
    ['that kubectl vps login has made to try a key', ['keyId', 'secret'], { 'vps-operator.dev/login': 'true' }],
  ])('%s is accepted without a warning', async (_what, keys, labels) => {
    await succeed(guarded.root, ['create', '--filename=-'], secret('other', keys, labels));
    await succeed(guarded.admin, ['delete', 'secret', 'other', '--warnings-as-errors']);
  });
});

describe('the policies', () => {
  it("pass the cluster's type checker", async () => {
    const ofBase = (await typeWarnings(guarded)).filter(([name]) => name !== 'vps-operator-connection-secrets');
    expect(ofBase).toEqual([
      ['vps-operator-annotations', undefined],
      ['vps-operator-api-keys', undefined],
      ['vps-operator-crd-deletion', undefined],
      ['vps-operator-deletion-delay', undefined],
      ['vps-operator-deletion-protection', undefined],
      ['vps-operator-members', undefined],
      ['vps-operator-mistakes', undefined],
      ['vps-operator-ordered-fields', undefined],
      ['vps-operator-protection-lifted', undefined],
      ['vps-operator-record', undefined],
      ['vps-operator-set-deletion-protection', undefined],
    ]);
  });
});
