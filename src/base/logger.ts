/** The log: lines of JSON or text on stdout, written synchronously so that a crash loses no line. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  destination,
  pino,
  stdTimeFunctions,
  type Bindings,
  type ChildLoggerOptions,
  type DestinationStream,
  type Level,
  type Logger,
} from 'pino';
import { logText, type LogLine } from './log-text.ts';
import { escaped } from './text.ts';

/* Adds fields to every log line that is written while some work runs. */

const context = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();

/** Runs `work` and adds these fields to every line that it logs, even after an `await`. */
export function withLogFields<T>(fields: Readonly<Record<string, unknown>>, work: () => T): T {
  return context.run(fields, work);
}

/** A copy of the current fields; empty outside of `withLogFields`. */
export function logFields(): Record<string, unknown> {
  return { ...context.getStore() };
}

export type { Logger } from 'pino';

/**
 * Field names, in lower case, whose values are masked. No code should log them; this is defense in depth.
 * pino's own redaction does the same for exact paths, but takes 20 times as long as the rest of a line.
 */
const SECRET_KEYS: ReadonlySet<string> = new Set([
  'secret',
  'token',
  'access_token',
  'accesstoken',
  'authorization',
  'password',
  'ssh_keys',
  'sshkeys',
]);
const MASK = '[Redacted]';
const ERROR_KEYS: ReadonlySet<string> = new Set(['err', 'error']);
/** How many levels deep the logger looks for secrets and errors in the fields of a line. */
const MAX_LEVELS = 4;
const MAX_CAUSES = 5;

export type LogFormat = 'text' | 'json';

interface LoggerOptions {
  level: Level | 'silent';
  /** Default: JSON. */
  format?: LogFormat;
  /** Default: standard output. */
  destination?: DestinationStream;
}

type MakeChild = (this: Logger, fields: Bindings, options?: ChildLoggerOptions) => Logger;

export function createLogger({
  level,
  format = 'json',
  destination: to = destination({ sync: true }),
}: LoggerOptions): Logger {
  // The text is made from the JSON, so that what is masked there is masked in both. JSON itself escapes only the ASCII
  // control characters.
  const formatted = (line: string): string =>
    format === 'json' ? escaped(line) : `${logText(JSON.parse(line) as LogLine)}\n`;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      mixin: logFields,
      formatters: {
        level: (label) => ({ level: label }),
        log: safeFields,
      },
      // Errors are already plain objects when a serializer sees them.
      serializers: { err: (value: unknown) => value },
    },
    { write: (line) => to.write(formatted(line)) },
  );
  // pino formats the fields of a child logger without a hook; children of children inherit this method.
  const { child } = Object.getPrototypeOf(logger) as { child: MakeChild };
  const makeChild: MakeChild = function (fields, options) {
    return child.call(this, safeFields(fields), options);
  };
  return Object.assign(logger, { child: makeChild });
}

function safeFields(fields: Record<string, unknown>): Record<string, unknown> {
  return mapValues(fields, MAX_LEVELS);
}

function safeValue(key: string, value: unknown, levels: number): unknown {
  if (value === undefined) return value;
  if (SECRET_KEYS.has(key.toLowerCase())) return MASK;
  if (value instanceof Error || ERROR_KEYS.has(key)) return serializeError(value);
  if (typeof value !== 'object' || value === null || levels === 0 || 'toJSON' in value) return value;
  if (Array.isArray(value)) return value.map((element: unknown) => safeValue('', element, levels - 1));
  return mapValues(value, levels);
}

/** Copies the fields only if a value changes, because nearly every line is logged unchanged. */
function mapValues(fields: object, levels: number): Record<string, unknown> {
  let safe = fields as Record<string, unknown>;
  for (const [key, value] of Object.entries(fields)) {
    const after = safeValue(key, value, levels - 1);
    if (after === value) continue;
    if (safe === fields) safe = { ...fields };
    safe[key] = after;
  }
  return safe;
}

interface SerializedError {
  name: string;
  code?: string | number;
  message: string;
  stack?: string;
  cause?: SerializedError;
}

/** Name, code, message and stack of an error and its causes. Other properties may hold requests with credentials. */
export function serializeError(error: unknown, causes = MAX_CAUSES): SerializedError {
  // A thrown value that is not an error may be anything, even a request with its headers.
  if (!(error instanceof Error))
    return { name: 'NotAnError', message: typeof error === 'string' ? error : typeof error };
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    message,
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined || causes === 0 ? {} : { cause: serializeError(cause, causes - 1) }),
  };
}
