/** The flags and variables of `npm run simulator`, as options of the simulator. */
import { Command, CommanderError, Option } from 'commander';
import * as z from 'zod';

import { parseDuration } from '../base/duration.ts';
import type { FaultInput } from './faults.ts';
import { faultSchema, faultsHelp } from './named-faults.ts';
import type { SimulatorOptions } from './server.ts';
import { DEFAULT_KEY, tokenExpirySchema, worldSchema } from './settings.ts';
import { API_NAMES, DEFAULT_VARIANTS, type VariantOptions, type Variants, variantsSchema } from './variants.ts';
import { ordersHelp } from './world.ts';

/** An invalid flag or variable; the message names it and says what is valid. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface CommandLine extends SimulatorOptions {
  /** Port of the control panel; off if undefined. */
  panelPort?: number;
  /** To be injected at the start. */
  faults: FaultInput[];
}

const PORT = 'must be a port from 0 to 65535';
const port = z
  .string()
  .regex(/^[0-9]+$/, PORT)
  .transform(Number)
  .refine((value) => value <= 65_535, PORT);
const time = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms === undefined) context.addIssue('must be a time such as 500ms, 60s or 10m, above 0');
  return ms ?? z.NEVER;
});
const origin = z.string().transform((text, context) => {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '') return url.origin;
  context.addIssue('must be like http://host:port');
  return z.NEVER;
});

const flag = <Schema extends z.ZodType>(value: string, help: string | undefined, schema: Schema) =>
  z.exactOptional(schema).meta({ value, description: help ?? '' });

/** `NAME=VALUE`, the value as in JSON; a word needs no quotes. */
const variant = z.string().transform((text, context): VariantOptions => {
  const [, name, value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) {
    context.addIssue('must be NAME=VALUE');
    return z.NEVER;
  }
  const parsed = variantsSchema.safeParse({ [name]: valueOf(value) });
  if (parsed.success) return parsed.data;
  context.addIssue(`${text}: ${parsed.error.issues[0]?.message ?? 'not valid'}`);
  return z.NEVER;
});

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const { api, lag, createAnswer, cancelTakesMs, taskNumbering, identifierCase, identifierFrom, addresses } =
  worldSchema.shape;

/** By their names in camel case. */
const FLAGS = z.object({
  port: flag('N', 'port to listen on; any free port by default', port),
  host: flag('ADDRESS', 'address to listen on; 127.0.0.1 by default', z.string()),
  publicUrl: flag('URL', 'scheme, host and port that clients use; http://HOST:PORT by default', origin),
  api: flag('NAME', api.description, api),
  variant: flag(
    'NAME=VALUE',
    'how the provider answers where the sources leave it open; repeat the flag for several',
    z.array(variant),
  ),
  taskDuration: flag('TIME', 'how long it takes to create a server; 60s by default', time),
  tokenLifetime: flag(
    'TIME',
    'expires_in of a token; 300s by default',
    time.refine((ms) => ms % 1000 === 0, 'must be a whole number of seconds, 1s or more').transform((ms) => ms / 1000),
  ),
  tokenExpiry: flag('MODE', tokenExpirySchema.description, tokenExpirySchema),
  taskLag: flag('TIME', lag.shape.taskMs.description, time),
  serverLag: flag('TIME', lag.shape.serverMs.description, time),
  cancelLag: flag('TIME', lag.shape.cancelMs.description, time),
  listLag: flag('TIME', lag.shape.listMs.description, time),
  cancelTakes: flag('TIME', cancelTakesMs.description, time),
  taskNumbering: flag('MODE', taskNumbering.description, taskNumbering),
  identifierFrom: flag('MODE', identifierFrom.description, identifierFrom),
  identifierCase: flag('MODE', identifierCase.description, identifierCase),
  addresses: flag('MODE', addresses.description, addresses),
  createStatus: flag('CODE', `${createAnswer.shape.status.description}; 202 by default`, z.enum(['200', '201', '202'])),
  fault: flag(
    'NAME[=N]',
    'fault that strikes the next request it fits, the next N, or every one with =forever; repeat the flag for several',
    z.array(faultSchema),
  ),
  panelPort: flag('N', 'port of the control panel, open to every client; off by default', port),
  keyId: flag(
    'ID',
    `key ID; default ${DEFAULT_KEY.keyId} (environment VPS_SIMULATOR_KEY_ID)`,
    z.string().regex(/^[^:]+$/, 'must have at least one character and no colon'),
  ),
  secret: flag(
    'SECRET',
    `secret of the key; default ${DEFAULT_KEY.secret} (environment VPS_SIMULATOR_SECRET)`,
    z.string(),
  ),
});

const HELP_WIDTH = 110;
const DESCRIPTION =
  'Runs the simulated provider until SIGTERM or SIGINT. Once it listens, it prints one line of JSON with baseUrl, ' +
  'authUrl, keyId, secret and, with --panel-port, panelUrl. TIME is a number with a unit: 500ms, 60s, 10m, 1h. Of ' +
  'several modes, the first is the default.';
const VARIANTS = '\nNAME of --variant:\n';
const FAULTS = '\nNAME of --fault:\n';
const PANEL =
  '\nPOST /world of the control panel (src/simulator/panel.ts) takes a JSON object of orders, each an object of fields:\n';

/** Throws UsageError. */
export function parseCommandLine(
  args: string[],
  env: Record<string, string | undefined>,
): CommandLine | { help: string } {
  let help = '';
  const command = commandOf((text) => (help += text));
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { help };
    throw new UsageError(error.message.replace(/^error: /, '').replaceAll('\n', ' '), { cause: error });
  }
  const { VPS_SIMULATOR_KEY_ID: keyId, VPS_SIMULATOR_SECRET: secret } = env;
  const variables = { ...(keyId !== undefined && { keyId }), ...(secret !== undefined && { secret }) };
  const parsed = FLAGS.safeParse({ ...variables, ...command.opts() });
  if (parsed.success) return optionsOf(parsed.data);
  const [issue] = parsed.error.issues;
  throw new UsageError(`--${kebab(String(issue?.path[0]))} ${issue?.message ?? 'is not valid'}`);
}

function commandOf(print: (text: string) => void): Command {
  const command = new Command('npm run simulator --')
    .usage('[flags]')
    .description(DESCRIPTION)
    .helpOption('-h, --help', 'show this help')
    .addHelpText('after', VARIANTS + variantsHelp() + FAULTS + faultsHelp() + PANEL + ordersHelp())
    .configureHelp({ helpWidth: HELP_WIDTH })
    .configureOutput({ writeOut: print, writeErr: () => undefined })
    .exitOverride();
  for (const [name, schema] of Object.entries(FLAGS.shape)) {
    const { value, description } = schema.meta() ?? {};
    const option = new Option(`--${kebab(name)} <${String(value)}>`, description);
    const inner = schema.unwrap();
    if (inner instanceof z.ZodEnum) option.choices(inner.options);
    if (inner instanceof z.ZodArray)
      option.argParser((text, before: string[] | undefined) => [...(before ?? []), text]);
    command.addOption(option);
  }
  return command;
}

/** Each variant with its values, if they are a choice, and its default in each API. */
function variantsHelp(): string {
  const texts = Object.entries(variantsSchema.shape).map(([name, schema]) => {
    const { enum: choices } = z.toJSONSchema(schema, { io: 'input' });
    const values = choices === undefined ? '' : ` (${choices.join(', ')})`;
    const defaults = API_NAMES.map((api) => String(DEFAULT_VARIANTS[api][name as keyof Variants]));
    const [documented, inPublic] = defaults.map((value) => (value === 'Infinity' ? 'null' : value));
    const usual = documented === inPublic ? documented : `${documented}, with --api public ${inPublic}`;
    return `  ${name}${values}; default ${usual}:\n      ${schema.description ?? ''}\n`;
  });
  return texts.join('');
}

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function optionsOf({
  keyId = DEFAULT_KEY.keyId,
  secret = DEFAULT_KEY.secret,
  publicUrl,
  taskDuration,
  tokenLifetime,
  taskLag = 0,
  serverLag = 0,
  cancelLag = 0,
  listLag = 0,
  cancelTakes = 0,
  createStatus,
  fault = [],
  variant = [],
  ...options
}: z.infer<typeof FLAGS>): CommandLine {
  return {
    ...options,
    faults: fault,
    variants: Object.assign({}, ...variant) as VariantOptions,
    accounts: [{ name: 'default', keys: [{ keyId, secret }] }],
    lag: { taskMs: taskLag, serverMs: serverLag, cancelMs: cancelLag, listMs: listLag },
    cancelTakesMs: cancelTakes,
    ...(publicUrl !== undefined && { origin: publicUrl }),
    ...(taskDuration !== undefined && { taskDurationMs: taskDuration }),
    ...(tokenLifetime !== undefined && { tokenLifetimeSeconds: tokenLifetime }),
    ...(createStatus !== undefined && { createAnswer: { status: Number(createStatus) as 200 | 201 | 202 } }),
  };
}
