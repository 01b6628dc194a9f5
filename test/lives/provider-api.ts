/** Which API the provider of a world speaks, and what its answers are like where the sources leave that open. */
import type { Lag } from '../../src/simulator/settings.ts';
import { CHOICES, type ApiName, type VariantOptions } from '../../src/simulator/variants.ts';
import type { OrderWay } from '../../src/provider/types.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;

export interface WorldApi {
  api: ApiName;
  variants: VariantOptions;
  lag?: Pick<Lag, 'listMs'>;
}

/** The share of the orders under an identifier, 0 to 1, that are answered with an error although they were accepted. */
export const drawOrderErrors = (random: Random): number => random.pick([0, 0, 0.3, 0.7]);

/** Share of the worlds with a list of servers, 0 to 1, in which some operators have --orders=named. */
const WITH_NAMED_WAY = 0.5;

/** Which way the orders of a process go. In some worlds, the flag changes with each start. */
export function drawWay(random: Random): () => OrderWay {
  const ways = random.pick([['auto'], ['auto'], ['anonymous'], ['auto', 'anonymous']] as const);
  return () => random.pick<OrderWay>(ways);
}

/**
 * The same ways, but in some worlds, operators say `named` at times where they would have left it to the list of servers. A
 * provider without such a list takes no named orders.
 */
export function withNamedWay(way: () => OrderWay, world: WorldApi, random: Random): () => OrderWay {
  if (!random.chance(WITH_NAMED_WAY) || !hasList(world)) return way;
  return () => {
    const drawn = way();
    return random.chance(0.5) && drawn === 'auto' ? 'named' : drawn;
  };
}

/** Adds what the sources leave open about an order under an identifier, and about the list of servers. */
export function withOrders({ api, variants }: WorldApi, random: Random): WorldApi {
  if (api === 'documented') return { api, variants };
  const drawn = {
    sameOrder: random.pick(CHOICES.sameOrder),
    nameReservedAfterMs: random.pick([0, 0, 5_000, MINUTE, 2 * MINUTE]),
    secondOrder: random.pick(CHOICES.secondOrder),
    cancelled: random.pick(['forgotten', 'forgotten', ...CHOICES.cancelled]),
    failedNameMs: random.pick([0, 0, 20 * MINUTE, Infinity]),
    heldEvery: random.pick([0, 0, 1, 2, 3]),
    heldMs: random.pick([MINUTE, 10 * MINUTE, 40 * MINUTE, 120 * MINUTE]),
    heldStatus: random.pick(CHOICES.heldStatus),
  } satisfies VariantOptions;
  return {
    api,
    variants: { ...variants, ...drawn },
    lag: { listMs: random.pick([0, 0, 20_000, 3 * MINUTE, 20 * MINUTE]) },
  };
}

/** People may choose identifiers. The watch tells orders that a proxy held back apart by theirs, so no two share one then. */
export const isChoice = ({ api, variants }: WorldApi): boolean => api === 'public' && (variants.heldEvery ?? 0) === 0;

/** Both APIs are as likely. Their worlds share the sample. */
export function drawApi(random: Random): WorldApi {
  if (random.chance(0.5)) {
    const missingCall = random.pick(CHOICES.missingCall);
    return { api: 'documented', variants: { missingCall, ...(random.chance(0.5) && { failedTask: 'error' }) } };
  }
  const variants = {
    readDenied: random.pick([...CHOICES.readDenied, 403]),
    deleteDenied: random.pick([...CHOICES.deleteDenied, 403]),
    taskDenied: random.pick([...CHOICES.taskDenied, 403]),
    readDuringTask: random.pick(CHOICES.readDuringTask),
    deleteDuringTask: random.pick(CHOICES.deleteDuringTask),
    taskRememberedMs: random.pick([Infinity, Infinity, 30 * MINUTE, MINUTE, 0]),
    taskOfCancelled: random.pick(CHOICES.taskOfCancelled),
    outOfStock: random.pick(CHOICES.outOfStock),
    failedTask: random.pick(CHOICES.failedTask),
    failedTaskIdentifier: random.chance(0.7),
    taskFailsAfterMs: random.pick([0, 0, 10_000, 2 * MINUTE]),
    listsCreating: random.chance(0.6),
    pausedMs: random.pick([0, 0, 20_000, 3 * MINUTE]),
  } satisfies VariantOptions;
  return { api: 'public', variants };
}

/**
 * What the provider makes of fields of an order that the specification does not have, and of the name that its server shows, and
 * whether it lists the zones and the hosts.
 */
export function withFurtherFields(world: WorldApi, random: Random): WorldApi {
  const furtherFields = random.pick(CHOICES.furtherFields);
  const names = world.api === 'public' ? random.pick(['kept', ...CHOICES.names] as const) : 'kept';
  const [listsZones, listsHosts] = [random.chance(0.7), random.chance(0.7)];
  return { ...world, variants: { ...world.variants, furtherFields, names, listsZones, listsHosts } };
}

/**
 * What the provider calls servers that are gone, and those whose task runs, where it shows them at all. A word that no one can know
 * passes: the deletion of an object waits for that.
 */
export function withWords(world: WorldApi, random: Random): WorldApi {
  const cancelledAs = random.pick(['cancelled', 'cancelled', 'deleted', 'terminated'] as const);
  const isKnown = cancelledAs !== 'terminated';
  const cancelledMs = isKnown ? random.pick([Infinity, 30 * MINUTE]) : 20 * MINUTE;
  const drawn = {
    cancelledAs,
    cancelledMs,
    cancelledAddresses: random.pick(CHOICES.cancelledAddresses),
    creatingAs: random.pick(['installing', ...CHOICES.creatingAs] as const),
    // A refusal that tells nothing about a cancellation passes too.
    cancelAgain: random.pick(
      cancelledMs === Infinity ? (['denied', 'gone', 'cancelled'] as const) : CHOICES.cancelAgain,
    ),
    offAddresses: random.pick(['kept', ...CHOICES.offAddresses] as const),
    lockedMs: random.pick([0, 0, MINUTE, 20 * MINUTE]),
  } satisfies VariantOptions;
  return { ...world, variants: { ...world.variants, ...drawn } };
}

/** What the list of prices shows, if there is one. */
export function withPriceList(world: WorldApi, random: Random): WorldApi {
  const priceList = random.pick(['exact', 'exact', 'lower', 'higher', 'missing'] as const);
  return { ...world, variants: { ...world.variants, priceList } };
}

/** How much of the list of servers there is to read, and whether servers show for which period they are paid. */
export function withPages(world: WorldApi, random: Random): WorldApi {
  if (world.api === 'documented') return world;
  const drawn = {
    listsPage: random.pick([0, 0, 0, 1, 2, 4]),
    pageTells: random.pick(CHOICES.pageTells),
    periods: random.pick(['shown', ...CHOICES.periods] as const),
  } satisfies VariantOptions;
  return { ...world, variants: { ...world.variants, ...drawn } };
}

/** What the provider makes of calls about power. */
export function withPower(world: WorldApi, random: Random): WorldApi {
  const power = random.pick(['all', 'all', 'all', 'without-dormant', 'missing'] as const);
  const shutdown = random.pick(['obeyed', 'obeyed', 'queued', 'ignored', 'unfinished'] as const);
  const shutdownMs = random.pick([0, 20_000, 3 * MINUTE, 20 * MINUTE]);
  const wakes = random.pick(CHOICES.wakes);
  const startsAfterMs = random.pick([Infinity, Infinity, 30_000, 10 * MINUTE]);
  const refusedStatus = random.pick(CHOICES.refusedStatus);
  const drawn = { power, shutdown, shutdownMs, wakes, startsAfterMs, refusedStatus };
  return { ...world, variants: { ...world.variants, ...drawn } };
}

/** Whether a server that shuts down or starts lives on after a DELETE that was answered with 200. */
export function withLocks(world: WorldApi, random: Random): WorldApi {
  const cancelWhileSwitching = random.pick(['obeyed', 'obeyed', 'ignored'] as const);
  return { ...world, variants: { ...world.variants, cancelWhileSwitching } };
}

/** Whether a dormant server costs less. */
export function withSleep(world: WorldApi, random: Random): WorldApi {
  const asleep = random.pick(['same', 'cheaper', 'cheaper'] as const);
  return { ...world, variants: { ...world.variants, asleep } };
}

/** Whether an operator can find out from the list of servers that a failed order created none. */
export const hasList = ({ api }: WorldApi): boolean => api === 'public';

export const hasZones = ({ api, variants }: WorldApi): boolean => api === 'public' && variants.listsZones !== false;

/** Whether neither a list nor a read shows a server that is on its way. */
export const hidesCreating = ({ api, variants }: WorldApi): boolean =>
  variants.readDuringTask !== 200 && (api === 'documented' || variants.listsCreating === false);

/** Whether the list of servers shows a server soon after reads have shown it. */
export const listsSoon = ({ lag }: WorldApi): boolean => (lag?.listMs ?? 0) <= 3 * MINUTE;

/** Whether the list of servers may be one page of a longer list. */
export const hasPages = ({ variants }: WorldApi): boolean => (variants.listsPage ?? 0) > 0;

/** Names what was drawn about orders under an identifier, for the summary. */
export function drawnIn(world: WorldApi): string[] {
  if (world.api === 'documented') return [];
  const { sameOrder, nameReservedAfterMs = 0, secondOrder, failedNameMs = 0, heldEvery = 0, names } = world.variants;
  const drawn = {
    'an equal order gets its task': sameOrder === 202,
    'the name is reserved later, and the second order fails': nameReservedAfterMs > 0 && secondOrder === 'fails',
    'the name is reserved later, and the second order wins': nameReservedAfterMs > 0 && secondOrder === 'wins',
    'a failed order keeps its name': failedNameMs > 0,
    'the list lags': (world.lag?.listMs ?? 0) > 0,
    'the list has pages': hasPages(world),
    'servers show no period': world.variants.periods === 'missing',
    'only running servers show a period': world.variants.periods === 'running',
    'a shutdown takes more than 15 minutes':
      world.variants.shutdown !== 'ignored' && (world.variants.shutdownMs ?? 0) > 15 * MINUTE,
    'the list misses servers in the making': world.variants.listsCreating === false,
    'a proxy holds orders back': heldEvery > 0,
    'the list keeps cancelled servers': world.variants.cancelled !== 'forgotten',
    'cancelled servers are shown without addresses':
      world.variants.cancelled === 'shown' && world.variants.cancelledAddresses === 'dropped',
    'an unknown word says that a server is cancelled':
      world.variants.cancelled !== 'forgotten' && world.variants.cancelledAs === 'terminated',
    'servers that are off are shown without addresses': world.variants.offAddresses === 'dropped',
    'servers are locked for a while': (world.variants.lockedMs ?? 0) > 0,
    'a DELETE of a server that shuts down cancels nothing': world.variants.cancelWhileSwitching === 'ignored',
    'another DELETE is refused without a reason': world.variants.cancelAgain === 'conflict',
    'another DELETE is refused because of another task': world.variants.cancelAgain === 'busy',
    'servers in the making are shown as removed': world.variants.creatingAs === 'removed',
    'servers show a part of their names': names === 'cut',
    'servers show no names': names === 'dropped',
  };
  return Object.entries(drawn).flatMap(([name, isDrawn]) => (isDrawn ? [name] : []));
}
