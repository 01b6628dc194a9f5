/** Helpers for tests of the record. */
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { parseRecord, type ServerRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { knownRecord } from '../../../src/virtual-server/decision/known-record.ts';
import { virtualServer, type Manifest, type Modifier } from '../../fixtures/virtual-server.ts';
import { condition, type World } from './world.ts';

/** The record in the annotation, which status completes for a named order; fails if there is none. */
export function recordOf(object: VirtualServer): ServerRecord {
  const parsed = parseRecord(object.metadata.annotations?.[RECORD_ANNOTATION]);
  if (!parsed.ok || parsed.value === undefined) throw new Error(`no record in ${JSON.stringify(object.metadata)}`);
  return parsed.value.mode === 'named' ? (knownRecord(object) ?? parsed.value) : parsed.value;
}

/** Creates an object, and waits until its server is Ready and its annotation, which follows the status, says all. */
export async function readyServer(
  world: World,
  name: string,
  ...modifiers: Modifier<Manifest>[]
): Promise<VirtualServer> {
  await world.create(virtualServer(name, ...modifiers));
  return recordedServer(world, name);
}

/** Waits until the server is Ready and its annotation says all. */
export function recordedServer(world: World, name: string): Promise<VirtualServer> {
  return world.waitFor(
    name,
    (object) => condition(object, 'Ready')?.reason === 'Available' && recordOf(object).fingerprint !== undefined,
  );
}

/** Removes the record from the annotation, then from the mirror. */
export async function loseRecord(world: World, name: string): Promise<void> {
  await world.patch(name, { status: { record: null } }, '/status');
  await world.annotate(name, { record: null });
}

/** Message of the Stalled condition; '' if there is none. */
export function stalledMessage(object: VirtualServer): string {
  return condition(object, 'Stalled')?.message ?? '';
}
