/** Decides on an object: gathers the facts that the decision asks for until there is an action to perform. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Progress } from '../../controller/progress.ts';
import { decide } from '../decision/decide.ts';
import type { Action, Facts } from '../decision/types.ts';
import { lookAt, type View } from '../decision/view.ts';
import { gather, type GatherRooms, type VisitFacts } from './gather.ts';

/** No action needs more facts than this; exceeding it means a loop, which is a bug. */
const MAX_FACTS = 24;

export interface Choice {
  view: View;
  action: Action;
}

/**
 * `into`: what the visit has gathered; facts read for one cancellation never count for another. `factsOf`: all current
 * facts, with what was gathered. Resolves with undefined if the object is gone.
 */
export async function choose(
  first: VirtualServer,
  into: VisitFacts,
  factsOf: (object: VirtualServer) => Facts,
  room: GatherRooms & { progress?: Pick<Progress, 'mark'> },
): Promise<Choice | undefined> {
  into.cancellation = undefined;
  let view = lookAt(first, factsOf(first));
  for (let count = 0; count < MAX_FACTS; count++) {
    room.progress?.mark();
    const action = decide(view);
    if (action.type !== 'gather') return { view, action };
    const object = await gather(action.what, view, into, room);
    if (object === undefined) return undefined;
    view = object === view.object ? { ...view, facts: factsOf(object) } : lookAt(object, factsOf(object));
  }
  throw new Error(`no action after ${MAX_FACTS} facts`);
}
