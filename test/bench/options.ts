/** Flags of the bench. */
import { parseArgs } from 'node:util';

export interface BenchOptions {
  count: number;
  /** Folder that gets a CPU profile of the operator; undefined: none is made, since it costs time. */
  cpuProf: string | undefined;
  idleSeconds: number;
}

/** Throws an Error that says what is wrong. */
export function parseOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    strict: true,
    options: {
      count: { type: 'string', default: '1000' },
      'idle-seconds': { type: 'string', default: '5' },
      'cpu-prof': { type: 'string' },
    },
  });
  const number = (flag: 'count' | 'idle-seconds'): number => {
    if (!/^[1-9]\d{0,5}$/.test(values[flag])) throw new Error(`--${flag} must be a whole number above 0`);
    return Number(values[flag]);
  };
  return { count: number('count'), idleSeconds: number('idle-seconds'), cpuProf: values['cpu-prof'] };
}
