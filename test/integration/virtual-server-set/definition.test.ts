/** The CustomResourceDefinition of sets is deleted by mistake, on a separate control plane without guards. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { virtualServerSetCrd } from '../../../src/api/crd.ts';
import { ALLOW_DELETION_ANNOTATION, API_VERSION, SET_DEFINITION, SET_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { OTHER_FINALIZER } from '../support/guarded-objects.ts';
import { stalledMessage } from '../support/records.ts';
import { createSet } from '../support/sets.ts';
import { createWorld } from '../support/world.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const DEFINITION = `${DEFINITIONS}/${SET_DEFINITION}`;
const contentType = 'application/merge-patch+json';

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane({ controllerManager: true });
});
afterAll(() => controlPlane.stop());

async function setWorld() {
  const world = await createWorld({ kubeconfigPath: controlPlane.kubeconfigPath });
  const set = await createSet(world, { replicas: 1 });
  await set.waitForReason('Available');
  const { http, simulator } = world;
  return { world, http, set, alive: () => simulator.aliveServers().length };
}

it('holds the members that the garbage collector deletes, until the definition is back', async () => {
  const { http, world, alive } = await setWorld();
  await http.call({ method: 'DELETE', path: DEFINITION });
  await world.waitForReason('web-0', 'CRDDeleting', 'Stalled');
  // The garbage collector may be faster than the end of the definition.
  const isMissing = (held: VirtualServer): boolean => stalledMessage(held).includes(`${SET_DEFINITION} is missing`);
  await world.waitFor('web-0', isMissing, 'the message that the definition is missing');
  await world.visited('web-0');
  expect(alive()).toBe(1);

  await http.call({ method: 'POST', path: DEFINITIONS, body: virtualServerSetCrd() });
  await world.waitGone('web-0');
  expect(alive()).toBe(0);
  const isServed = (): Promise<boolean> =>
    http.call({ path: `/apis/${API_VERSION}/${SET_PLURAL}` }).then(
      () => true,
      () => false,
    );
  await world.until(isServed, 'the new definition');
});

it('holds the members until the deletion is allowed', async () => {
  const { world, http, set, alive } = await setWorld();
  // Otherwise the definition would be gone at once.
  await set.patch({ metadata: { finalizers: [OTHER_FINALIZER] } });
  await http.call({ method: 'DELETE', path: DEFINITION });
  await world.delete('web-0');
  const held = await world.waitForReason('web-0', 'CRDDeleting', 'Stalled');
  expect(stalledMessage(held)).toContain(`${SET_DEFINITION} is being deleted`);
  await world.visited('web-0');
  expect(alive()).toBe(1);

  const body = { metadata: { annotations: { [ALLOW_DELETION_ANNOTATION]: 'true' } } };
  await http.call({ method: 'PATCH', path: DEFINITION, body, contentType });
  await world.waitGone('web-0');
  expect(alive()).toBe(0);
  await set.patch({ metadata: { finalizers: null } });
  await world.until(
    async () => (await http.call({ path: DEFINITION, absent: SET_DEFINITION })) === undefined,
    'its end',
  );
});
