/** Which call about the power of a server the provider is known not to have. One answer can mislead, so this refuses nothing. Pure. */
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import type { PowerCall } from '../../virtual-server/decision/memo.ts';
import { NO_SUCH_CALL } from '../../virtual-server/decision/once.ts';
import { ASKS, missingCall } from '../../virtual-server/decision/power.ts';
import { powerOf, recordOf } from '../state/recorded-order.ts';

export type PowerRequest = NonNullable<VirtualServerSpec['power']> | 'reboot';

/** The call that the operator sends next for this request; undefined: none, as far as the last read tells. */
export function callFor(wanted: PowerRequest, server: VirtualServer): PowerCall | undefined {
  if (wanted === 'reboot') return 'reboot';
  const missing = missingCall(wanted, powerOf(server));
  return missing === 'wait' ? undefined : missing;
}

/** What the object tells about a provider without this call; undefined: nothing. */
export function lackTold(call: PowerCall, server: VirtualServer): string | undefined {
  const { identifier, reboot } = recordOf(server) ?? {};
  const isTold = call === 'reboot' ? reboot?.said === NO_SUCH_CALL : isUnavailable(call, server);
  return isTold && identifier !== undefined ? `the provider API has no call to ${ASKS[call](identifier)}` : undefined;
}

const isUnavailable = (call: PowerCall, server: VirtualServer): boolean =>
  server.status?.conditions?.some(({ reason }) => reason === 'PowerUnavailable') === true &&
  callFor(server.spec.power ?? 'On', server) === call;
