/** Whether a server is to be ordered; operations/order.ts orders it. */
import { clockOf, expiryOf } from '../expiry.ts';
import { annotationMeant, unknownAnnotations } from '../annotations.ts';
import { edit, renameAnnotation, unannotate } from '../commands.ts';
import { holdsSomething } from '../record.ts';
import type { Facts, Operation } from '../types.ts';
import { notDue, park, type View } from '../view.ts';

/** The operator orders and adopts nothing that it would have to cancel at once. */
export function timeIsOver({ own, object, facts }: View): Operation | undefined {
  const at = expiryOf(object, own);
  if (at === undefined || clockOf(facts) < at) return undefined;
  return park(
    'Expired',
    `spec.expiresAt is in the past, so the operator orders and adopts nothing. To set a later time, run ${edit(object)}`,
  );
}

/** Most are typos: ordering a server could be the opposite of what you asked for, such as to adopt one, or to wait. */
export function annotationIsUnknown({ object }: View): Operation | undefined {
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

export function serverIsToBeOrdered(view: View): Operation {
  const { facts, own, deleting } = view;
  // The last line of defense against a second order: no earlier check may let such an object through.
  if (deleting || (own !== undefined && holdsSomething(own))) throw new Error('a server is held, or may be: no create');
  return notDue(view, 'order') ?? journalIsUnavailable(facts) ?? { type: 'order', record: own };
}

/** The operator claims nothing that it could not send. */
function journalIsUnavailable({ journalProblem, timing }: Facts): Operation | undefined {
  if (journalProblem === undefined) return undefined;
  const message =
    `The operator cannot write its journal in --journal-dir: ${journalProblem}. The operator orders nothing until it can, ` +
    'and retries automatically. Ask an administrator to free space there, or to make the folder writable';
  return park('JournalUnavailable', message, { retry: 'order', afterMs: timing.pollMs });
}
