/**
 * Real reconciles of one object without I/O: decides and settles step by step, and applies the writes to the object.
 */
import type { EventNote } from '../../src/controller/conditions.ts';
import { FINALIZER, RECORD_ANNOTATION } from '../../src/api/names.ts';
import { formatRecord } from '../../src/api/record.ts';
import { statusSchema, type VirtualServer } from '../../src/api/virtual-server.ts';
import type { Action, Facts, Memo, Next, Outcome } from '../../src/virtual-server/decision/types.ts';
import { ATTEMPTED, gathered, decide, settle } from './decision.ts';

/** The provider's answers to the calls of a reconcile, by kind of action. */
export type Answers = Partial<Record<Action['type'], Outcome>>;

export interface Visited {
  /** Undefined if the finalizer was removed and the object is gone. */
  object: VirtualServer | undefined;
  memo: Memo;
  events: EventNote[];
}

/** Runs one reconcile to its end. `steps` ends it earlier, as a crash would. */
export function visit(
  object: VirtualServer,
  { answers = {}, steps = 20, ...given }: { answers?: Answers; steps?: number } & Partial<Facts> = {},
): Visited {
  let [present, memo]: [VirtualServer | undefined, Memo] = [object, given.memo ?? { failures: 0 }];
  let claimed: string | undefined;
  const events: EventNote[] = [];
  for (let step = 0; step < steps; step += 1) {
    const facts = gathered({ ...given, memo, ...(claimed !== undefined && { claimed }) });
    const action = decide(present, facts);
    const next = settle(present, action, outcomeOf(action, answers), facts);
    events.push(...next.events);
    memo = next.memo;
    claimed = next.claimed;
    present = written(present, next);
    if (present === undefined || !next.again) break;
  }
  return { object: present, memo, events };
}

function outcomeOf(action: Action, answers: Answers): Outcome {
  if (action.type === 'claim') return { type: 'minted', attempt: ATTEMPTED.attempt ?? '' };
  const isCall = ['create', 'adopt', 'pollTask', 'readServer', 'deleteServer'].includes(action.type);
  const answer = isCall ? answers[action.type] : { type: 'done' as const };
  if (answer === undefined) throw new Error(`the test gives no answer to ${action.type}`);
  return answer;
}

/** The object as the API server would store it. Throws if the schema would reject the status. */
function written(object: VirtualServer, { record, status }: Next): VirtualServer | undefined {
  if (record === null) return undefined;
  const metadata = { ...object.metadata };
  if (record !== undefined) {
    metadata.annotations = { ...metadata.annotations, [RECORD_ANNOTATION]: formatRecord(record) };
    if (metadata.deletionTimestamp === undefined) metadata.finalizers = [FINALIZER];
  }
  return { ...object, metadata, ...(status !== undefined && { status: statusSchema.parse(status) }) };
}
