/** Objects under the guards, and kubectl commands that change them. */
import { afterAll, beforeAll, inject } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { virtualServer, withAnnotations, type Manifest, type Modifier } from '../../fixtures/virtual-server.ts';
import { ask } from './broker.ts';
import { guardedIn, startGuarded, succeed, type Guarded, type GuardedPaths } from './guards.ts';

export const OTHER_FINALIZER = 'example.org/backup';
export const RECORD = JSON.stringify({ owner: 'uid', mode: 'create', attempt: 'a1', identifier: 'v1' });

type Objects = ReturnType<typeof createObjects>;

/**
 * The guarded control plane that files share, with a namespace for this file's tests; ready when the first test begins.
 * `own` is for files that change the guards or the CRDs.
 */
export function useGuards({ own = false } = {}): { guarded: Guarded; objects: Objects } {
  const guarded = {} as Guarded;
  const objects = {} as Objects;
  let stop = (): Promise<void> => Promise.resolve();
  beforeAll(async () => {
    let paths: GuardedPaths;
    if (own) ({ facts: paths, stop } = await startGuarded());
    else paths = await ask<GuardedPaths>(inject('broker'), 'guarded');
    const namespace = `guards-${process.pid}-${Date.now().toString(36)}`;
    await succeed(guardedIn(paths, namespace).root, ['create', 'namespace', namespace]);
    Object.assign(guarded, guardedIn(paths, namespace));
    Object.assign(objects, createObjects(guarded));
  });
  afterAll(() => stop());
  return { guarded, objects };
}

/** Uses the namespace of the file. */
function createObjects({ root, editor, operator }: Guarded) {
  const read = async (name: string): Promise<VirtualServer> =>
    JSON.parse(await succeed(root, ['get', 'vps', name, '--output=json'])) as VirtualServer;

  return {
    read,

    /** Creates an object as an editor. */
    async create(name: string, ...modifiers: Modifier<Manifest>[]): Promise<Manifest> {
      const manifest = virtualServer(name, ...modifiers);
      await succeed(editor, ['create', '--filename=-'], manifest);
      return manifest;
    },

    /** Creates an object as an editor and claims it as the operator; it also has a foreign finalizer and annotation. */
    async claimed(name: string, ...modifiers: Modifier<Manifest>[]): Promise<Manifest> {
      const manifest = virtualServer(name, withAnnotations({ 'example.org/owner': 'erin' }), ...modifiers);
      await succeed(editor, ['apply', '--filename=-'], manifest);
      await succeed(editor, patch(name, { metadata: { finalizers: [OTHER_FINALIZER] } }));
      const metadata = { finalizers: [OTHER_FINALIZER, FINALIZER], annotations: { [RECORD_ANNOTATION]: RECORD } };
      await succeed(operator, patch(name, { metadata }));
      await succeed(operator, statusPatch(name, { status: { identifier: 'v1', price: 5, observedGeneration: 1 } }));
      return manifest;
    },

    /** The object as kubectl reads it, with a change, as an editor would send it back. */
    async edited(name: string, change: (object: VirtualServer) => void): Promise<VirtualServer> {
      const object = await read(name);
      change(object);
      return object;
    },
  };
}

/** Arguments for a merge patch. */
export function patch(name: string, body: object, ...more: string[]): string[] {
  return ['patch', 'vps', name, '--type=merge', `--patch=${JSON.stringify(body)}`, ...more];
}

export function statusPatch(name: string, body: object): string[] {
  return patch(name, body, '--subresource=status');
}

export function jsonPatch(name: string, ...operations: object[]): string[] {
  return ['patch', 'vps', name, '--type=json', `--patch=${JSON.stringify(operations)}`];
}

/** Escapes a key for a JSON pointer. */
export function pointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
