/** Which API the provider of a world speaks, and what its answers are like where the sources leave that open. */
import { CHOICES, type ApiName, type VariantOptions } from '../../src/simulator/variants.ts';
import type { OrderWay } from '../../src/provider/types.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;

export interface WorldApi {
  api: ApiName;
  variants: VariantOptions;
}

/** Which way the orders of a process go. In some worlds, the flag changes with each start. */
export function drawWay(random: Random): () => OrderWay {
  const ways = random.pick([['auto'], ['auto'], ['anonymous'], ['auto', 'anonymous']] as const);
  return () => random.pick<OrderWay>(ways);
}

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

/** What the provider makes of fields of an order that the specification does not have. */
export function withFurtherFields({ api, variants }: WorldApi, random: Random): WorldApi {
  return { api, variants: { ...variants, furtherFields: random.pick(CHOICES.furtherFields) } };
}

/** Whether an operator can find out from the list of servers that a failed order created none. */
export const hasList = ({ api }: WorldApi): boolean => api === 'public';

/** Whether neither a list nor a read shows a server that is on its way. */
export const hidesCreating = ({ api, variants }: WorldApi): boolean =>
  variants.readDuringTask !== 200 && (api === 'documented' || variants.listsCreating === false);
