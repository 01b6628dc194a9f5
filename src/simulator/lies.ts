/** False answers, short lists and odd answers to a DELETE: untrue statements of the provider within a time window. */
import * as z from 'zod';
import type { Clock } from './settings.ts';
import { ROUTES, type RouteMatch } from './wire.ts';

const text = z.string().min(1);
const whose = { param: text.exactOptional(), account: text.exactOptional() };
/** Milliseconds since the epoch by the simulator's clock; `untilMs` is exclusive. A missing bound is open. */
const window = { fromMs: z.number().min(0).exactOptional(), untilMs: z.number().min(0).exactOptional() };
type TimeWindow = z.infer<z.ZodObject<typeof window>>;

/**
 * The request has no effect: a create orders nothing, a DELETE cancels nothing, a login returns no token. `param`: the
 * decoded identifier or task number in the path. `account`: the account of the token; for a login, of the key. `says`: what
 * a 403 says, `not-authorised` by default.
 */
export const falseAnswerSchema = z.strictObject({
  route: z.enum(ROUTES),
  status: z.literal([401, 403, 404, 500]),
  says: z.enum(['not-authorised', 'does-not-exist']).exactOptional(),
  method: text.exactOptional(),
  ...whose,
  ...window,
});

export interface FalseAnswer extends z.infer<typeof falseAnswerSchema> {
  /** Probability that an answer is false; 1 by default. Below 1 it needs `random`, which returns 0 to 1. */
  probability?: number;
  random?: () => number;
}

/** Limits the list to its first `keep` entries, or the sizes of each disk type; 0 returns an empty list. */
export const shortListSchema = z.strictObject({
  list: z.enum(['products', 'images', 'disk-sizes', 'zones', 'servers']),
  keep: z.int().min(0),
  account: whose.account,
  ...window,
});
export type ShortList = z.infer<typeof shortListSchema>;
export type List = ShortList['list'];

/** What a DELETE gets instead of the documented message; `message` has the documented form, but a useless text. */
export const CANCEL_BODIES = ['html', 'error', 'empty', 'message'] as const;

/** A DELETE that would be answered with 200 gets 200 with this body, and cancels nothing unless `cancels`. */
export const cancelAnswerSchema = z.strictObject({
  body: z.enum(CANCEL_BODIES),
  cancels: z.boolean().exactOptional(),
  ...whose,
  ...window,
});
export type CancelAnswer = z.infer<typeof cancelAnswerSchema>;

/** A server that is ready, and that exists, shows this status in reads, in the list of servers, or in both. */
export const falseStatusSchema = z.strictObject({
  status: text,
  where: z.enum(['reads', 'list', 'both']),
  ...whose,
  ...window,
});
export type FalseStatus = z.infer<typeof falseStatusSchema>;

export interface LieHandle {
  /** How many answers have been changed. */
  readonly count: number;
  remove(): void;
}

interface Lie<Told> extends LieHandle {
  told: Told;
  count: number;
}

export class Lies {
  readonly #clock: Clock;
  readonly #answers = new Set<Lie<FalseAnswer>>();
  readonly #lists = new Set<Lie<ShortList>>();
  readonly #cancels = new Set<Lie<CancelAnswer>>();
  readonly #statuses = new Set<Lie<FalseStatus>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** If several false answers match a request, the first one decides. */
  falsify(answer: FalseAnswer): LieHandle {
    if ((answer.probability ?? 1) < 1 && !answer.random) throw new Error('A probability below 1 needs random');
    return tell(this.#answers, answer);
  }

  shorten(list: ShortList): LieHandle {
    return tell(this.#lists, list);
  }

  /** If several match a DELETE, the first one decides. */
  answerCancels(answer: CancelAnswer): LieHandle {
    return tell(this.#cancels, answer);
  }

  /** If several match a server, the first one decides. */
  misname(status: FalseStatus): LieHandle {
    return tell(this.#statuses, status);
  }

  end(): void {
    this.#statuses.clear();
    this.#answers.clear();
    this.#lists.clear();
    this.#cancels.clear();
  }

  /** The false answer to this request; undefined for a true answer. */
  answerFor(method: string, { route, param }: RouteMatch, account: string | undefined): FalseAnswer | undefined {
    return this.#current(
      this.#answers,
      (lie) =>
        lie.route === route &&
        (lie.method ?? method) === method &&
        (lie.param ?? param) === param &&
        (lie.account ?? account) === account &&
        (lie.random === undefined || lie.random() < (lie.probability ?? 1)),
    );
  }

  /** How many entries the list shows; Infinity for all. */
  kept(list: List, account: string): number {
    const told = this.#current(this.#lists, (lie) => lie.list === list && (lie.account ?? account) === account);
    return told?.keep ?? Infinity;
  }

  /** The status of this server in a read or in the list; undefined for the true one. */
  statusFor(param: string, { account, where }: { account: string; where: 'reads' | 'list' }): string | undefined {
    const told = this.#current(
      this.#statuses,
      (lie) =>
        (lie.param ?? param) === param &&
        (lie.account ?? account) === account &&
        (lie.where === 'both' || lie.where === where),
    );
    return told?.status;
  }

  /** What this DELETE gets; undefined for the documented answer. */
  cancelAnswer(param: string, account: string): CancelAnswer | undefined {
    return this.#current(
      this.#cancels,
      (lie) => (lie.param ?? param) === param && (lie.account ?? account) === account,
    );
  }

  /** The first lie that is told now and is about this request; it counts. */
  #current<Told extends TimeWindow>(lies: Set<Lie<Told>>, isAbout: (told: Told) => boolean): Told | undefined {
    const now = this.#clock.now();
    for (const lie of lies) {
      const { fromMs = -Infinity, untilMs = Infinity } = lie.told;
      // A simulated life has many windows; expired ones would slow down every request.
      if (now >= untilMs) lie.remove();
      else if (now >= fromMs && isAbout(lie.told)) {
        lie.count += 1;
        return lie.told;
      }
    }
    return undefined;
  }
}

function tell<Told>(lies: Set<Lie<Told>>, told: Told): LieHandle {
  const lie: Lie<Told> = { told, count: 0, remove: () => void lies.delete(lie) };
  lies.add(lie);
  return lie;
}
