/** Guards: only the operator may change finalizer, record and status; users may change everything else. */
import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { virtualServer, withAnnotations, type Manifest, type Modifier } from '../../fixtures/virtual-server.ts';
import {
  jsonPatch,
  OTHER_FINALIZER,
  patch,
  pointer,
  RECORD,
  statusPatch,
  useGuards,
} from '../support/guarded-objects.ts';
import { refusal, succeed } from '../support/guards.ts';

const { guarded, objects } = useGuards();

describe('the finalizer', () => {
  const says = `only the operator may add or remove the finalizer ${FINALIZER}`;
  const people = ['editor', 'admin', 'root'] as const;

  it.for(people)('cannot be removed by %s in any way', async (who) => {
    const name = `finalizer-${who}`;
    const manifest = await objects.claimed(name);
    const person = guarded[who];
    const without = await objects.edited(name, ({ metadata }) => (metadata.finalizers = [OTHER_FINALIZER]));
    for (const [args, input] of [
      [['replace', '--filename=-'], manifest],
      [['replace', '--filename=-'], without],
      [patch(name, { metadata: { finalizers: null } })],
      [patch(name, { metadata: { finalizers: [OTHER_FINALIZER] } })],
      [jsonPatch(name, { op: 'remove', path: '/metadata/finalizers' })],
      [jsonPatch(name, { op: 'remove', path: '/metadata/finalizers/1' })],
    ] as const) {
      expect(await refusal(person, [...args], input), args.join(' ')).toContain(says);
    }
    expect((await objects.read(name)).metadata.finalizers).toContain(FINALIZER);
    await succeed(person, patch(name, { metadata: { finalizers: [FINALIZER] } }));
    expect((await objects.read(name)).metadata.finalizers).toEqual([FINALIZER]);
  });

  it('cannot be removed from an object that is being deleted either', async () => {
    await objects.claimed('finalizer-deleting');
    await succeed(guarded.editor, ['delete', 'vps', 'finalizer-deleting', '--wait=false']);
    expect(await refusal(guarded.admin, patch('finalizer-deleting', { metadata: { finalizers: null } }))).toContain(
      says,
    );
    await succeed(guarded.operator, patch('finalizer-deleting', { metadata: { finalizers: [OTHER_FINALIZER] } }));
    await succeed(guarded.editor, patch('finalizer-deleting', { metadata: { finalizers: null } }));
    expect((await guarded.root(['get', 'vps', 'finalizer-deleting'])).text).toContain('not found');
  });

  it('cannot be added by users, who could not remove it again', async () => {
    await objects.create('finalizer-added');
    const add = patch('finalizer-added', { metadata: { finalizers: [FINALIZER] } });
    expect(await refusal(guarded.editor, add)).toContain(says);
    await succeed(guarded.operator, add);
  });

  it('survives kubectl replace with the whole object', async () => {
    await objects.claimed('finalizer-replace');
    const whole = await objects.edited('finalizer-replace', ({ spec }) => (spec.deletionPolicy = 'Retain'));
    await succeed(guarded.editor, ['replace', '--filename=-'], whole);
    expect((await objects.read('finalizer-replace')).spec.deletionPolicy).toBe('Retain');
  });

  it('makes kubectl apply of a manifest with finalizers fail, with the advice to apply server-side', async () => {
    const manifest = await objects.claimed('finalizer-apply');
    manifest.metadata.finalizers = ['example.org/another'];
    const said = await refusal(guarded.editor, ['apply', '--filename=-'], manifest);
    expect(said).toContain('use kubectl apply --server-side');
    await succeed(guarded.editor, ['apply', '--server-side', '--force-conflicts', '--filename=-'], manifest);
    const { finalizers = [] } = (await objects.read('finalizer-apply')).metadata;
    expect(finalizers.toSorted()).toEqual(['example.org/another', OTHER_FINALIZER, FINALIZER]);
  });
});

describe('the finalizer of a new object', () => {
  const says = `the finalizer ${FINALIZER} is set without the annotation ${RECORD_ANNOTATION}`;
  const withFinalizer = (name: string, ...modifiers: Modifier<Manifest>[]): Manifest => {
    const manifest = virtualServer(name, ...modifiers);
    return { ...manifest, metadata: { ...manifest.metadata, finalizers: [OTHER_FINALIZER, FINALIZER] } };
  };

  it.for(['editor', 'admin', 'root', 'operator'] as const)('requires a record, also for %s', async (who) => {
    const name = `forged-${who}`;
    // Two policies refuse the operator, in any order: it may create nothing but members of sets.
    const refusals = [says, ...(who === 'operator' ? ['the operator may create no VirtualServer'] : [])];
    for (const args of [
      ['create', '--filename=-'],
      ['apply', '--filename=-'],
      ['apply', '--server-side', '--filename=-'],
    ]) {
      for (const annotations of [{}, { 'vps-operator.dev/adopt': 'v1' }] as Record<string, string>[]) {
        const said = await refusal(guarded[who], args, withFinalizer(name, withAnnotations(annotations)));
        expect(
          refusals.some((refused) => said.includes(refused)),
          `${args.join(' ')}: ${said}`,
        ).toBe(true);
      }
    }
    expect((await guarded.root(['get', 'vps', name])).text).toContain('not found');
  });

  it('can be omitted as the error says, and the existing server is adopted', async () => {
    const { metadata, ...manifest } = withFinalizer('unforged', withAnnotations({ 'vps-operator.dev/adopt': 'v1' }));
    const said = await refusal(guarded.editor, ['create', '--filename=-'], { ...manifest, metadata });
    expect(said).toContain('Remove the finalizer from the manifest');
    const { finalizers: _finalizers, ...rest } = metadata as typeof metadata & { finalizers: string[] };
    await succeed(guarded.editor, ['create', '--filename=-'], { ...manifest, metadata: rest });
  });

  it('may be the finalizer of another controller', async () => {
    const manifest = virtualServer('of-others');
    await succeed(guarded.editor, ['create', '--filename=-'], {
      ...manifest,
      metadata: { ...manifest.metadata, finalizers: [OTHER_FINALIZER] },
    });
  });
});

describe('the record', () => {
  const says = `only the operator may change or remove the annotation ${RECORD_ANNOTATION}`;
  const forced = ['apply', '--server-side', '--force-conflicts', '--filename=-'];

  it.for(['editor', 'admin', 'root'] as const)('cannot be changed by %s in any way', async (who) => {
    const name = `record-${who}`;
    const manifest = await objects.claimed(name);
    const older = { ...manifest, metadata: { name, annotations: { [RECORD_ANNOTATION]: '{}' } } };
    const held = await objects.edited(name, ({ metadata }) => delete metadata.annotations?.[RECORD_ANNOTATION]);
    const path = `/metadata/annotations/${pointer(RECORD_ANNOTATION)}`;
    for (const [args, input] of [
      [['annotate', 'vps', name, `${RECORD_ANNOTATION}-`]],
      [['annotate', '--overwrite', 'vps', name, `${RECORD_ANNOTATION}={}`]],
      [patch(name, { metadata: { annotations: null } })],
      [jsonPatch(name, { op: 'remove', path })],
      [jsonPatch(name, { op: 'replace', path, value: '' })],
      [['replace', '--filename=-'], held],
      [['apply', '--filename=-'], older],
      [forced, older],
    ] as const) {
      expect(await refusal(guarded[who], [...args], input), args.join(' ')).toContain(says);
    }
    expect((await objects.read(name)).metadata.annotations?.[RECORD_ANNOTATION]).toBe(RECORD);
  });

  it('cannot be added to an existing object', async () => {
    await objects.create('record-added');
    const add = ['annotate', 'vps', 'record-added', `${RECORD_ANNOTATION}=${RECORD}`];
    expect(await refusal(guarded.admin, add)).toContain(says);
    await succeed(guarded.operator, add);
  });

  it('may come with a new object, as from a backup', async () => {
    const restored = virtualServer('record-restored', withAnnotations({ [RECORD_ANNOTATION]: RECORD }));
    restored.metadata.finalizers = [FINALIZER];
    await succeed(guarded.editor, ['create', '--filename=-'], restored);
    expect((await objects.read('record-restored')).metadata).toMatchObject({
      annotations: { [RECORD_ANNOTATION]: RECORD },
      finalizers: [FINALIZER],
    });
  });
});

describe('the status', () => {
  it.for(['intruder', 'admin', 'root'] as const)('cannot be written by %s in any way', async (who) => {
    const name = `status-${who}`;
    await objects.claimed(name);
    const changed = await objects.edited(name, (object) => (object.status = { identifier: 'v2' }));
    const { managedFields: _managed, ...metadata } = changed.metadata as VirtualServer['metadata'] & {
      managedFields: unknown;
    };
    for (const [args, input] of [
      [statusPatch(name, { status: { record: { owner: 'x', mode: 'create' } } })],
      [statusPatch(name, { status: null })],
      [[...jsonPatch(name, { op: 'remove', path: '/status/identifier' }), '--subresource=status']],
      [['replace', '--subresource=status', '--filename=-'], changed],
      [
        ['apply', '--server-side', '--force-conflicts', '--subresource=status', '--filename=-'],
        { ...changed, metadata },
      ],
    ] as const) {
      const said = await refusal(guarded[who], [...args], input);
      expect(said, args.join(' ')).toContain('only the operator may write status');
    }
    expect((await objects.read(name)).status).toEqual({ identifier: 'v1', price: 5, observedGeneration: 1 });
  });
});

describe('users', () => {
  it('can change everything else', async () => {
    const manifest = await objects.claimed('people');
    const { editor } = guarded;
    await succeed(editor, ['apply', '--filename=-'], manifest);
    await succeed(editor, ['apply', '--server-side', '--force-conflicts', '--filename=-'], manifest);
    await succeed(editor, ['label', 'vps', 'people', 'team=a']);
    await succeed(editor, ['annotate', 'vps', 'people', 'vps-operator.dev/paused=true', 'vps-operator.dev/adopt=v1']);
    await succeed(editor, ['annotate', 'vps', 'people', 'vps-operator.dev/paused-']);
    await succeed(editor, patch('people', { spec: { deletionProtection: true } }));
    const object = await objects.edited(
      'people',
      ({ metadata }) => (metadata.annotations = { ...metadata.annotations, a: 'b' }),
    );
    await succeed(editor, ['replace', '--filename=-'], object);
    expect(await objects.read('people')).toMatchObject({
      metadata: { annotations: { a: 'b', [RECORD_ANNOTATION]: RECORD }, labels: { team: 'a' } },
      spec: { deletionProtection: true },
      status: { identifier: 'v1' },
    });
  });
});
