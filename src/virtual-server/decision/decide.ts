/**
 * Decides which operation is next for one object: the first check with an answer wins. The order of the chains is part of the
 * design.
 */
import { adoptionIsAsked } from './checks/adoption.ts';
import * as deleting from './checks/deleting.ts';
import * as living from './checks/living.ts';
import * as attempt from './checks/attempt.ts';
import * as ordering from './checks/ordering.ts';
import * as own from './checks/own.ts';
import * as record from './checks/record.ts';
import { holdsSomething } from './record.ts';
import type { Operation } from './types.ts';
import type { OwnView, View } from './view.ts';

export type Check<V extends View = View> = (view: V) => Operation | undefined;

export interface Chain {
  /** Whether the checks run at all; they rely on this. */
  admits: (view: View) => boolean;
  checks: readonly Check[];
}

/** `decide` runs no check on a view that `admits` rejects, so each check may rely on what a type guard has found. */
function chain<V extends View>(admits: (view: View) => view is V, checks: readonly Check<V>[]): Chain;
function chain(admits: (view: View) => boolean, checks: readonly Check[]): Chain;
function chain(admits: (view: View) => boolean, checks: readonly Check<never>[]): Chain {
  return { admits, checks: checks as readonly Check[] };
}

const isOwn = (view: View): view is OwnView => view.own !== undefined;
const holds = (view: View): view is OwnView => view.own !== undefined && holdsSomething(view.own);

/**
 * `decide` asks in this order: `record` for every object, `own` for an object with its own record, then whichever of
 * the other four fits. docs/concepts/design.md lists them; test/unit/virtual-server/decision/decide.test.ts compares.
 */
export const CHAINS = {
  record: chain(
    () => true,
    [
      record.finalizerIsGone,
      record.recordIsTooNew,
      record.recordIsInvalid,
      record.recordIsForeign,
      record.recordIsMissing,
      record.recordIsInConflict,
      record.recordIsStale,
      record.objectIsPaused,
    ],
  ),
  own: chain(isOwn, [
    own.attemptCreatedNothing,
    own.orphanIsHandled,
    own.wordIsTakenBack,
    own.serverHasExpired,
    own.identifierIsHeldTwice,
  ]),
  ordering: chain(
    (view) => !view.deleting && !holds(view),
    [ordering.timeIsOver, adoptionIsAsked, ordering.annotationIsUnknown, ordering.serverIsToBeOrdered],
  ),
  living: chain(
    (view): view is OwnView => !view.deleting && holds(view),
    [
      attempt.createIsInFlight,
      adoptionIsAsked,
      attempt.createOutcomeIsUnknown,
      attempt.taskRuns,
      living.serverIsToExpire,
      living.serverIsHeld,
    ],
  ),
  deleting: chain(
    (view): view is OwnView => view.deleting && holds(view),
    [
      attempt.createIsInFlight,
      deleting.serverIsRetained,
      deleting.serverIsProtected,
      adoptionIsAsked,
      attempt.createOutcomeIsUnknown,
      attempt.taskRuns,
      deleting.serverIsToBeCancelled,
    ],
  ),
  leaving: chain(
    (view) => view.deleting && !holds(view),
    [deleting.nothingIsOwed, deleting.serverIsProtected, adoptionIsAsked],
  ),
};

export function decide(view: View): Operation {
  for (const { admits, checks } of Object.values(CHAINS)) {
    if (!admits(view)) continue;
    for (const check of checks) {
      const operation = check(view);
      if (operation !== undefined) return operation;
    }
  }
  throw new Error('no check has an answer');
}
