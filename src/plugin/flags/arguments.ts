/** The arguments that commands share, and the parsers of their flags. */
import { InvalidArgumentError, Option } from 'commander';
import { identifierProblem } from '../../api/identifier.ts';
import { specSchema, type VirtualServerSpec } from '../../api/virtual-server.ts';
import { parseDuration } from '../../base/duration.ts';
import { nameProblem } from '../cluster/cluster.ts';
import { FORMATS } from '../terminal/table.ts';

/** complete.ts offers names for the arguments with these names. */
export const NAME = { name: 'name', description: 'name of the VirtualServer' };
export const SET = { name: 'set', description: 'name of the VirtualServerSet' };
export const SERVER_OR_SET = {
  name: '[set/]name',
  description: 'NAME of a VirtualServer, or set/NAME of a VirtualServerSet',
};

/** Servers that a ServerCatalog lists and no object holds. */
export const UNHELD = { name: 'identifier', description: "the provider's identifiers of servers" };

/** A local path, or one on a server. */
export const PATH = { name: 'path', description: 'files; those of the server as NAME:PATH' };

/** Only for commands that have output for programs: a flag that does nothing would hide a mistake. */
export const outputOption = (): Option =>
  new Option('-o, --output <format>', 'output format').choices(FORMATS).default('table');

export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

export function replicasOf(text: string): number {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(text)) throw new InvalidArgumentError('Use a number of servers, such as 3.');
  return Number(text);
}

export function diskSizeOf(text: string): number {
  if (/^[1-9][0-9]{0,9}$/.test(text)) return Number(text);
  // The unit and the sizes are the provider's, so an example could only mislead.
  throw new InvalidArgumentError('Use a size that kubectl vps catalog lists: a whole number without a unit.');
}

/** As for kubectl, 0 means no limit. */
export function limitOf(text: string): number {
  return /^0[dhms]?$/.test(text) ? Infinity : durationOf(text);
}

export function durationOf(text: string): number {
  const ms = parseDuration(inHours(text));
  if (ms === undefined) throw new InvalidArgumentError('Use a duration, such as 90s, 15m or 2d.');
  return ms;
}

/** Days as hours, because a spec has no days: `4d` is `96h`, and `1d12h` is `36h`. */
export function inHours(text: string): string {
  const [, days, hours = '0', rest = ''] = /^(\d+)d(?:(\d+)h)?(.*)$/.exec(text) ?? [];
  return days === undefined ? text : `${BigInt(days) * 24n + BigInt(hours)}h${rest}`;
}

/** What follows `argument 'x' is invalid.` */
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** A value for this field of spec, as the API server accepts it. */
export function fieldOf(field: keyof VirtualServerSpec): (text: string) => string {
  return (text) => {
    const { error } = specSchema.shape[field].safeParse(text);
    if (error !== undefined) throw new InvalidArgumentError(sentence(error.issues[0]?.message ?? ''));
    return text;
  };
}

/** A duration for this field of spec. */
export const durationFor =
  (field: 'ttl' | 'deletionDelay') =>
  (text: string): string => {
    const hours = inHours(text);
    if (!specSchema.shape[field].safeParse(hours).success)
      throw new InvalidArgumentError('Use a duration above 0, such as 72h, 4d or 1h30m.');
    return hours;
  };

/** The name of an object of this kind. */
export const nameOfA =
  (kind: string) =>
  (text: string): string => {
    const problem = nameProblem(text, kind);
    if (problem !== undefined) throw new InvalidArgumentError(sentence(problem));
    return text;
  };

/** As in kubectl, an empty namespace counts as not given. */
export function namespaceOf(text: string): string {
  if (text === '' || (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) && text.length <= 63)) return text;
  throw new InvalidArgumentError('Use the name of a namespace: lowercase letters, digits and "-".');
}

export function identifierOf(text: string): string {
  const problem = identifierProblem(text);
  if (problem !== undefined) throw new InvalidArgumentError(`${problem}.`);
  return text;
}
