/** Queries about creates, for the object and for the provider. */
import { expect } from 'vitest';
import { API_VERSION, SERVER_PLURAL, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { ServerRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { Condition } from '../../../src/api/meta.ts';
import type { RequestEntry, Route } from '../../../src/simulator/index.ts';
import { virtualServer, type Manifest, type Modifier } from '../../fixtures/virtual-server.ts';
import { refusalOfPatch } from './dry-run.ts';
import { condition, type World } from './world.ts';

export const CREATE = { method: 'POST', route: '/beta/vps/servers' } as const;

/** Creates that reached the provider, whatever it did with them. */
export function sent(world: World, order: { method: 'POST'; route: Route } = CREATE): RequestEntry[] {
  return world.simulator.ledger.requests(order);
}

/** Creates an object whose order gets no answer, and waits for the condition; `created`: the provider acted on it. */
export async function lostOrder(
  world: World,
  name: string,
  created: boolean,
  ...modifiers: Modifier<Manifest>[]
): Promise<VirtualServer> {
  world.simulator.faults.inject({ match: CREATE, action: { kind: 'drop', after: created } });
  await world.create(virtualServer(name, ...modifiers));
  return world.waitForReason(name, 'CreateOutcomeUnknown', 'Stalled');
}

/** The record in both of its places. */
export function records(object: VirtualServer): { annotation: Partial<ServerRecord>; mirror: Partial<ServerRecord> } {
  const text = object.metadata.annotations?.[RECORD_ANNOTATION];
  const annotation = text === undefined ? {} : (JSON.parse(text) as ServerRecord);
  return { annotation, mirror: object.status?.record ?? {} };
}

/** The attempt in the record; fails unless annotation and mirror agree. */
export function attemptOf(object: VirtualServer): string | undefined {
  const { annotation, mirror } = records(object);
  expect(mirror.attempt).toBe(annotation.attempt);
  return annotation.attempt;
}

/** Whether the API server would accept another product; changes nothing. */
export async function isEditable(world: World, name: string): Promise<boolean> {
  const path = `/apis/${API_VERSION}/namespaces/${world.namespace}/${SERVER_PLURAL}/${name}`;
  const refusal = await refusalOfPatch(world.http, path, { spec: { product: 'VPSX32' } });
  if (refusal === undefined) return true;
  if (/cannot be changed after the server was ordered/.test(refusal.message)) return false;
  throw refusal;
}

/**
 * The maximum number of tries since `from` (ms since the epoch), with pauses that start at one second and double. A
 * reconcile that meets a newer version of its object is repeated at once, which adds a try.
 */
export function triesWithGrowingPauses(world: World, from: number): number {
  const seconds = (Date.now() - from) / 1000;
  const again = world.log.filter(({ msg }) => msg === 'reconcile met a newer version; retrying').length;
  return 1 + Math.ceil(Math.log2(1 + seconds / 0.9)) + again;
}

/** Ready, Reconciling and Stalled in one line, such as `Unknown/-/True`. */
export function phase(object: VirtualServer): string {
  return ['Ready', 'Reconciling', 'Stalled'].map((type) => condition(object, type)?.status ?? '-').join('/');
}

export function stalled(object: VirtualServer): Condition {
  const found = condition(object, 'Stalled');
  if (found === undefined) throw new Error('the object is not stalled');
  return found;
}
