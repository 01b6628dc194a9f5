/** The faults that can hit one request, and what is done about them afterwards. */
import { jsonAnswer, type Passing } from './exchange.ts';

/** With `-node` the journal is lost too, as if the node itself had failed. */
export const CRASH_FAULTS = [
  'kill-before',
  'kill-before-node',
  'kill-after',
  'kill-after-node',
  'error',
  'reset',
  'hang',
  'late',
] as const;
export type CrashFault = (typeof CRASH_FAULTS)[number];

/** Kills the process that sent the request with SIGKILL, and starts another one in its place. */
type Kill = (options: { journal: boolean }) => Promise<void>;

export function isKill(fault: CrashFault): boolean {
  return fault.startsWith('kill-');
}

export async function strike(fault: CrashFault, exchange: Passing, kill: Kill): Promise<void> {
  const journal = !fault.endsWith('-node');
  switch (fault) {
    case 'kill-before':
    case 'kill-before-node':
      await kill({ journal });
      {
        exchange.breakOff();
        return;
      }
    case 'kill-after':
    case 'kill-after-node':
      await exchange.forward();
      await kill({ journal });
      {
        exchange.breakOff();
        return;
      }
    case 'error':
      await exchange.forward();
      {
        exchange.reply(jsonAnswer(500, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 500 }));
        return;
      }
    case 'reset':
      await exchange.forward();
      {
        exchange.breakOff();
        return;
      }
    case 'hang':
      await exchange.forward();
      return exchange.left;
    case 'late':
      // The client has given up before the server receives the request.
      await exchange.left;
      await exchange.forward();
  }
}
