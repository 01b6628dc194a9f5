/** All operations: what does each of them, and what the operator says in its place with `--observe-only`. */
import { hasTrait, type ReadyReason } from '../../api/conditions.ts';
import { standingReason } from '../../api/open.ts';
import type { Withheld } from '../../controller/observer.ts';
import { atEarliest } from '../decision/next.ts';
import { parked, waited } from '../decision/outcome.ts';
import { traitsOf } from '../decision/once.ts';
import { ASKS } from '../decision/power.ts';
import type { Operation, Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { adopt } from './adopt.ts';
import { cancel } from './cancel.ts';
import { change } from './change.ts';
import { expire } from './expire.ts';
import { follow } from './follow.ts';
import { handOver, takeOver } from './hand-over.ts';
import { look } from './look.ts';
import { power } from './power.ts';
import { inputsOfOrder, order } from './order.ts';
import { dueToRepeat, repeat } from './order-named.ts';
import { recorded } from './write-record.ts';
import { release } from './release.ts';

/** Undefined: the object is gone, or the process is about to end. */
type Done = Outcome | undefined;

interface Does<O extends Operation> {
  does: (visit: Visit, at: View, operation: O) => Done | Promise<Done>;
}

/** `acts`: whether it does more than read and report. If so, something else happens with `--observe-only`. */
type Row<O extends Operation> =
  | (Does<O> & { acts: false })
  | (Does<O> & {
      acts: true;
      withheld: Withheld;
      /** What the operator would do; the object reports it. */
      would: (at: View, operation: O) => string;
      /** The part that only reads. Resolves with how the operation ends if it has nothing else to do. */
      reads?: (visit: Visit, at: View, operation: O) => Promise<Done>;
    });

const OPERATIONS: { readonly [T in Operation['type']]: Row<Extract<Operation, { type: T }>> } = {
  order: {
    does: order,
    acts: true,
    withheld: 'order',
    reads: async (visit, at) => {
      const inputs = await inputsOfOrder(visit, at);
      return inputs.ok ? undefined : inputs.error;
    },
    would: ({ object: { spec } }) => `It would order a server: product ${spec.product}, image ${spec.image}`,
  },
  repeat: {
    does: repeat,
    acts: true,
    withheld: 'order',
    reads: async (...asked) => {
      const due = await dueToRepeat(...asked);
      return 'session' in due ? undefined : due;
    },
    would: (_at, { record: { identifier } }) => `It would send the order of server ${identifier} again`,
  },
  adopt: {
    does: adopt,
    acts: true,
    withheld: 'adopt',
    reads: async (...asked) => unlessRecord(await adopt(...asked)),
    would: (_at, { identifier }) => `It would adopt server ${identifier}, which this API key can read`,
  },
  takeOver: {
    does: takeOver,
    acts: true,
    withheld: 'adopt',
    would: (_at, { giver }) => `It would take over the server of ${giver}`,
  },
  handOver: {
    does: handOver,
    acts: true,
    withheld: 'release',
    would: (_at, { taker }) => `${taker} holds the server now: it would remove the finalizer`,
  },
  follow: { does: follow, acts: false },
  look: { does: look, acts: false },
  change: {
    does: change,
    acts: true,
    withheld: 'change',
    would: (_at, { record: { identifier } }) => `It would change server ${identifier} in place, as spec asks`,
  },
  power: {
    does: power,
    acts: true,
    withheld: 'power',
    would: ({ object }, { record: { identifier }, call }) => {
      if (traitsOf(call).isRestart) return `It would ${ASKS[call](identifier)}`;
      return `spec.power is ${object.spec.power}: it would ${ASKS[call](identifier)}`;
    },
  },
  cancel: {
    does: cancel,
    acts: true,
    withheld: 'cancel',
    would: ({ own, deleting }, { record }) => {
      const why = deleting ? 'The object is being deleted' : 'The time of the server is up';
      const isInDoubt = hasTrait(standingReason(own), 'doubt');
      const proof = isInDoubt ? ', once it proves to be that of this object' : '';
      return `${why}: it would cancel server ${record.identifier}${proof}`;
    },
  },
  expire: {
    does: expire,
    acts: true,
    withheld: 'expire',
    reads: async (...asked) => unlessRecord(await expire(...asked)),
    would: () => `The time of the server is up: it would record that, and order no other`,
  },
  release: {
    does: (visit, _at, operation) => release(visit, operation),
    acts: true,
    withheld: 'release',
    would: (_at, { why, record }) => {
      const server = why === 'retained' ? `, and leave server ${record?.identifier ?? ''} running` : '';
      return `The object is being deleted: it would remove the finalizer${server}`;
    },
  },
  // With `--observe-only`, the writer keeps the new record from being written.
  record: { does: (_visit, at, { record, why }) => recorded(at, record, why), acts: false },
  park: { does: (_visit, at, operation) => parked(at, operation), acts: false },
  wait: { does: (_visit, at, { when, verdict }) => waited(at, when, verdict), acts: false },
};

export type Perform = (visit: Visit, at: View, operation: Operation) => Promise<Outcome | undefined>;

/** Does the operation. */
export const act: Perform = async (visit, at, operation) => rowOf(operation).does(visit, at, operation);

/** No one waits for what an observer reports. Without a least pause, it would read again at once (ms). */
const SHORTEST_PAUSE_MS = 2_000;

/** Reads, and reports what the operation would do. */
export const observe: Perform = async (visit, at, operation) => {
  const row = rowOf(operation);
  const ended = await (row.acts ? row.reads : row.does)?.(visit, at, operation);
  if (ended !== undefined || !row.acts) return unhurried(ended);
  const known = visit.view();
  return { ...reported(known, row.would(known, operation)), withheld: row.withheld };
};

function rowOf(operation: Operation): Row<Operation> {
  return OPERATIONS[operation.type] as Row<Operation>;
}

/** Undefined if the next thing to do is to write the record. */
function unlessRecord(next: Outcome): Done {
  return next.record === undefined ? next : undefined;
}

/** Does not restore its verdict later: that of an acting operator takes precedence. */
function unhurried(next: Done): Done {
  return next && { ...next, when: atEarliest(next.when, SHORTEST_PAUSE_MS), shows: undefined };
}

/** Without a plan: each visit finds out again what would be done. */
function reported(at: View, what: string): Outcome {
  const message = `The operator only observes (--observe-only). ${what}`;
  const reason = (standingReason(at.own) ?? 'ObserveOnly') as ReadyReason;
  return parked(at, { verdict: { reason, message }, when: { afterMs: at.timing.resyncMs } });
}
