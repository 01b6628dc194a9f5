/** Whether the provider is known to have no call that switches or restarts servers. Pure. */
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { powerStateOf } from '../../api/server-state.ts';
import { NO_SUCH_CALL } from '../../virtual-server/decision/once.ts';
import { recordOf } from '../state/recorded-order.ts';

export type PowerRequest = NonNullable<VirtualServerSpec['power']> | 'reboot';

/** What the calls belong to: dormant servers and restarts have their own. */
const CALLS: Readonly<Record<PowerRequest, 'power' | 'dormant' | 'reboot'>> = {
  On: 'power',
  Off: 'power',
  Dormant: 'dormant',
  reboot: 'reboot',
};

/** The object whose server has shown that; `servers`: all objects with the same API key, the one in question first. */
export function withoutCall(wanted: PowerRequest, servers: readonly VirtualServer[]): VirtualServer | undefined {
  return servers.find((server) => lacks(CALLS[wanted], server));
}

function lacks(call: 'power' | 'dormant' | 'reboot', server: VirtualServer): boolean {
  if (call === 'reboot') return recordOf(server)?.reboot?.said === NO_SUCH_CALL;
  const { spec, status } = server;
  const isUnavailable = status?.conditions?.some(({ reason }) => reason === 'PowerUnavailable') === true;
  return isUnavailable && CALLS[spec.power ?? 'On'] === call;
}

/** A server that runs needs no call to be on: `start` only takes an earlier request back. */
export const needsCall = (wanted: PowerRequest, { status }: VirtualServer): boolean =>
  wanted !== 'On' || powerStateOf(status?.serverStatus) !== 'on';
