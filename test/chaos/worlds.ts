/**
 * What the sources about the public service leave open, for scenarios with orders under an identifier of the operator. Which variant a
 * provider has may cost no one a server or money, and no object asks a person.
 */
import type { SimulatorOptions } from '../../src/simulator/index.ts';

export type World = Pick<SimulatorOptions, 'variants' | 'lag'>;

/** Longer than the operator waits before it repeats an order, and shorter than it waits for a proof of absence (ms). */
const LATE_MS = 1_500;

/** For scenarios in which an order creates its server. */
export const WORLDS = {
  /** The name is taken some time after the 202: until then another order for it is accepted too, and fails. */
  'late-name': { variants: { nameReservedAfterMs: LATE_MS, secondOrder: 'fails', sameOrder: 202 } },
  /** The same, and the first of the two orders fails. */
  'late-name-wins': { variants: { nameReservedAfterMs: LATE_MS, secondOrder: 'wins', sameOrder: 409 } },
  /** Nothing shows a server in the making, and its task is denied once it has ended. */
  hidden: {
    variants: {
      ...{ readDenied: 404, deleteDenied: 404, taskDenied: 404, readDuringTask: 404, deleteDuringTask: 404 },
      ...{ listsCreating: false, taskRememberedMs: 0 },
    },
    lag: { listMs: LATE_MS },
  },
  /** A server in the making is shown and can be cancelled; a cancelled one is shown for a while, without its addresses. */
  shown: {
    variants: {
      ...{ readDuringTask: 200, deleteDuringTask: 200, sameOrder: 202, taskOfCancelled: 'forgotten', pausedMs: 300 },
      ...{ cancelled: 'shown', cancelledMs: LATE_MS, cancelledAddresses: 'dropped' },
    },
  },
  /** A server in the making is busy, and so are a new one and a cancelled one. */
  busy: {
    variants: {
      ...{ readDuringTask: 409, deleteDuringTask: 409, lockedMs: LATE_MS },
      ...{ cancelled: 'listed', cancelledMs: LATE_MS, cancelAgain: 'busy' },
    },
    lag: { cancelMs: LATE_MS },
  },
  /** A proxy answers each order with an error, and delivers it later. */
  held: { variants: { heldEvery: 1, heldMs: LATE_MS, heldStatus: 504 } },
} as const satisfies Record<string, World>;

/** For scenarios in which the task of an order fails. */
export const FAILING_WORLDS = {
  /** The name stays in use forever, and the task is denied once it has told that it failed. */
  'kept-name': { variants: { failedTask: 'error-then-denied', failedNameMs: Infinity } },
  /** The task never names its server, and always tells that it failed. */
  nameless: { variants: { failedTask: 'error', failedTaskIdentifier: false } },
} as const satisfies Record<string, World>;
