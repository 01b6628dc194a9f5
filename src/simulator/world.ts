/** `POST /world` of the control panel: breaks and restores the promises of the provider at run time. */
import { Fields, WrongOrderError } from './fields.ts';
import { CANCEL_BODIES, type TimeWindow } from './lies.ts';
import type { Route } from './routes.ts';
import type { Simulation } from './simulation.ts';
import { ADDRESSES, IDENTIFIER_CASES, IDENTIFIER_FROM, TASK_NUMBERINGS } from './world-options.ts';

const ROUTES: readonly Route[] = [
  '/login',
  '/beta/vps/products',
  '/beta/vps/images',
  '/beta/vps/disk-sizes',
  '/beta/vps/servers',
  '/beta/vps/servers/{identifier}',
  '/beta/queue/vps/{task}',
];

/** Reads the fields of an order and returns a function that carries it out. */
type Order = (simulation: Simulation, fields: Fields) => () => void;

/**
 * The orders, each with an object of fields; `?` marks optional ones. Times are in milliseconds; a null lag is forever.
 *
 * | order | fields | what it does |
 * |---|---|---|
 * | `lag` | `taskMs?` `serverMs?` `cancelMs?` `cancelAgain?` | reads lag behind; omitted fields keep their values |
 * | `falsify` | `route` `status` `method?` `param?` `account?` `fromMs?` `untilMs?` or `forMs?` | false answers |
 * | `shorten` | `list` `keep` `account?` `fromMs?` `untilMs?` or `forMs?` | a list shows its first `keep` entries |
 * | `cancelAnswer` | `body` `cancels?` `param?` `account?` `fromMs?` `untilMs?` or `forMs?` | a DELETE gets 200 with `html`, `error`, `empty` or `message`, and cancels nothing unless `cancels` |
 * | `endLies` | none | ends every false answer, every short list and every `cancelAnswer` |
 * | `taskNumbering` | `mode` | `global` or `account` |
 * | `restartTaskCounter` | `account?` | later creates reuse earlier task numbers |
 * | `failTask` | `task` `account?` `text?` `identifier?` | the task fails; `identifier: false` omits the identifier |
 * | `identifierFrom` | `mode` | tasks show the identifier from `start` or at the `end` |
 * | `identifierCase` | `mode` | `as-is`, `ignored`, `echo`, `upper-in-server` or `upper-in-task` |
 * | `reuseIdentifier` | `identifier` `account?` `atNextCreate?` | a new server gets the identifier of a former server |
 * | `addresses` | `show` `identifier?` | one of `ADDRESSES`; for one server, or for new servers |
 * | `renumber` | `identifier` | the server gets other IPv6 addresses |
 * | `suspend` | `account` `how` `status?` | `how`: `login`, `calls` (all get `status`, 401 or 403) or `empty` |
 * | `resume` | `account` | ends the suspension |
 * | `createAnswer` | `status?` `body?` `location?` | 200, 201 or 202, with or without body and Location |
 * | `addKey` | `keyId` `secret` `account` | adds a key |
 * | `moveKey` | `keyId` `account` `moveTokens?` | the key belongs to this account from now on |
 */
const ORDERS: Record<string, Order> = {
  lag: ({ fleet }, fields) => {
    const lag = {
      taskMs: fields.maybeMsOrNull('taskMs'),
      serverMs: fields.maybeMsOrNull('serverMs'),
      cancelMs: fields.maybeMsOrNull('cancelMs'),
      cancelAgain: fields.maybeChoice('cancelAgain', [200, 404]),
    };
    return () => fleet.setLag(given(lag));
  },
  falsify: (simulation, fields) => {
    const what = { route: fields.choice('route', ROUTES), status: fields.choice('status', [401, 403, 404, 500]) };
    const whose = { method: fields.maybeText('method'), param: fields.maybeText('param') };
    const account = fields.maybeText('account');
    const window = timeWindow(simulation, fields);
    return () => void simulation.provider.falsify({ ...what, ...given({ ...whose, account }), ...window });
  },
  shorten: (simulation, fields) => {
    const what = { list: fields.choice('list', ['products', 'images', 'disk-sizes']), keep: fields.count('keep') };
    const account = fields.maybeText('account');
    const window = timeWindow(simulation, fields);
    return () => void simulation.provider.shorten({ ...what, ...given({ account }), ...window });
  },
  cancelAnswer: (simulation, fields) => {
    const body = fields.choice('body', CANCEL_BODIES);
    const more = { cancels: fields.maybeFlag('cancels'), param: fields.maybeText('param') };
    const account = fields.maybeText('account');
    const window = timeWindow(simulation, fields);
    return () => void simulation.provider.answerCancels({ body, ...given({ ...more, account }), ...window });
  },
  endLies:
    ({ provider }) =>
    () =>
      provider.endLies(),
  taskNumbering: ({ fleet }, fields) => {
    const mode = fields.choice('mode', TASK_NUMBERINGS);
    return () => fleet.setTaskNumbering(mode);
  },
  restartTaskCounter: ({ fleet }, fields) => {
    const account = fields.maybeText('account');
    return () => fleet.restartTaskCounter(account);
  },
  failTask: ({ fleet }, fields) => {
    const task = fields.count('task');
    const texts = { text: fields.maybeText('text'), account: fields.maybeText('account') };
    const identifier = fields.maybeFlag('identifier');
    return () => fleet.failTask(task, given({ ...texts, identifier }));
  },
  identifierFrom: ({ fleet }, fields) => {
    const mode = fields.choice('mode', IDENTIFIER_FROM);
    return () => fleet.setIdentifierFrom(mode);
  },
  identifierCase: ({ fleet }, fields) => {
    const mode = fields.choice('mode', IDENTIFIER_CASES);
    return () => fleet.setIdentifierCase(mode);
  },
  reuseIdentifier: ({ fleet }, fields) => {
    const identifier = fields.text('identifier');
    const account = fields.maybeText('account');
    const atNextCreate = fields.maybeFlag('atNextCreate');
    if (!atNextCreate) return () => void fleet.reuseIdentifier(identifier, account);
    if (account === undefined) return () => fleet.reuseAtNextCreate(identifier);
    throw new WrongOrderError(
      `${fields.path('account')} cannot be combined with atNextCreate: the create decides the account`,
    );
  },
  addresses: ({ fleet }, fields) => {
    const show = fields.choice('show', ADDRESSES);
    const identifier = fields.maybeText('identifier');
    return () => (identifier === undefined ? fleet.setAddresses(show) : fleet.showAddresses(identifier, show));
  },
  renumber: ({ fleet }, fields) => {
    const identifier = fields.text('identifier');
    return () => fleet.renumber(identifier);
  },
  suspend: ({ accounts }, fields) => {
    const account = fields.text('account');
    const how = fields.choice('how', ['login', 'calls', 'empty']);
    const status = fields.maybeChoice('status', [401, 403]);
    return () => accounts.suspend(account, how, status);
  },
  resume: ({ accounts }, fields) => {
    const account = fields.text('account');
    return () => accounts.resume(account);
  },
  createAnswer: ({ provider }, fields) => {
    const status = fields.maybeChoice('status', [200, 201, 202]);
    const parts = { body: fields.maybeFlag('body'), location: fields.maybeFlag('location') };
    return () => provider.setCreateAnswer(given({ status, ...parts }));
  },
  addKey: ({ accounts }, fields) => {
    const key = { keyId: fields.text('keyId'), secret: fields.text('secret') };
    const account = fields.text('account');
    return () => accounts.addKey(account, key);
  },
  moveKey: ({ accounts }, fields) => {
    const [keyId, account] = [fields.text('keyId'), fields.text('account')];
    const moveTokens = fields.maybeFlag('moveTokens');
    return () => accounts.moveKey(keyId, account, given({ moveTokens }));
  },
};

/**
 * `body` maps names to orders. Throws a WrongOrderError that names an invalid field before it carries out any order.
 * If a server, task, key or account does not exist, it has already carried out the orders before that one.
 */
export function orderWorld(simulation: Simulation, body: Record<string, unknown>): void {
  const acts = Object.entries(body).map(([name, value]) => {
    const order = Object.hasOwn(ORDERS, name) ? ORDERS[name] : undefined;
    if (!order) throw new WrongOrderError(`${name} is not one of ${Object.keys(ORDERS).join(', ')}`);
    const fields = new Fields(name, value);
    const act = order(simulation, fields);
    fields.end();
    return { name, act };
  });
  for (const { name, act } of acts) {
    try {
      act();
    } catch (error) {
      throw new WrongOrderError(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
}

/** `forMs` counts from now. */
function timeWindow(simulation: Simulation, fields: Fields): TimeWindow {
  const [fromMs, untilMs] = [fields.maybeMs('fromMs'), fields.maybeMs('untilMs')];
  const forMs = fields.maybeMs('forMs');
  if (forMs === undefined) return given({ fromMs, untilMs });
  if (fromMs !== undefined || untilMs !== undefined) {
    throw new WrongOrderError(`${fields.path('forMs')} cannot be combined with fromMs or untilMs`);
  }
  return { untilMs: simulation.now() + forMs };
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Removes undefined fields. */
function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}
