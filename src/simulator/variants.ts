/** What the sources leave open about the provider's answers, and what each API answers unless a setting chooses. */
import * as z from 'zod';

/** `documented`: as the specification says. `public`: as public documents and clients of the same API tell. */
export const API_NAMES = ['documented', 'public'] as const;
export type ApiName = (typeof API_NAMES)[number];

/** In JSON, null is forever. */
export const msOrForever = z
  .number()
  .min(0)
  .nullable()
  .transform((ms) => ms ?? Infinity);

/** The values of each variant that is a choice. */
export const CHOICES = {
  readDenied: [403, 404],
  deleteDenied: [403, 404],
  taskDenied: [403, 404],
  readDuringTask: [403, 409, 200, 404],
  deleteDuringTask: [403, 409, 200, 404],
  sameOrder: [409, 202],
  secondOrder: ['fails', 'wins'],
  heldStatus: [502, 504, 408],
  outOfStock: [503, 400, 'task'],
  failedTask: ['error', 'error-then-denied', 'error-then-pending', 'text'],
  taskOfCancelled: ['remembered', 'forgotten'],
  cancelled: ['forgotten', 'listed', 'shown'],
  cancelledAs: ['cancelled', 'deleted', 'terminated'],
  cancelledAddresses: ['kept', 'dropped'],
  cancelAgain: ['denied', 'conflict', 'busy', 'gone', 'cancelled'],
  offAddresses: ['kept', 'dropped'],
  creatingAs: ['installing', 'removed'],
  missingCall: [404, 405, 501],
  furtherFields: ['taken', 'ignored', 'refused'],
  names: ['kept', 'cut', 'dropped'],
  pageTells: ['next', 'next_page', 'has_more', 'total', 'per_page', 'links', 'header', 'total-header'],
  periods: ['shown', 'missing', 'running'],
  priceList: ['exact', 'lower', 'higher', 'missing'],
  power: ['all', 'without-dormant', 'missing'],
  shutdown: ['obeyed', 'ignored', 'unfinished', 'queued'],
  cancelWhileSwitching: ['obeyed', 'ignored'],
  wakes: ['off', 'running'],
  asleep: ['same', 'cheaper', 'renamed'],
  refusedStatus: [400, 418, 422, 451],
  changes: ['at-once', 'at-restart', 'unseen', 'excluding', 'missing'],
} as const;

/** A timer cannot wait for longer. */
const MAX_HELD_MS = 2 ** 31 - 1;
const denied = 'unknown, gone, or of another account: 403 says that it does not exist or that access is denied';
const duringTask = '403 and 404 deny it, 409 says that it is still being created';

/**
 * All are valid with both APIs. Those about orders for an identifier, `listsCreating`, `listsZones`, `listsHosts` and those about power
 * and changes need calls that only `public` has.
 */
export const variantsSchema = z.strictObject({
  readDenied: z.literal(CHOICES.readDenied).exactOptional().describe(`status of a GET of a server that is ${denied}`),
  deleteDenied: z.literal(CHOICES.deleteDenied).exactOptional().describe(`status of a DELETE of such a server`),
  taskDenied: z.literal(CHOICES.taskDenied).exactOptional().describe(`status of a poll of a task that is ${denied}`),
  readDuringTask: z
    .literal(CHOICES.readDuringTask)
    .exactOptional()
    .describe(`status of a GET of a server while its task runs: ${duringTask}`),
  deleteDuringTask: z
    .literal(CHOICES.deleteDuringTask)
    .exactOptional()
    .describe(`status of a DELETE while the task runs: ${duringTask}, 200 cancels server and task`),
  sameOrder: z
    .literal(CHOICES.sameOrder)
    .exactOptional()
    .describe('status of an equal order for the same identifier while its task runs; 202 returns that task'),
  nameReservedAfterMs: z
    .number()
    .min(0)
    .exactOptional()
    .describe(
      'an order for an identifier takes it this long after its 202; until then no call shows the server, and another order for it is accepted too',
    ),
  secondOrder: z
    .enum(CHOICES.secondOrder)
    .exactOptional()
    .describe(
      'what becomes of the later one of two accepted orders for an identifier; the task of the other one fails',
    ),
  heldEvery: z
    .int()
    .min(0)
    .exactOptional()
    .describe('a proxy holds back every n-th order for an identifier, and delivers it later; 0: none'),
  heldMs: z.number().min(0).max(MAX_HELD_MS).exactOptional().describe('for how long it holds an order back'),
  heldStatus: z
    .literal(CHOICES.heldStatus)
    .exactOptional()
    .describe('what it answers at once to an order that it holds back'),
  taskRememberedMs: msOrForever
    .exactOptional()
    .describe('a finished or failed task is denied after this many milliseconds; null: never'),
  taskOfCancelled: z
    .enum(CHOICES.taskOfCancelled)
    .exactOptional()
    .describe('whether the task of a server is denied once a DELETE of the server was accepted'),
  outOfStock: z
    .literal(CHOICES.outOfStock)
    .exactOptional()
    .describe('answer to an order of a product that is out of stock; task: the order is accepted, and its task fails'),
  /**
   * `error`: 500 with the text, forever. `error-then-denied`: once, and then the task is denied.
   * `error-then-pending`: once, and then the task continues and creates its server. `text`: 200 with the text, forever.
   */
  failedTask: z.enum(CHOICES.failedTask).exactOptional().describe('how the URL of a failed task answers'),
  failedNameMs: msOrForever
    .exactOptional()
    .describe('an identifier that was ordered stays in use for this long after its task has failed; null: forever'),
  failedTaskIdentifier: z
    .boolean()
    .exactOptional()
    .describe('whether a task that fails names its server before it fails, and after that in a 200'),
  taskFailsAfterMs: z.number().min(0).exactOptional().describe('how long a task runs that is to fail'),
  listsCreating: z.boolean().exactOptional().describe('whether the list of servers has those whose task runs'),
  listsPage: z
    .int()
    .min(0)
    .exactOptional()
    .describe('how many servers the list shows; no call shows the others of a longer list; 0: all'),
  pageTells: z
    .enum(CHOICES.pageTells)
    .exactOptional()
    .describe(
      'the field beside the servers that says whether there are more; header: a Link header with rel="next", total-header: X-Total-Count',
    ),
  listsZones: z.boolean().exactOptional().describe('whether the public API lists the zones'),
  listsHosts: z.boolean().exactOptional().describe('whether the public API lists the hosts'),
  pausedMs: z
    .number()
    .min(0)
    .exactOptional()
    .describe('a server that is new, or was switched on, is paused for this long before it is running'),
  power: z
    .enum(CHOICES.power)
    .exactOptional()
    .describe('which calls about power the public API has: to switch servers on and off, and to make them dormant'),
  shutdown: z
    .enum(CHOICES.shutdown)
    .exactOptional()
    .describe(
      'what a server does when it is asked to shut down; unfinished: it is shutting down forever; queued: each request takes effect after shutdownMs, also if the server was started since',
    ),
  cancelWhileSwitching: z
    .enum(CHOICES.cancelWhileSwitching)
    .exactOptional()
    .describe(
      'what a DELETE does while a server shuts down or starts; ignored: it gets 200 with the text "Server is locked", and cancels nothing',
    ),
  shutdownMs: z.number().min(0).exactOptional().describe('how long a server that obeys takes to shut down'),
  startsAfterMs: msOrForever
    .exactOptional()
    .describe('a server that was shut down starts unasked after this many milliseconds; null: never'),
  wakes: z.enum(CHOICES.wakes).exactOptional().describe('the state of a server that was dormant until now'),
  asleep: z
    .enum(CHOICES.asleep)
    .exactOptional()
    .describe(
      'what a dormant server is shown as; cheaper: with 11 % of its price; renamed: also as the product DORMANT, which wakes no server',
    ),
  changes: z
    .enum(CHOICES.changes)
    .exactOptional()
    .describe(
      'whether a server can be changed, and when a resize takes effect; at-restart: when the server starts, and until then upgrade_specs shows it; unseen: never, as with all that is accepted; excluding: at once, and of cpu_mode and tablet, one change takes the other back',
    ),
  changeTakesMs: z
    .number()
    .min(0)
    .exactOptional()
    .describe('how long a change that takes effect at once takes until reads show it'),
  cancelled: z
    .enum(CHOICES.cancelled)
    .exactOptional()
    .describe(
      'a server that was cancelled; listed: the list keeps it, with the status cancelled; shown: so do reads of it',
    ),
  cancelledAs: z.enum(CHOICES.cancelledAs).exactOptional().describe('the status of such a server'),
  cancelledAddresses: z
    .enum(CHOICES.cancelledAddresses)
    .exactOptional()
    .describe('whether reads show the addresses of such a server'),
  cancelAgain: z
    .enum(CHOICES.cancelAgain)
    .exactOptional()
    .describe(
      'refusal of another DELETE of a server that was cancelled and is still shown; conflict: 409 without a reason, busy: 409 because of another task, gone: 410, cancelled: 400 with that word',
    ),
  offAddresses: z
    .enum(CHOICES.offAddresses)
    .exactOptional()
    .describe('whether reads show the addresses of a server that is off'),
  lockedMs: z
    .number()
    .min(0)
    .exactOptional()
    .describe('a DELETE is refused for this long after the server is ready, because of another task'),
  cancelledMs: msOrForever.exactOptional().describe('for how long it is kept; null: forever'),
  creatingAs: z
    .enum(CHOICES.creatingAs)
    .exactOptional()
    .describe('the status of a server whose task runs, where a read shows it'),
  refusedStatus: z
    .literal(CHOICES.refusedStatus)
    .exactOptional()
    .describe('status by which the provider refuses a change of a server, or a call about its power'),
  missingCall: z.literal(CHOICES.missingCall).exactOptional().describe('status of calls that only the public API has'),
  furtherFields: z
    .enum(CHOICES.furtherFields)
    .exactOptional()
    .describe('fields of an order that the specification does not have, such as zone; refused: with 400'),
  names: z
    .enum(CHOICES.names)
    .exactOptional()
    .describe('what becomes of the name in an order or a change; cut: the server shows its first 12 characters'),
  periods: z
    .enum(CHOICES.periods)
    .exactOptional()
    .describe('whether reads of a server show its billing period; running: only while it is running'),
  priceList: z
    .enum(CHOICES.priceList)
    .exactOptional()
    .describe(
      'what the list of prices shows, which only the public API has: what servers cost, half of that, or twice that; missing: there is no list',
    ),
});

export type VariantOptions = z.infer<typeof variantsSchema>;
export type Variants = Required<VariantOptions>;
export type FailedTask = Variants['failedTask'];

const SIMPLE = {
  sameOrder: 409,
  nameReservedAfterMs: 0,
  secondOrder: 'fails',
  heldEvery: 0,
  heldMs: 60 * 60_000,
  heldStatus: 504,
  taskRememberedMs: Infinity,
  taskOfCancelled: 'remembered',
  outOfStock: 503,
  failedNameMs: 0,
  failedTaskIdentifier: true,
  taskFailsAfterMs: 0,
  listsCreating: true,
  listsPage: 0,
  pageTells: 'next',
  listsZones: true,
  listsHosts: true,
  pausedMs: 0,
  power: 'all',
  shutdown: 'obeyed',
  cancelWhileSwitching: 'obeyed',
  shutdownMs: 0,
  startsAfterMs: Infinity,
  refusedStatus: 400,
  wakes: 'off',
  asleep: 'same',
  changes: 'at-once',
  changeTakesMs: 0,
  names: 'kept',
  cancelled: 'forgotten',
  cancelledAs: 'cancelled',
  cancelledAddresses: 'kept',
  cancelAgain: 'denied',
  offAddresses: 'kept',
  lockedMs: 0,
  cancelledMs: Infinity,
  creatingAs: 'installing',
  missingCall: 404,
  periods: 'shown',
  priceList: 'exact',
} as const satisfies VariantOptions;

export const DEFAULT_VARIANTS: Record<ApiName, Variants> = {
  documented: {
    ...SIMPLE,
    readDenied: 404,
    deleteDenied: 404,
    taskDenied: 404,
    readDuringTask: 404,
    deleteDuringTask: 404,
    failedTask: 'text',
    furtherFields: 'refused',
  },
  public: {
    ...SIMPLE,
    readDenied: 403,
    deleteDenied: 403,
    taskDenied: 403,
    readDuringTask: 403,
    deleteDuringTask: 403,
    failedTask: 'error',
    furtherFields: 'taken',
  },
};
