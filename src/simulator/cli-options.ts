/** Parses flags and environment of `npm run simulator` into options of the simulator. */
import { parseArgs } from 'node:util';

import { DEFAULT_KEY } from './options.ts';
import type { SimulatorOptions } from './server.ts';
import { ADDRESSES, IDENTIFIER_CASES, IDENTIFIER_FROM, TASK_NUMBERINGS } from './world-options.ts';
import type { WorldOptions } from './world-options.ts';

export const HELP = `Runs the simulated provider until SIGTERM or SIGINT. Once it listens, it prints one line of JSON
with baseUrl, authUrl, keyId, secret and, with --panel-port, panelUrl.

Usage: npm run simulator -- [flags]

  --port N               port to listen on; default 0, any free port
  --host ADDRESS         address to listen on; default 127.0.0.1
  --public-url URL       scheme, host and port that clients use; default http://HOST:PORT
  --task-duration TIME   how long it takes to create a server; default 60s
  --token-lifetime TIME  expires_in of a token, in whole seconds; default 300s
  --token-expiry MODE    start of the lifetime: sliding (the last use, the default) or issue
  --task-lag TIME        GET of a task answers 404 for this long after the create; default 0s
  --server-lag TIME      GET of a server answers 404 for this long after its task has finished; default 0s
  --cancel-lag TIME      GET of a server answers 200 for this long after its DELETE; default 0s
  --task-numbering MODE  number tasks across all accounts (global, the default) or per account (account)
  --identifier-from MODE tasks show the identifier from their start (the default) or only at their end
  --identifier-case MODE as-is (the default), ignored, echo, upper-in-server or upper-in-task
  --addresses MODE       servers show all (the default), no-macs or none of their MAC and IPv6 addresses, or all show
                         the same one: zero-macs, same-macs or link-local
  --create-status CODE   status of an accepted create: 200, 201 or 202 (the default)
  --panel-port N         port of the control panel (src/simulator/panel.ts), open to every client; off by default.
                         Its POST /world (src/simulator/world.ts) changes lags, modes and more at run time
  --key-id ID            key ID; default ${DEFAULT_KEY.keyId} (environment VPS_SIMULATOR_KEY_ID)
  --secret SECRET        secret of the key; default ${DEFAULT_KEY.secret} (environment VPS_SIMULATOR_SECRET)
  --help                 show this help

TIME is a number with a unit: 500ms, 60s, 10m, 1h.
`;

/** An invalid flag or variable; the message names it and says what is valid. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface CommandLine extends SimulatorOptions {
  /** Port of the control panel; off if undefined. */
  panelPort?: number;
}

const FLAGS = {
  port: { type: 'string' },
  host: { type: 'string' },
  'public-url': { type: 'string' },
  'task-duration': { type: 'string' },
  'token-lifetime': { type: 'string' },
  'token-expiry': { type: 'string' },
  'task-lag': { type: 'string' },
  'server-lag': { type: 'string' },
  'cancel-lag': { type: 'string' },
  'task-numbering': { type: 'string' },
  'identifier-from': { type: 'string' },
  'identifier-case': { type: 'string' },
  addresses: { type: 'string' },
  'create-status': { type: 'string' },
  'panel-port': { type: 'string' },
  'key-id': { type: 'string' },
  secret: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** Returns 'help' for --help. Throws UsageError. */
export function parseCommandLine(args: string[], env: Record<string, string | undefined>): CommandLine | 'help' {
  const flags = parseFlags(args);
  if (flags.help) return 'help';
  const key = {
    keyId: flags['key-id'] ?? env['VPS_SIMULATOR_KEY_ID'] ?? DEFAULT_KEY.keyId,
    secret: flags.secret ?? env['VPS_SIMULATOR_SECRET'] ?? DEFAULT_KEY.secret,
  };
  if (key.keyId === '' || key.keyId.includes(':'))
    throw new UsageError('--key-id must have at least one character and no colon');
  const options: CommandLine = { accounts: [{ name: 'default', keys: [key] }], ...worldOptions(flags) };
  if (flags.host !== undefined) options.host = flags.host;
  if (flags.port !== undefined) options.port = port('--port', flags.port);
  if (flags['panel-port'] !== undefined) options.panelPort = port('--panel-port', flags['panel-port']);
  if (flags['public-url'] !== undefined) options.origin = origin(flags['public-url']);
  if (flags['task-duration'] !== undefined) {
    options.taskDurationMs = duration('--task-duration', flags['task-duration']);
  }
  if (flags['token-lifetime'] !== undefined) {
    const seconds = duration('--token-lifetime', flags['token-lifetime']) / 1000;
    if (!Number.isInteger(seconds) || seconds < 1)
      throw new UsageError('--token-lifetime must be a whole number of seconds, 1s or more');
    options.tokenLifetimeSeconds = seconds;
  }
  const expiry = choice('--token-expiry', flags['token-expiry'], ['sliding', 'issue']);
  if (expiry !== undefined) options.tokenExpiry = expiry;
  return options;
}

function worldOptions(flags: ReturnType<typeof parseFlags>): WorldOptions {
  const numbering = choice('--task-numbering', flags['task-numbering'], TASK_NUMBERINGS);
  const from = choice('--identifier-from', flags['identifier-from'], IDENTIFIER_FROM);
  const identifierCase = choice('--identifier-case', flags['identifier-case'], IDENTIFIER_CASES);
  const addresses = choice('--addresses', flags.addresses, ADDRESSES);
  const status = choice('--create-status', flags['create-status'], ['200', '201', '202']);
  return {
    lag: {
      taskMs: duration('--task-lag', flags['task-lag'] ?? '0s'),
      serverMs: duration('--server-lag', flags['server-lag'] ?? '0s'),
      cancelMs: duration('--cancel-lag', flags['cancel-lag'] ?? '0s'),
    },
    ...(numbering && { taskNumbering: numbering }),
    ...(from && { identifierFrom: from }),
    ...(identifierCase && { identifierCase }),
    ...(addresses && { addresses }),
    ...(status && { createAnswer: { status: Number(status) as 200 | 201 | 202 } }),
  };
}

function parseFlags(args: string[]) {
  try {
    return parseArgs({ args, options: FLAGS, strict: true, allowPositionals: false }).values;
  } catch (error) {
    // The first sentence names the flag; the rest is advice on positional arguments.
    const [message = ''] = (error as Error).message.split(/\. |\n/, 1);
    throw new UsageError(message, { cause: error });
  }
}

function choice<T extends string>(flag: string, text: string | undefined, choices: readonly T[]): T | undefined {
  const chosen = choices.find((one) => one === text);
  if (text === undefined || chosen !== undefined) return chosen;
  throw new UsageError(`${flag} must be one of ${choices.join(', ')}, not ${text}`);
}

function port(flag: string, text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value > 65_535)
    throw new UsageError(`${flag} must be a port from 0 to 65535, not ${text}`);
  return value;
}

function origin(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '') {
    throw new UsageError(`--public-url must be like http://host:port, not ${text}`);
  }
  return url.origin;
}

/** Milliseconds. */
function duration(flag: string, text: string): number {
  const units = new Map([
    ['ms', 1],
    ['s', 1000],
    ['m', 60_000],
    ['h', 3_600_000],
  ]);
  const [, amount, unit = ''] = /^([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = units.get(unit);
  if (amount === undefined || factor === undefined) {
    throw new UsageError(`${flag} must be a time such as 500ms, 60s or 10m, not ${text}`);
  }
  return Number(amount) * factor;
}
