/** The arguments that commands share, and the parsers of their flags. */
import { InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { FORMATS } from './table.ts';

/** complete.ts offers names for the arguments with these names. */
export const NAME = { name: 'name', description: 'name of the VirtualServer' };
export const SET = { name: 'set', description: 'name of the VirtualServerSet' };
export const SERVER_OR_SET = {
  name: '[set/]name',
  description: 'NAME of a VirtualServer, or set/NAME of a VirtualServerSet',
};

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

export function wholeNumber(text: string): number {
  if (!/^[1-9][0-9]{0,9}$/.test(text)) throw new InvalidArgumentError('Use a whole number, such as 20.');
  return Number(text);
}

/** As for kubectl, 0 means no limit. */
export function limitOf(text: string): number {
  return /^0[hms]?$/.test(text) ? Infinity : durationOf(text);
}

/** Checks a duration, and returns it unchanged. */
export function durationTextOf(text: string): string {
  durationOf(text);
  return text;
}

export function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Use a duration, such as 90s or 15m.');
  return ms;
}
