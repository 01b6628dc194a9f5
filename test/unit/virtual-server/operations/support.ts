/** Helpers for the tests of the operations. */
import { SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import type { Outcome, ServerAnswer, TaskAnswer } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf, type Circumstances, type View } from '../../../../src/virtual-server/decision/view.ts';
import { afterRefusal, beforeDelete } from '../../../../src/virtual-server/operations/cancel.ts';
import { afterPoll } from '../../../../src/virtual-server/operations/follow.ts';
import type { Following, Held, ServerRecord } from '../../../../src/api/record.ts';
import { KNOWN, denied, facts, shown, webWith, type Shape } from '../../../fixtures/decision.ts';
import { afterLook } from '../../../fixtures/looks.ts';
import { DENIED } from '../../../fixtures/visits.ts';

interface WithStatus {
  status?: VirtualServerStatus;
}

/** Type -> status and reason. */
export const conditionsOf = (of: WithStatus | undefined): Record<string, string> =>
  Object.fromEntries((of?.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]));

/** The message of the condition Ready. */
export const messageOf = (of: WithStatus | undefined): string => of?.status?.conditions?.[0]?.message ?? '';

export const UNREACHABLE = new ProviderError('PROVIDER_UNREACHABLE', 'reset', {});
export const FAILED = { type: 'failed', error: UNREACHABLE } as const;

/** An object with its own record, as an operation finds it. */
export function owned<R extends ServerRecord = Held>(object: VirtualServer, given: Circumstances): [View, R] {
  const at = viewOf(object, given);
  if (at.own === undefined) throw new Error('the object does not own its record');
  return [at, at.own as R];
}

export const polled = (object: VirtualServer, answer: TaskAnswer, given = facts()): Outcome =>
  afterPoll(...owned<Following | Held>(object, given), answer);

export const looked = (object: VirtualServer, answer: ServerAnswer = shown(), given = facts()): Outcome =>
  afterLook(...owned(object, given), answer);

/** Neither the read before a DELETE finds the server, nor the DELETE. */
export function cancelDenied(object: VirtualServer, denial = denied(true), given = facts()): Outcome {
  const of = owned(object, given);
  return beforeDelete(...of, denial) ?? afterRefusal(...of, denial, DENIED);
}

const READY = looked(webWith(KNOWN)).status ?? {};

/** An object whose server is Ready. */
export const living = (own: ServerRecord = KNOWN, shape: Shape = {}): VirtualServer =>
  webWith(own, { status: READY, ...shape });

export const deleted = (own: ServerRecord = KNOWN, shape: Shape = {}): VirtualServer =>
  living(own, { deleting: true, ...shape });

export const saysGone = (identifier: string): Shape => ({ annotations: { [SERVER_GONE_ANNOTATION]: identifier } });

/** The time of its server is up. */
export const OVER: Shape = { spec: { expiresAt: '2026-01-01T00:00:00Z' } };
