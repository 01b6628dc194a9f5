/**
 * Scenarios with orders under an identifier of the operator, in the public API; added to those in `scenarios.ts`. Whatever the
 * fault, each order ends without a person, with one server.
 */
import { jsonAnswer } from './exchange.ts';
import { isOrder } from './labels.ts';
import { begin, removed } from './acts.ts';
import type { Scenario, Unusual } from './scenarios.ts';
import type { Stage } from './stage.ts';

export const NAMED = { api: 'public', asksNobody: true } as const satisfies Partial<Scenario>;
export const ANONYMOUS = { api: 'public', flags: ['--orders=anonymous'] } as const;

/** The first order gets this status; `acts`: the provider carries it out all the same. */
function firstAnswer(status: number, acts: boolean): Unusual {
  const seen = new WeakSet<Stage>();
  return async (exchange, forward, stage) => {
    if (!isOrder(exchange) || seen.has(stage)) return forward();
    seen.add(stage);
    if (acts) await forward();
    return jsonAnswer(status, {});
  };
}

/** Each order gets a 503; `acts`: the provider carries out the first one. */
function neverAnswered(acts: boolean): Unusual {
  return async (exchange, forward, { simulator }) => {
    if (!isOrder(exchange)) return forward();
    if (acts && simulator.ledger.creates().length === 0) await forward();
    return jsonAnswer(503, {});
  };
}

/** The object has settled with the only server of the account. */
async function hasOne(stage: Stage): Promise<void> {
  await stage.rests('web');
  const alive = stage.simulator.aliveServers().map(({ identifier }) => identifier);
  if (alive.length !== 1) stage.violations.push(`the servers [${alive.join(', ')}] exist beside one object`);
}

const ordered = (provider: Unusual): Scenario => ({
  ...NAMED,
  provider,
  async act(stage) {
    await begin(stage);
    await stage.people.apply('web');
    await hasOne(stage);
    await removed(stage, 'web');
  },
});

/** The object is deleted while its order has no answer. */
const deleted = (acts: boolean): Scenario => ({
  ...NAMED,
  provider: neverAnswered(acts),
  async act(stage) {
    await begin(stage);
    await stage.people.apply('web');
    await stage.reaches('web', 'Creating', 'Available');
    await removed(stage, 'web');
    const { length } = stage.simulator.ledger.creates();
    if (length > (acts ? 1 : 0)) stage.violations.push('a server was ordered for an object that is being deleted');
  },
});

export const NAMED_ORDERS: Readonly<Record<string, Scenario>> = {
  'named-repeated': ordered(firstAnswer(503, false)),
  'named-found': ordered(firstAnswer(503, true)),
  'named-in-use': ordered(firstAnswer(409, false)),
  'named-deleted-without-server': deleted(false),
  'named-deleted-with-server': deleted(true),
};
