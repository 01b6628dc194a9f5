/** Which call about the power of a server the provider is known not to have. One answer can mislead, so this refuses nothing. Pure. */
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { powerStateOf } from '../../api/server-state.ts';
import type { PowerCall } from '../../virtual-server/decision/memo.ts';
import { NO_SUCH_CALL } from '../../virtual-server/decision/once.ts';
import { missingCall, noCall } from '../../virtual-server/decision/power.ts';
import { recordOf } from '../state/recorded-order.ts';

export type PowerRequest = NonNullable<VirtualServerSpec['power']> | 'force' | 'reboot';

/** The call that the operator sends next for this request; undefined: none, as far as the status tells. */
export function callFor(wanted: PowerRequest, server: VirtualServer): PowerCall | undefined {
  if (wanted === 'reboot') return 'reboot';
  const record = recordOf(server);
  const isDormant = record !== undefined && 'isDormant' in record && record.isDormant;
  const state = powerStateOf(server.status?.serverStatus, isDormant);
  const missing = missingCall(wanted === 'force' ? 'Off' : wanted, state);
  if (wanted === 'force' && missing !== undefined && missing !== 'wake') return 'power-off';
  return missing === 'wait' ? undefined : missing;
}

/** What the object tells about a provider without this call; undefined: nothing. */
export function lackTold(call: PowerCall, server: VirtualServer): string | undefined {
  const { identifier, reboot } = recordOf(server) ?? {};
  if (identifier === undefined) return undefined;
  const lack = noCall(call, identifier);
  const isTold =
    call === 'reboot'
      ? reboot?.said === NO_SUCH_CALL
      : server.status?.conditions?.some(
          ({ reason, message }) => reason === 'PowerUnavailable' && message.includes(lack),
        );
  return isTold === true ? lack : undefined;
}
