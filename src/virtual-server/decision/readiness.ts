/** What a server that was just read means for Ready: whether it runs, has an address, and answers the SSH check. Pure. */
import { isRunning, powerStateOf } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { cut } from '../../base/text.ts';
import type { Verdict } from '../../controller/conditions.ts';
import type { Server } from '../../provider/types.ts';
import type { Boot } from './memo.ts';
import { reach, type ProbeResult, type Reachable } from './reach.ts';

const NOT_CHECKED = 'The operator checks no SSH server while the server is off, as spec.power asks';

/** `probed`: the result of the SSH check, if there was one. `power`: what `spec.power` makes of the server's state. */
export function readiness(
  object: VirtualServer,
  server: Server,
  probed: ProbeResult | undefined,
  boot: Boot,
  power?: Verdict,
): { verdict: Verdict; reachable: Reachable | undefined } {
  if (power?.reason === 'PoweredOff' || power?.reason === 'Dormant')
    return { verdict: power, reachable: { status: 'False', reason: power.reason, message: NOT_CHECKED } };
  const reached = isRunning(server.status) ? reach(object, server, probed, boot) : undefined;
  return { verdict: power ?? reached?.verdict ?? verdictOf(object, server), reachable: reached?.reachable };
}

function verdictOf({ spec }: VirtualServer, server: Server): Verdict {
  const { identifier, status = '' } = server;
  if (!isRunning(server.status)) {
    const words = status === '' ? 'no status' : `status "${cut(status, 128)}"`;
    const isKnown = powerStateOf(status) !== 'unknown';
    const then = isKnown ? 'as soon as that has changed' : 'as soon as the provider reports a status that it knows';
    const next =
      spec.power === undefined
        ? "Start the server in the provider's control panel, or wait"
        : `It does what spec.power: ${spec.power} asks ${then}`;
    const message = `Server ${identifier} exists, but the provider reports ${words}. The operator keeps checking. ${next}`;
    return { reason: 'ServerNotRunning', message };
  }
  if (server.ipv6.length === 0 && server.ipv4.length === 0 && server.sshProxy === undefined) {
    return { reason: 'AddressPending', message: `Server ${identifier} is running; the provider shows no address yet` };
  }
  return { reason: 'Available', message: `Server ${identifier} is running` };
}
