/** Finds the lines of the operator's log that are about one object. Pure. */
import { SERVER_KIND, SERVER_SINGULAR, SET_KIND, SET_SINGULAR } from '../../api/names.ts';
import type { LogLine } from '../../base/log-text.ts';
import type { Target } from '../flags/target.ts';

/** Undefined for a line that is not JSON, such as one of Node itself or of --log-format=text. */
export function logLineOf(text: string): LogLine | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as LogLine) : undefined;
  } catch {
    return undefined;
  }
}

/** As `logText` begins a line. */
const TEXT_LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ /;

export const isTextLine = (text: string): boolean => TEXT_LINE.test(text);

/** ms since the epoch; undefined if the line has no time. */
export function timeOfLine({ time }: LogLine): number | undefined {
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Lines name their object by namespace and name, or by a key; what a set does to a member is about both. */
export function isAbout(line: LogLine, { kind, name }: Target, namespace: string): boolean {
  const key = `${namespace}/${name}`;
  if (kind === 'set') return line['set'] === key || isVisit(line, SET_SINGULAR, key) || isNamed(line, SET_KIND, key);
  const ofSet = typeof line['set'] === 'string' && line['set'].startsWith(`${namespace}/`) && line['member'] === name;
  const listed = Array.isArray(line['objects']) && line['objects'].includes(key);
  return ofSet || listed || isVisit(line, SERVER_SINGULAR, key) || isNamed(line, SERVER_KIND, key);
}

function isVisit(line: LogLine, controller: string, key: string): boolean {
  return line['key'] === key && line['controller'] === controller;
}

/** Lines that name no kind are about servers. */
function isNamed({ kind = SERVER_KIND, namespace, name }: LogLine, ofKind: string, key: string): boolean {
  return kind === ofKind && `${String(namespace)}/${String(name)}` === key;
}
