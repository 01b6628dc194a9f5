/**
 * How a truthful user answers an object that asks, from what the provider shows. The simulated lives and the crash plans share
 * this; each decides when the user looks and how the answer is given.
 */
import {
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { currentReason } from '../../src/api/conditions.ts';
import { orphanName } from '../../src/virtual-server/decision/inputs.ts';
import { recordOf } from '../fixtures/records.ts';

/** Values of annotations; null removes one. */
export type Words = Record<string, string | null>;

/** Reasons for which only a user can tell whether an order created a server. */
const UNANSWERED = ['CreateOutcomeUnknown', 'CreateFailed', 'TaskNotFound', 'TaskFailed', 'TaskInUse'];
/** Reasons for which an order without a server waits for a user's answer. */
const OPEN = new Set([...UNANSWERED, 'TaskOverdue', 'IdentityUnproven', 'IdentifierInUse', 'ServerNotVisible']);
/** Reasons for which the server that a task named may never come up. */
const FAILED = new Set(['CreateFailed', 'TaskNotFound', 'TaskFailed', 'TaskOverdue', 'TaskInUse']);

/** Whether only a user can tell if the object's order created a server. */
export const isUnanswered = ({ status }: VirtualServer): boolean =>
  UNANSWERED.includes(currentReason(status?.conditions) ?? '');

/** Whether the provider has answered the object's order with 409, and denies the server: only a user can tell if there is one. */
export const isInUse = (object: VirtualServer): boolean =>
  currentReason(object.status?.conditions) === 'AbsenceUnproven' && recordOf(object)?.sent?.inUse === true;

/** For a user who has looked for the object's server; `server`: the one that is alive. */
export function wordsAboutUse(object: VirtualServer, server: string | undefined): Words | undefined {
  const { identifier } = recordOf(object) ?? {};
  return server === undefined && identifier !== undefined ? { [SERVER_GONE_ANNOTATION]: identifier } : undefined;
}

/** `server`: the one that was ordered for the object and is alive, or will be when its task ends. */
export function wordsAboutOrder(object: VirtualServer, server: string | undefined): Words | undefined {
  const reason = currentReason(object.status?.conditions) ?? '';
  const { attempt, identifier } = recordOf(object) ?? {};
  if (identifier !== undefined)
    return attempt !== undefined && FAILED.has(reason) && server === undefined
      ? { [NOT_CREATED_ANNOTATION]: attempt }
      : undefined;
  if (attempt !== undefined && OPEN.has(reason))
    return server === undefined
      ? { [ADOPT_ANNOTATION]: null, [NOT_CREATED_ANNOTATION]: attempt }
      : { [ADOPT_ANNOTATION]: server };
  // The server that they wanted to adopt is gone, or never existed.
  return reason === 'ServerNotVisible' || reason === 'IdentifierInUse' ? { [ADOPT_ANNOTATION]: null } : undefined;
}

/** For a user who has looked for the servers of the object's orphans. */
export function wordsAboutOrphans(object: VirtualServer): Words | undefined {
  const { orphans } = recordOf(object) ?? {};
  return orphans && { [ORPHAN_HANDLED_ANNOTATION]: orphans.map(orphanName).join(',') };
}

/** Whether the user has already answered this. */
export const isSaid = ({ metadata: { annotations = {} } }: VirtualServer, words: Words): boolean =>
  Object.entries(words).every(([name, value]) => (annotations[name] ?? null) === value);
