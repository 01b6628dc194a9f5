/** The verdict for a deleted object that keeps its server, because of a delay or a hand-over. Pure. */
import { HAND_OVER_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import { timestamp, UNITS_MS } from '../../base/duration.ts';
import { cut } from '../../base/text.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { delayEndOf, isAskedToCancel } from './delay.ts';
import { takerOf, takerProblem } from './inputs.ts';
import type { Evidence } from './memo.ts';
import type { View } from './view.ts';

/** How long the taker of a hand-over may be missing or being deleted before the object reports it (ms). */
const TAKER_MS = UNITS_MS.h;

/** The state of the server does not matter here, only its end. `missing`: see `missingTaker`. */
export function kept(view: View, record: ServerRecord, missing: Evidence['takerMissing']): Verdict {
  const { object } = view;
  const taker = takerOf(object);
  const server = record.identifier ?? '';
  if (isAskedToCancel(object, record, view.memo)) {
    const message =
      `The operator has asked the provider to cancel server ${server}. The provider still shows the server, but may cancel it at ` +
      'any time, so no other object can take it over';
    return { reason: 'CancellationUnconfirmed', message };
  }
  const problem = takerProblem(object) ?? (taker === undefined ? undefined : takerObjection(taker, view, missing));
  if (problem !== undefined) {
    const message =
      `Annotation ${HAND_OVER_ANNOTATION} ${problem}, so server ${server} cannot be handed over. The operator does not cancel the ` +
      'server, which costs money';
    return { reason: 'HandOverRefused', message };
  }
  if (taker !== undefined) {
    const message =
      `This object hands server ${server} over to ${cut(taker, 64)}, and cancels nothing: ${cut(taker, 64)} takes the ` +
      'server over as soon as it exists in this namespace with the same product, image, disk size and SSH keys';
    return { reason: 'HandOverPending', message };
  }
  const { deletionDelay = '' } = object.spec;
  const at = timestamp(delayEndOf(object, record) ?? 0);
  const message =
    `This object was deleted, and its server ${server} runs on for spec.deletionDelay (${deletionDelay}): the operator cancels ` +
    `the server at ${at}`;
  return { reason: 'DeletionDelayed', message };
}

/** Since when the object that is to get the server is known not to exist, or to be deleted. */
export function missingTaker({ object, memo, monotonic, handOver }: View): Evidence['takerMissing'] {
  const name = takerOf(object);
  if (name === undefined || handOver.taker !== 'missing') return undefined;
  const { takerMissing } = memo.evidence;
  return takerMissing?.name === name ? takerMissing : { name, since: monotonic };
}

function takerObjection(taker: string, { monotonic, handOver }: View, missing: Evidence['takerMissing']) {
  const name = cut(taker, 64);
  if (handOver.taker === 'holding') return `names ${name}, which holds another server`;
  const isLong = missing !== undefined && monotonic - missing.since >= TAKER_MS;
  return isLong ? `names ${name}, and for an hour no ${name} has existed that is not being deleted` : undefined;
}
