/**
 * What an operator that only observes does instead of each operation: it reads, and reports what it would do. It orders and
 * cancels nothing, and changes no record: what a read adds to the record counts only until the visit ends (visit.ts).
 */
import { hasTrait } from '../../api/conditions.ts';
import { SERVER_KIND } from '../../api/names.ts';
import type { Verdict } from '../../controller/conditions.ts';
import type { Withheld } from '../../controller/observer.ts';
import { parked, waited } from '../decision/outcome.ts';
import { keptVerdict } from '../decision/refused.ts';
import type { Operation, Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { keyOf } from '../../kube/resource.ts';
import { adopt } from './adopt.ts';
import { expire } from './expire.ts';
import { follow } from './follow.ts';
import { look } from './look.ts';
import { inputsOfOrder } from './order.ts';
import { recorded } from './record.ts';

/** Someone waits for none of this, and a pause of nothing would repeat a read at once (ms). */
const SHORTEST_PAUSE_MS = 2_000;

export async function observe(visit: Visit, at: View, operation: Operation): Promise<Outcome> {
  const { next, withheld } = await observed(visit, at, operation);
  const actions = withheld === undefined ? [] : [withheld];
  if (!next.again) visit.services.observer?.withholds(SERVER_KIND, keyOf(visit.object), ...actions);
  const pauseMs = next.requeueAfterMs;
  return pauseMs === undefined ? next : { ...next, requeueAfterMs: Math.max(SHORTEST_PAUSE_MS, pauseMs) };
}

interface Observed {
  next: Outcome;
  withheld?: Withheld;
}

async function observed(visit: Visit, at: View, operation: Operation): Promise<Observed> {
  const { spec } = at.object;
  switch (operation.type) {
    case 'follow':
      return { next: await follow(visit, at, operation) };
    case 'look':
      return { next: await look(visit, at, operation) };
    case 'record':
      return { next: recorded(at, operation.record, operation.why) };
    case 'park':
      return { next: parked(at, operation) };
    case 'wait':
      return { next: waited(at, operation.afterMs) };
    case 'order': {
      const inputs = await inputsOfOrder(visit, at);
      if (!inputs.ok) return { next: inputs.error };
      return withhold(visit.view(), 'order', `It would order a server: product ${spec.product}, image ${spec.image}`);
    }
    case 'adopt': {
      const next = await adopt(visit, at, operation);
      if (next.record === undefined) return { next };
      const { identifier } = operation;
      return withhold(visit.view(), 'adopt', `It would adopt server ${identifier}, which this API key can read`);
    }
    case 'takeOver':
      return withhold(at, 'adopt', `It would take over the server of ${operation.giver}`);
    case 'handOver':
      return withhold(at, 'release', `${operation.taker} holds the server now: it would remove the finalizer`);
    case 'cancel': {
      const why = at.deleting ? 'The object is being deleted' : 'The time of the server is up';
      return withhold(at, 'cancel', `${why}: it would cancel server ${operation.identifier}`);
    }
    case 'expire': {
      if (operation.record.expiredAt !== undefined) return { next: await expire(visit, at, operation) };
      return withhold(at, 'expire', `The time of the server is up: it would record that, and order no other`);
    }
    case 'release': {
      const server =
        operation.why === 'retained' ? `, and leave server ${operation.record?.identifier ?? ''} running` : '';
      return withhold(at, 'release', `The object is being deleted: it would remove the finalizer${server}`);
    }
  }
}

/** Without a plan: each visit finds out again what would be done. */
function withhold(at: View, withheld: Withheld, what: string): Observed {
  const kept = keptVerdict(at.object);
  const proof =
    kept !== undefined && hasTrait(kept.reason, 'doubt') ? ', once it proves to be that of this object' : '';
  const message = `The operator only observes (--observe-only). ${what}${withheld === 'cancel' ? proof : ''}`;
  const verdict: Verdict = { reason: 'ObserveOnly', ...kept, message };
  return { next: parked(at, { verdict, afterMs: at.facts.timing.resyncMs }), withheld };
}
