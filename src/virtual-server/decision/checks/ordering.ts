/** What must be in order before the operator orders a server. */
import type { Missing } from '../../../accounts/decision/failure.ts';
import { clockOf, expiryOf } from '../expiry.ts';
import { annotationMeant, unknownAnnotations } from '../annotations.ts';
import { edit, renameAnnotation, unannotate } from '../commands.ts';
import { holdsSomething } from '../record.ts';
import { specProblem } from '../spec.ts';
import type { Action, Facts, GatherKind } from '../types.ts';
import { notDue, park, withoutCredentials, type View } from '../view.ts';

/** The operator orders and adopts nothing that it would have to cancel at once. */
export function timeIsOver({ own, object, facts }: View): Action | undefined {
  const at = expiryOf(object, own);
  if (at === undefined || clockOf(facts) < at) return undefined;
  return park(
    'Expired',
    `spec.expiresAt is in the past, so the operator orders and adopts nothing. To set a later time, run ${edit(object)}`,
  );
}

/** Most are typos: ordering a server could be the opposite of what you asked for, such as to adopt one, or to wait. */
export function annotationIsUnknown({ object }: View): Action | undefined {
  const unknown = unknownAnnotations(object.metadata);
  if (unknown.length === 0) return undefined;
  const [is, them] = unknown.length === 1 ? ['annotation', 'the annotation'] : ['annotations', 'them'];
  const corrections = unknown.flatMap((wrong) => {
    const right = annotationMeant(wrong);
    return right === undefined ? [] : [`If you mean ${right}, run ${renameAnnotation(object, wrong, right)}. `];
  });
  return park(
    'UnknownAnnotation',
    `The operator does not know the ${is} ${unknown.join(', ')}, so it orders nothing. ${corrections.join('')}` +
      `To remove ${them} and let the operator order a server, run ${unannotate(object, ...unknown)}`,
  );
}

const RECHECK_MS = 60_000;

export function serverIsToBeOrdered(view: View): Action | undefined {
  const { facts, object, own, deleting } = view;
  // The last line of defense against a second order: no earlier check may let such an object through.
  if (deleting || (own !== undefined && holdsSomething(own))) throw new Error('a server is held, or may be: no create');
  const first = notDue(view, 'gather') ?? journalIsUnavailable(facts) ?? withoutCredentials(view, 'gather');
  if (first !== undefined) return first;
  const { sshKeys, catalog, place, createDelayMs, order } = facts;
  if (sshKeys === undefined) return gather('sshKeys');
  if (!sshKeys.ok) return missing(sshKeys);
  if (catalog === undefined) return gather('catalog');
  if (!catalog.ok) return missing(catalog);
  const problem = specProblem(object.spec, catalog.catalog);
  if (problem !== undefined) {
    const message = `${problem}. The operator ordered nothing. To correct spec, run ${edit(object)}`;
    return park('InvalidSpec', message, { retry: 'gather', afterMs: Math.max(RECHECK_MS, facts.timing.resyncMs) });
  }
  if (place === undefined) return gather('place');
  if (!place.free) {
    const message =
      `The namespace has ${place.limit} servers, the maximum that --max-servers-per-namespace allows; retained servers ` +
      'count too. Delete a server, or ask an administrator for a higher limit. The operator then orders this server';
    return park('ServerLimit', message, { retry: 'gather', afterMs: facts.timing.pollMs });
  }
  if (createDelayMs === undefined) return gather('createDelay');
  if (createDelayMs > 0) {
    const message =
      'The namespace has reached --max-creates-per-hour. The operator orders the server as soon as the limit allows it';
    return park('CreateLimit', message, { retry: 'gather', afterMs: createDelayMs });
  }
  // The order waits before the claim. From the claim on, a crash may leave an order whose outcome nobody knows.
  if (order === undefined) return gather('order');
  if (!order.ok) return missing(order);
  if (facts.credentials?.ok !== true) throw new Error('credentials were checked above');
  return { type: 'claim', record: own, account: facts.credentials.account };
}

/** The operator claims nothing that it could not send. */
function journalIsUnavailable({ journalProblem, timing }: Facts): Action | undefined {
  if (journalProblem === undefined) return undefined;
  const message =
    `The operator cannot write its journal in --journal-dir: ${journalProblem}. The operator orders nothing until it can, ` +
    'and retries automatically. Ask an administrator to free space there, or to make the folder writable';
  return park('JournalUnavailable', message, { retry: 'gather', afterMs: timing.pollMs });
}

function gather(what: GatherKind): Action {
  return { type: 'gather', what };
}

function missing({ reason, message, retryAfterMs }: Missing): Action {
  return park(reason, message, { retry: 'gather', ...(retryAfterMs !== undefined && { atLeastMs: retryAfterMs }) });
}
