/** False answers, short lists and odd answers to a DELETE: untrue statements of the provider within a time window. */
import type { Clock } from './clock.ts';
import type { Route, RouteMatch } from './routes.ts';

/** Milliseconds since the epoch by the simulator's clock; `untilMs` is exclusive. A missing bound is open. */
export interface TimeWindow {
  fromMs?: number;
  untilMs?: number;
}

/** The request has no effect: a create orders nothing, a DELETE cancels nothing, a login returns no token. */
export interface FalseAnswer extends TimeWindow {
  route: Route;
  method?: string;
  /** The decoded identifier or task number in the path. */
  param?: string;
  /** The account of the token; for a login, the account of the key. */
  account?: string;
  status: FalseStatus;
  /** Probability that an answer is false; 1 by default. Below 1 it needs `random`, which returns 0 to 1. */
  probability?: number;
  random?: () => number;
}

export type FalseStatus = 401 | 403 | 404 | 500;
export type List = 'products' | 'images' | 'disk-sizes';

/** Limits the list to its first `keep` entries, or the sizes of each disk type; 0 returns `[]` or `{}`. */
export interface ShortList extends TimeWindow {
  list: List;
  keep: number;
  account?: string;
}

/** What a DELETE gets instead of the documented message; `message` has the documented form, and says nothing of use. */
export const CANCEL_BODIES = ['html', 'error', 'empty', 'message'] as const;

/** A DELETE that would be answered with 200 gets 200 with this body. */
export interface CancelAnswer extends TimeWindow {
  body: (typeof CANCEL_BODIES)[number];
  /** Whether the DELETE cancels the server all the same; false by default. */
  cancels?: boolean;
  /** The decoded identifier in the path. */
  param?: string;
  account?: string;
}

export interface LieHandle {
  /** How many answers have been changed. */
  readonly count: number;
  remove(): void;
}

class Lie<Told extends TimeWindow> implements LieHandle {
  readonly told: Told;
  readonly #onRemove: (lie: Lie<Told>) => void;
  count = 0;

  constructor(told: Told, onRemove: (lie: Lie<Told>) => void) {
    this.told = told;
    this.#onRemove = onRemove;
  }

  remove(): void {
    this.#onRemove(this);
  }
}

export class Lies {
  readonly #clock: Clock;
  readonly #answers = new Set<Lie<FalseAnswer>>();
  readonly #lists = new Set<Lie<ShortList>>();
  readonly #cancels = new Set<Lie<CancelAnswer>>();

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

  end(): void {
    this.#answers.clear();
    this.#lists.clear();
    this.#cancels.clear();
  }

  /** The status of the false answer; undefined for a true answer. */
  statusFor(method: string, { route, param }: RouteMatch, account: string | undefined): FalseStatus | undefined {
    for (const lie of this.#current(this.#answers)) {
      const { told } = lie;
      if (told.route !== route) continue;
      if (told.method !== undefined && told.method !== method) continue;
      if (told.param !== undefined && told.param !== param) continue;
      if (told.account !== undefined && told.account !== account) continue;
      if (told.random && told.random() >= (told.probability ?? 1)) continue;
      lie.count += 1;
      return told.status;
    }
    return undefined;
  }

  /** How many entries the list shows; Infinity for all. */
  kept(list: List, account: string): number {
    for (const lie of this.#current(this.#lists)) {
      const { told } = lie;
      if (told.list !== list || (told.account !== undefined && told.account !== account)) continue;
      lie.count += 1;
      return told.keep;
    }
    return Infinity;
  }

  /** What this DELETE gets; undefined for the documented answer. */
  cancelAnswer(param: string, account: string): CancelAnswer | undefined {
    for (const lie of this.#current(this.#cancels)) {
      const { told } = lie;
      if (told.param !== undefined && told.param !== param) continue;
      if (told.account !== undefined && told.account !== account) continue;
      lie.count += 1;
      return told;
    }
    return undefined;
  }

  *#current<Told extends TimeWindow>(lies: ReadonlySet<Lie<Told>>): Generator<Lie<Told>> {
    const now = this.#clock.now();
    for (const lie of lies) {
      const { fromMs = -Infinity, untilMs = Infinity } = lie.told;
      if (now >= fromMs && now < untilMs) yield lie;
      // A simulated life has many windows; expired ones would slow down every request.
      else if (now >= untilMs) lie.remove();
    }
  }
}

function tell<Told extends TimeWindow>(lies: Set<Lie<Told>>, told: Told): LieHandle {
  const lie = new Lie(told, (ended) => lies.delete(ended));
  lies.add(lie);
  return lie;
}
