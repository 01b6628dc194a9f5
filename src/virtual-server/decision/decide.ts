/** What to do next for one object: the first check that has an answer. The order of the list is part of the design. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import * as checks from './checks/record.ts';
import * as deleting from './checks/deleting.ts';
import * as expiry from './checks/expiry.ts';
import * as ordering from './checks/ordering.ts';
import { lookAt, type View } from './view.ts';
import type { Action, Facts } from './types.ts';

export type Check = (view: View) => Action | undefined;

/** Name and order of every check; test/unit/virtual-server/decision/decide.test.ts holds the list against the design. */
export const CHECKS: readonly Check[] = [
  deleting.finalizerIsGone,
  checks.recordIsTooNew,
  checks.recordIsInvalid,
  checks.recordIsForeign,
  checks.recordIsMissing,
  checks.recordIsInConflict,
  checks.recordIsStale,
  checks.objectIsPaused,
  checks.attemptCreatedNothing,
  checks.orphanIsHandled,
  checks.wordIsTakenBack,
  expiry.serverHasExpired,
  checks.identifierIsHeldTwice,
  deleting.nothingIsOwed,
  ordering.attemptWasClaimedJustNow,
  ordering.createIsInFlight,
  deleting.serverIsRetained,
  deleting.serverIsProtected,
  expiry.timeIsOver,
  ordering.adoptionIsAsked,
  ordering.createOutcomeIsUnknown,
  checks.taskIsHeldTwice,
  checks.taskRuns,
  deleting.serverIsToBeCancelled,
  expiry.serverIsToExpire,
  checks.serverIsHeld,
  ordering.serverIsToBeOrdered,
];

export function decide(object: VirtualServer, facts: Facts): Action {
  const view = lookAt(object, facts);
  for (const check of CHECKS) {
    const action = check(view);
    if (action !== undefined) return action;
  }
  throw new Error('no check has an answer');
}
