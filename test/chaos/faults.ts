/** The faults that can hit one request, and what is done about them afterwards. */
import { jsonAnswer, type Passing } from './exchange.ts';
import { isAboutState } from './labels.ts';

/** A read changes nothing, so it does not matter whether it was served before the fault. */
const READ_FAULTS = ['kill-after', 'error', 'reset', 'hang'] as const;

const WRITE_FAULTS = ['kill-before', ...READ_FAULTS, 'late'] as const;

/** The journal is lost too, as if the node itself had failed. */
const NODE_FAULTS = { read: ['kill-after-node'], write: ['kill-before-node', 'kill-after-node'] } as const;

/**
 * What the proxy answers to a request for a tunnel, of which it forwards nothing. With `cut` the tunnel opens, and breaks
 * when the client sends something.
 */
const TUNNEL_FAULTS = { 'refused-407': 407, 'refused-502': 502, 'refused-504': 504, cut: 200 } as const;

/** What is answered to an order under an identifier, which may be repeated; `served`: the provider has carried it out. */
const ORDER_FAULTS = {
  'unserved-500': { status: 500, isServed: false },
  'unserved-503': { status: 503, isServed: false },
  'unserved-409': { status: 409, isServed: false },
  'served-503': { status: 503, isServed: true },
  'served-409': { status: 409, isServed: true },
} as const;
type OrderFault = keyof typeof ORDER_FAULTS;

/** A policy refuses a write of metadata, of which nothing is stored. */
const DENIED = 'denied';

export type CrashFault =
  | (typeof WRITE_FAULTS)[number]
  | (typeof NODE_FAULTS)['write'][number]
  | keyof typeof TUNNEL_FAULTS
  | OrderFault
  | typeof DENIED;

/** The faults that can hit a request with this label. */
export function faultsAt(label: string): readonly CrashFault[] {
  const kind = isRead(label) ? 'read' : 'write';
  const faults = [
    ...(kind === 'read' ? READ_FAULTS : WRITE_FAULTS),
    // The journal has orders without an identifier, until the object has it.
    ...(isAboutState(label) && !/^[^:]+:[^:]+:[^:]*identifier/.test(label) ? NODE_FAULTS[kind] : []),
  ];
  if (isForTunnel(label)) return [...faults, ...(Object.keys(TUNNEL_FAULTS) as CrashFault[])];
  if (label.startsWith('provider:POST-server:')) return [...faults, ...(Object.keys(ORDER_FAULTS) as OrderFault[])];
  return label.startsWith('kube:PATCH-object:') ? [...faults, DENIED] : faults;
}

function isRead(label: string): boolean {
  return /^(kube:(GET-|LIST|WATCH|READ)|provider:GET-)/.test(label);
}

export function isForTunnel(label: string): boolean {
  return label.startsWith('proxy:');
}

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
      return;
    case DENIED: {
      const message = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no metadata is written here";
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403, message };
      exchange.reply(jsonAnswer(403, status));
      return;
    }
    case 'unserved-500':
    case 'unserved-503':
    case 'unserved-409':
    case 'served-503':
    case 'served-409': {
      const { status, isServed } = ORDER_FAULTS[fault];
      if (isServed) await exchange.forward();
      exchange.reply(jsonAnswer(status, {}));
      return;
    }
    case 'refused-407':
    case 'refused-502':
    case 'refused-504':
    case 'cut':
      exchange.reply(jsonAnswer(TUNNEL_FAULTS[fault], {}));
  }
}
