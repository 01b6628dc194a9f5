/** What an argument of a command names: a server, or a set, as in `set/web`. Pure. */
import {
  GROUP,
  SERVER_PLURAL,
  SERVER_SHORT_NAME,
  SERVER_SINGULAR,
  SET_PLURAL,
  SET_SHORT_NAME,
  SET_SINGULAR,
  VERSION,
} from '../../api/names.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';

export interface Target {
  kind: 'server' | 'set';
  name: string;
}

/** The types that kubectl accepts, and a short one for sets. */
const TYPES: Record<Target['kind'], readonly string[]> = {
  server: [SERVER_SHORT_NAME, SERVER_SINGULAR, SERVER_PLURAL],
  set: ['set', SET_SHORT_NAME, SET_SINGULAR, SET_PLURAL],
};
const GROUPS = [`.${VERSION}.${GROUP}`, `.${GROUP}`];

/** A bare name is of the kind `usual`. Throws CommandError for an unknown type. */
export function targetOf(text: string, usual: Target['kind'] = 'server'): Target {
  const [type = '', ...rest] = text.split('/');
  if (rest.length === 0) return { kind: usual, name: text };
  const lower = type.toLowerCase();
  const group = GROUPS.find((suffix) => lower.endsWith(suffix)) ?? '';
  const word = lower.slice(0, lower.length - group.length);
  const name = rest.join('/');
  for (const kind of ['server', 'set'] as const) if (TYPES[kind].includes(word)) return { kind, name };
  throw new CommandError(
    EXIT.usage,
    `unknown type ${JSON.stringify(type)} in ${JSON.stringify(text)}: use ${SERVER_SHORT_NAME}/NAME for a server or set/NAME for a set`,
  );
}

/** Throws CommandError unless the text names a server, with or without its type. */
export function serverNameOf(text: string): string {
  const { kind, name } = targetOf(text);
  if (kind === 'server') return name;
  throw new CommandError(EXIT.usage, `${JSON.stringify(text)} is a set: name one of its members`, [
    `kubectl vps status set/${name}   # shows its members`,
  ]);
}

/** Throws CommandError unless the text names a set, with or without its type. */
export function setNameOf(text: string): string {
  const { kind, name } = targetOf(text, 'set');
  if (kind === 'set') return name;
  throw new CommandError(EXIT.usage, `${JSON.stringify(text)} is a server; only a set has rollouts: use set/NAME`);
}
