/** Helpers for the tests of settle. */
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import type { Action, Facts, Next, Outcome } from '../../../../../src/virtual-server/decision/types.ts';
import { facts, settle } from '../../../../gen/decision.ts';

export const settled = (object: VirtualServer, action: Action, outcome: Outcome, given: Facts = facts()): Next =>
  settle(object, action, outcome, given);

/** Type -> status and reason. */
export const conditionsOf = ({ status }: Next): Record<string, string> =>
  Object.fromEntries((status?.conditions ?? []).map(({ type, status: value, reason }) => [type, `${value} ${reason}`]));

export const reasons = ({ status }: Next): string[] => (status?.conditions ?? []).map(({ reason }) => reason);
