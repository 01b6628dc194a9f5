/** Guards: the operator's own life under them, what it may not do, and who else may do its work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../src/api/names.ts';
import { withAnnotations } from '../gen/virtual-server.ts';
import { createObjects, OTHER_FINALIZER, patch, statusPatch, type Objects } from './support/guarded-objects.ts';
import { refusal, startGuarded, succeed, type Guarded, type Kubectl } from './support/guards.ts';

let guarded: Guarded;
let objects: Objects;
beforeAll(async () => {
  guarded = await startGuarded();
  objects = createObjects(guarded);
});
afterAll(() => guarded.controlPlane.stop());

describe('the operator', () => {
  it('writes nothing but its finalizer, its record and the status', async () => {
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

  it('is not watched so closely on an object with more than 500 annotations', async () => {
    const annotations = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`a${index}`, '']));
    await objects.create('huge', withAnnotations(annotations));
    await succeed(guarded.operator, patch('huge', { metadata: { annotations: { a0: 'x' } } }));
    expect(await refusal(guarded.operator, patch('huge', { spec: { deletionProtection: true } }))).toContain('spec');
    expect(
      await refusal(guarded.editor, patch('huge', { metadata: { annotations: { [RECORD_ANNOTATION]: '' } } })),
    ).toContain(RECORD_ANNOTATION);
  });
});

describe('break-glass', () => {
  it('lets a cluster administrator change and remove all three', async () => {
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

  it('is not for those who may not impersonate the group', async () => {
    await objects.claimed('glass-editor');
    const impersonating: Kubectl = (args, input) =>
      guarded.editor(['--as=break-glass', '--as-group=vps-operator.dev:break-glass', ...args], input);
    expect(await refusal(impersonating, patch('glass-editor', { metadata: { finalizers: null } }))).toContain(
      'cannot impersonate',
    );
  });
});
