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

const CHOSEN = 'shop';

/** The object is the only one whose server has the identifier that it chose. */
const chosen = (provider?: Unusual): Scenario => ({
  ...NAMED,
  ...(provider && { provider }),
  async act(stage) {
    await begin(stage);
    await stage.people.apply('web', { identifier: CHOSEN });
    await hasOne(stage);
    await removed(stage, 'web');
  },
});

/** Another cluster has the server: it is neither taken over nor cancelled. `then`: what people do about it. */
const taken = (then: (stage: Stage) => Promise<void>): Scenario => ({
  ...NAMED,
  async act(stage) {
    stage.simulator.fleet.addServer('default', { identifier: CHOSEN, name: 'shop/web (0123abcd)' });
    await begin(stage);
    await stage.people.apply('web', { identifier: CHOSEN });
    await stage.reaches('web', 'IdentifierTaken');
    await then(stage);
    await removed(stage, 'web');
    if (!stage.simulator.aliveServers().some(({ identifier }) => identifier === CHOSEN))
      stage.violations.push('the server of another cluster was cancelled');
    // Every server that is left at the end has to belong to an object.
    else stage.simulator.fleet.removeServer(CHOSEN);
  },
});

export const NAMED_ORDERS: Readonly<Record<string, Scenario>> = {
  'named-repeated': ordered(firstAnswer(503, false)),
  'named-found': ordered(firstAnswer(503, true)),
  'named-in-use': ordered(firstAnswer(409, false)),
  'named-deleted-without-server': deleted(false),
  'named-deleted-with-server': deleted(true),
  'named-chosen': chosen(),
  'named-chosen-found': chosen(firstAnswer(503, true)),
  'named-chosen-taken': taken(() => Promise.resolve()),
  'named-chosen-again': taken(async (stage) => {
    await stage.people.edit('web', { spec: { identifier: 'shop2' } });
    await stage.rests('web');
  }),
};
