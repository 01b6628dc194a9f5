/** A line of the log as a sentence: time, level unless info, object, and what happened. Pure. */
import { printable } from './text.ts';

/** A line of the log in JSON, as logger.ts writes it. */
export type LogLine = Record<string, unknown>;

/** How the sentence about a step continues after "is REASON after". Each is true whatever the step has found out. */
export const STEPS: Readonly<Record<string, string>> = {
  claim: 'claiming an order',
  order: 'trying to order a server',
  repeat: 'repeating its order',
  adopt: 'reading the server to adopt',
  takeOver: 'taking over the server of another object',
  handOver: 'handing the server over',
  follow: 'polling its task',
  look: 'reading its server',
  power: 'switching its server',
  change: 'changing its server',
  cancel: 'trying to cancel its server',
  expire: 'recording that its time is up',
  release: 'removing its finalizer',
  record: 'updating its record',
  wait: 'finding nothing to do',
  park: 'checking what holds it up',
};

/** Fields that the sentence itself contains, or that only programs need. */
const OTHER_FIELDS: ReadonlySet<string> = new Set([
  ...['time', 'level', 'msg', 'controller', 'reconcileID', 'uid', 'resourceVersion'],
  ...['apiVersion', 'kind', 'namespace', 'name', 'key', 'set', 'catalog'],
  ...['step', 'request', 'code', 'error', 'err', 'durationMs'],
]);

/** Without the stack of an error, which only JSON has. */
export function logText(line: LogLine): string {
  const { time, level, step } = line;
  const words = [
    `${text(time).slice(0, 19)}Z`,
    ...(level === 'info' ? [] : [text(level).toUpperCase()]),
    ...(typeof step === 'string' ? [stepText(line, step)] : [plainText(line)]),
  ];
  return printable(words.join(' ')).trimEnd();
}

function stepText(line: LogLine, step: string): string {
  const { reason, durationMs } = line;
  const action = STEPS[step] ?? `the step ${step}`;
  const failure = failureOf(line);
  const state = reason === undefined ? 'has no conditions yet' : `is ${text(reason)}`;
  // Its conditions are about the server of before.
  const done = step === 'release' ? 'no longer has a finalizer of the operator' : `${state} after ${action}`;
  const what = failure === '' ? done : `${state}: ${action} failed${failure}`;
  const took = durationMs === undefined ? [] : [`${text(durationMs)} ms`];
  return `${objectOf(line)} ${what}${inBrackets([...details(line, ['reason']), ...took])}`;
}

function plainText(line: LogLine): string {
  const object = objectOf(line);
  return `${object === '' ? '' : `${object}: `}${text(line['msg'])}${failureOf(line)}${inBrackets(details(line))}`;
}

/** As users name the object; empty if the line is about none. */
function objectOf({ namespace, name, set, catalog, key, controller }: LogLine): string {
  if (set !== undefined) return `set ${text(set)}`;
  if (catalog !== undefined) return `catalog ${text(catalog)}`;
  if (name !== undefined) return `${text(namespace)}/${text(name)}`;
  return key === undefined ? '' : `${text(controller)} ${text(key)}`.trimStart();
}

interface LoggedError {
  code?: unknown;
  message?: unknown;
  cause?: LoggedError;
}

/** A step has the message under `error`, and everything else a whole error with its causes. */
function failureOf({ err, error, code }: LogLine): string {
  const found = err ?? (typeof error === 'string' ? { code, message: error } : error);
  return isError(found) ? messages(found) : '';
}

function messages({ code, message, cause }: LoggedError): string {
  const own = `: ${text(message)}${code === undefined ? '' : ` (${text(code)})`}`;
  return isError(cause) ? `${own}${messages(cause)}` : own;
}

function isError(value: unknown): value is LoggedError {
  return typeof value === 'object' && value !== null && 'message' in value;
}

function details(line: LogLine, without: readonly string[] = []): string[] {
  return Object.entries(line).flatMap(([name, value]) => {
    const shown = OTHER_FIELDS.has(name) || without.includes(name) ? '' : text(value);
    return shown === '' ? [] : [`${name} ${shown}`];
  });
}

const inBrackets = (parts: readonly string[]): string => (parts.length === 0 ? '' : ` (${parts.join(', ')})`);

function text(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(text).join(' ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
