/** `POST /world` of the control panel: breaks and restores the promises of the provider at run time. */
import * as z from 'zod';
import { toTask } from '../base/exact-numbers.ts';
import { RESTRICTIONS } from './accounts.ts';
import { cancelAnswerSchema, falseAnswerSchema, falseStatusSchema, shortListSchema } from './lies.ts';
import { worldSchema } from './settings.ts';
import type { Simulation } from './simulation.ts';

/** An invalid order; the message names the field and says what is valid. */
export class WrongOrderError extends Error {
  override readonly name = 'WrongOrderError';
}

/** The value by its schema. Throws a WrongOrderError; `name` begins the name of the field. */
export function read<Value>(name: string, schema: z.ZodType<Value>, value: unknown): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new WrongOrderError(`${[name, ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'not valid'}`);
}

interface Order {
  help: string;
  schema: z.ZodObject;
  /** Reads the fields and returns a function that carries the order out. */
  prepare(name: string, fields: unknown): (simulation: Simulation) => void;
}

function order<Fields>(
  help: string,
  schema: z.ZodObject & z.ZodType<Fields>,
  run: (simulation: Simulation, fields: Fields) => void,
): Order {
  return {
    help,
    schema,
    prepare(name, value) {
      const fields = read(name, schema, value);
      return (simulation) => run(simulation, fields);
    },
  };
}

const text = z.string().min(1);
const flag = z.boolean().exactOptional();
const account = text.exactOptional();
const { variants, lag, createAnswer, addresses, cancelTakesMs, ...modes } = worldSchema.shape;
const whose = { account, keyId: account };

/** How long a lie lasts, from now, in place of `fromMs` and `untilMs`. */
const forMs = falseAnswerSchema.shape.untilMs;
interface Window {
  fromMs?: number;
  untilMs?: number;
  forMs?: number;
}
const isOneWindow = ({ fromMs, untilMs, forMs }: Window): boolean =>
  forMs === undefined || (fromMs ?? untilMs) === undefined;
const ONE_WINDOW = { path: ['forMs'], error: 'cannot be combined with fromMs or untilMs' };

function lasting<Lie extends Window>(simulation: Simulation, { forMs, ...lie }: Lie): Omit<Lie, 'forMs'> {
  return forMs === undefined ? lie : { ...lie, untilMs: simulation.now() + forMs };
}

/** Each order is an object of fields. */
const ORDERS: Readonly<Record<string, Order>> = {
  api: order('answers as another API does', z.strictObject({ mode: modes.api }), ({ provider }, { mode }) =>
    provider.setApi(mode),
  ),
  variants: order('answers in another way; omitted fields keep their values', variants, ({ provider }, fields) =>
    provider.setVariants(fields),
  ),
  stock: order(
    'whether a product is in stock; by the variant outOfStock, orders are refused or fail if it is not',
    z.strictObject({ product: text, inStock: z.boolean() }),
    ({ provider }, { product, inStock }) => provider.setStock(product, inStock),
  ),
  lag: order('reads lag behind, forever with null; omitted fields keep their values', lag, ({ fleet }, fields) =>
    fleet.setLag(fields),
  ),
  cancelTakes: order(
    'a server lives on after a DELETE, forever with null; another DELETE ends it no later',
    z.strictObject({ ms: cancelTakesMs }),
    ({ fleet }, { ms }) => fleet.setCancelTakes(ms),
  ),
  falsify: order(
    'false answers',
    falseAnswerSchema.extend({ forMs }).refine(isOneWindow, ONE_WINDOW),
    (simulation, fields) => void simulation.provider.falsify(lasting(simulation, fields)),
  ),
  shorten: order(
    'a list shows its first entries only',
    shortListSchema.extend({ forMs }).refine(isOneWindow, ONE_WINDOW),
    (simulation, fields) => void simulation.provider.shorten(lasting(simulation, fields)),
  ),
  cancelAnswer: order(
    'a DELETE gets 200 with another body, and cancels nothing unless cancels is true',
    cancelAnswerSchema.extend({ forMs }).refine(isOneWindow, ONE_WINDOW),
    (simulation, fields) => void simulation.provider.answerCancels(lasting(simulation, fields)),
  ),
  misname: order(
    'a server that is ready shows another status, such as removed',
    falseStatusSchema.extend({ forMs }).refine(isOneWindow, ONE_WINDOW),
    (simulation, fields) => void simulation.provider.misname(lasting(simulation, fields)),
  ),
  endLies: order(
    'ends every false answer and status, short list and cancelAnswer',
    z.strictObject({}),
    ({ provider }) => provider.endLies(),
  ),
  taskNumbering: order(
    'numbers tasks in another way',
    z.strictObject({ mode: modes.taskNumbering }),
    ({ fleet }, { mode }) => fleet.setTaskNumbering(mode),
  ),
  restartTaskCounter: order(
    'later creates reuse earlier task numbers',
    z.strictObject({ account }),
    ({ fleet }, fields) => fleet.restartTaskCounter(fields.account),
  ),
  failTask: order(
    'the task fails; identifier: false omits the identifier; what is omitted, the variants decide',
    z.strictObject({
      task: z
        .union([z.number(), z.string()])
        .refine((task) => toTask(task) === task, 'must be a whole number, or beyond 2^53 a string of its digits'),
      account,
      text: text.exactOptional(),
      identifier: flag,
      as: variants.shape.failedTask,
      afterMs: variants.shape.taskFailsAfterMs,
    }),
    ({ fleet }, { task, ...options }) => fleet.failTask(task, options),
  ),
  identifierFrom: order(
    'tasks show the identifier from another time on',
    z.strictObject({ mode: modes.identifierFrom }),
    ({ fleet }, { mode }) => fleet.setIdentifierFrom(mode),
  ),
  identifierCase: order(
    'other spellings of an identifier are equal',
    z.strictObject({ mode: modes.identifierCase }),
    ({ fleet }, { mode }) => fleet.setIdentifierCase(mode),
  ),
  reuseIdentifier: order(
    'a new server, or the next one that is ordered, gets the identifier of a former server',
    z
      .strictObject({ identifier: text, account, atNextCreate: flag })
      .refine(({ account, atNextCreate }) => atNextCreate !== true || account === undefined, {
        path: ['account'],
        error: 'cannot be combined with atNextCreate: the create decides the account',
      }),
    ({ fleet }, { identifier, account, atNextCreate }) => {
      if (atNextCreate === true) fleet.reuseAtNextCreate(identifier);
      else fleet.reuseIdentifier(identifier, account);
    },
  ),
  addresses: order(
    'new servers, or one server, show other addresses',
    z.strictObject({ show: addresses, identifier: text.exactOptional() }),
    ({ fleet }, { show, identifier }) =>
      identifier === undefined ? fleet.setAddresses(show) : fleet.showAddresses(identifier, show),
  ),
  updateServer: order(
    'changes a server, as its owner could in the control panel of the provider',
    z.strictObject({
      identifier: text,
      status: text.exactOptional(),
      name: text.nullable().exactOptional(),
      dormant: flag,
    }),
    ({ fleet }, { identifier, ...patch }) => fleet.updateServer(identifier, patch),
  ),
  renumber: order(
    'the server gets other IPv6 addresses',
    z.strictObject({ identifier: text }),
    ({ fleet }, { identifier }) => fleet.renumber(identifier),
  ),
  suspend: order(
    'keys cannot log in, calls all get a status, or lists are empty',
    z.strictObject({
      account: text,
      how: z.enum(['login', 'calls', 'empty']),
      status: z.literal([401, 403]).exactOptional(),
    }),
    ({ accounts }, { account, how, status }) => accounts.suspend(account, how, status),
  ),
  resume: order('ends the suspension', z.strictObject({ account: text }), ({ accounts }, { account }) =>
    accounts.resume(account),
  ),
  restrict: order(
    'all keys of an account, or one key, lose rights and get 403',
    z.strictObject({ ...whose, from: z.enum(RESTRICTIONS).exactOptional() }),
    ({ accounts }, { from, ...whose }) => accounts.restrict(whose, from),
  ),
  permit: order('ends the restriction of an account or of a key', z.strictObject(whose), ({ accounts }, whose) =>
    accounts.permit(whose),
  ),
  createAnswer: order('accepted creates get another answer', createAnswer, ({ provider }, fields) =>
    provider.setCreateAnswer(fields),
  ),
  addKey: order(
    'adds a key',
    z.strictObject({ keyId: text, secret: text, account: text }),
    ({ accounts }, { account, ...key }) => accounts.addKey(account, key),
  ),
  moveKey: order(
    'the key belongs to this account from now on',
    z.strictObject({ keyId: text, account: text, moveTokens: flag }),
    ({ accounts }, { keyId, account, ...options }) => accounts.moveKey(keyId, account, options),
  ),
};

/** Each order with its fields, `?` for optional ones, and what they may be. */
export function ordersHelp(): string {
  const texts = Object.entries(ORDERS).map(([name, { help, schema }]) => {
    const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' });
    const fields = Object.entries(properties).map(([field, type]) => {
      const choices = typeof type === 'object' && type.enum !== undefined ? ` (${type.enum.join(', ')})` : '';
      return `${field}${required.includes(field) ? '' : '?'}${choices}`;
    });
    return `  ${name}: ${help}\n      ${fields.length === 0 ? 'no fields' : fields.join(', ')}\n`;
  });
  return texts.join('');
}

/**
 * `body` maps names to orders. Throws a WrongOrderError that names an invalid field before it carries out any order.
 * If a server, task, key or account does not exist, it has already carried out the orders before that one.
 */
export function orderWorld(simulation: Simulation, body: Record<string, unknown>): void {
  const acts = Object.entries(body).map(([name, value]) => {
    const order = Object.hasOwn(ORDERS, name) ? ORDERS[name] : undefined;
    if (!order) throw new WrongOrderError(`${name} is not one of ${Object.keys(ORDERS).join(', ')}`);
    return { name, act: order.prepare(name, value) };
  });
  for (const { name, act } of acts) {
    try {
      act(simulation);
    } catch (error) {
      throw new WrongOrderError(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
}
