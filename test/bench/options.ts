/** Flags of the bench. */
import { parseArgs } from 'node:util';

export interface BenchOptions {
  count: number;
  /** Node options for the operator, such as --cpu-prof. */
  nodeOptions: string[];
  idleSeconds: number;
  /** Also restarts the operator with all servers Ready, at the default rate of calls. */
  restart: boolean;
  /** The servers are members of one VirtualServerSet, which is scaled from 0 to `count` and back. */
  set: boolean;
  /** Measures how long ready servers wait for the operator's timers, with all flags at their defaults. */
  wait: boolean;
  /** File for the figures, as `npm run performance` reads them. */
  json: string | undefined;
}

/** Throws an Error whose message says what is wrong. */
export function parseOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    strict: true,
    options: {
      count: { type: 'string', default: '1000' },
      'idle-seconds': { type: 'string', default: '5' },
      'node-option': { type: 'string', multiple: true, default: [] },
      restart: { type: 'boolean', default: false },
      set: { type: 'boolean', default: false },
      wait: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const number = (flag: 'count' | 'idle-seconds'): number => {
    if (!/^[1-9]\d{0,5}$/.test(values[flag])) throw new Error(`--${flag} must be a whole number above 0`);
    return Number(values[flag]);
  };
  const { restart, set, wait, json, 'node-option': nodeOptions } = values;
  if (restart && json !== undefined) throw new Error('--json has the figures of one process: leave out --restart');
  if (set && (restart || json !== undefined)) throw new Error('--set goes with neither --restart nor --json');
  if (wait && (restart || set || json !== undefined))
    throw new Error('--wait goes with none of --restart, --set, --json');
  return { count: number('count'), idleSeconds: number('idle-seconds'), nodeOptions, restart, set, wait, json };
}
