/** What `spec.power` does to a server after an apply, as the operator's own decisions say. Pure. */
import { hasReadServer, isPaused, type PowerState } from '../../api/server-state.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { timestamp } from '../../base/duration.ts';
import { knownRecord } from '../../virtual-server/decision/known-record.ts';
import type { PowerCall } from '../../virtual-server/decision/memo.ts';
import { askedAt } from '../../virtual-server/decision/once.ts';
import { missingCall } from '../../virtual-server/decision/power.ts';
import { placeOf, priceText } from '../../virtual-server/decision/price.ts';
import { isProvisioned } from '../../virtual-server/decision/server-status.ts';
import { lackTold } from '../decisions/power-calls.ts';
import { powerOf } from '../state/recorded-order.ts';

type Power = NonNullable<VirtualServerSpec['power']>;

interface Around {
  servers: readonly VirtualServer[];
  /** ms since the epoch. */
  now: number;
}

const SAME_PRICE = 'it costs as much as before';
/** The provider's list of prices has none of dormant servers. */
const DORMANT_PRICE = 'no list tells what it costs then';
const KEPT = 'keeps disk and addresses';
const FORCE = 'switches it off by force, which may lose data';

/** What becomes of a server that is ordered, adopted or taken over. '' if nothing does. `what`: names the server, or several. */
export function powerOfNew(
  { power }: Pick<VirtualServerSpec, 'power'>,
  isOrdered: boolean,
  what = 'the server',
): string {
  switch (power) {
    case 'Off':
      return `then shuts ${what} down${isOrdered ? '' : ' if it runs'}, for the same price`;
    case 'Dormant':
      return `then makes ${what} dormant: ${FORCE}, and ${KEPT}; ${DORMANT_PRICE}`;
    case 'On':
      return isOrdered ? '' : `then starts ${what} if it is off`;
    case undefined:
      return '';
  }
}

/** What a change of `spec.power` does; '' without one. `what`: names the server, or several. */
export function powerChangeOf(
  before: VirtualServer | undefined,
  after: VirtualServer,
  around: Around,
  what: string,
): string {
  const wanted = after.spec.power;
  const isAsBefore = before?.spec.power === wanted;
  if (before === undefined || (isAsBefore && (wanted === undefined || !isPaused(before)))) return '';
  if (!isProvisioned(before.status)) return powerOfNew(after.spec, true);
  // Status shows the last state of a server that is missing.
  if (!hasReadServer(before)) return '';
  const state = powerOf(before);
  if (wanted === undefined) {
    const isOff = state === 'off' || state === 'dormant';
    return isOff ? `leaves ${what} off, and no longer switches it` : `no longer switches ${what} on or off`;
  }
  const missing = missingCall(wanted, state);
  if (missing === undefined) return isAsBefore ? '' : `${what} ${ALREADY[wanted]} already`;
  const forced = forcedAt(after, state);
  const isForced = forced !== undefined && forced <= around.now;
  const call = isForced ? 'power-off' : missing === 'wait' ? BASE[wanted] : missing;
  const waits = missing === 'wait' && !isForced ? 'once the status of the server is clear, ' : '';
  const later = forced === undefined || isForced ? '' : `, and switches it off by force at ${timestamp(forced)}`;
  const does = TEXTS[call]({ what, wanted, state, price: priceAwake(before), later });
  return [`${waits}${does}`, lackOf(call, after, around)].filter((text) => text !== '').join('; ');
}

const ALREADY: Readonly<Record<Power, string>> = { On: 'runs', Off: 'is off', Dormant: 'is dormant' };
/** The call that is sent when the state of the server is clear, as far as it can be known before. */
const BASE: Readonly<Record<Power, Exclude<PowerCall, 'reboot'>>> = {
  On: 'power-on',
  Off: 'shutdown',
  Dormant: 'dormant',
};

/** When the annotation asks to switch the server off by force (ms since the epoch); undefined: never. */
function forcedAt(after: VirtualServer, state: PowerState): number | undefined {
  const record = knownRecord(after);
  if (record === undefined || after.spec.power !== 'Off' || state === 'dormant') return undefined;
  return askedAt(after, record, 'forceOff');
}

/** What the server costs when it is not dormant, as far as it is known. */
function priceAwake(object: VirtualServer): string {
  const { price } = placeOf(object, knownRecord(object));
  return price === undefined ? 'what it costs then is not known' : `it then costs ${priceText(price)} again`;
}

interface Told {
  what: string;
  wanted: Power;
  state: PowerState;
  price: string;
  /** What an annotation asks for later; '' if nothing. */
  later: string;
}

const TEXTS: Readonly<Record<PowerCall, (told: Told) => string>> = {
  'power-on': ({ what }) => `starts ${what}; ${SAME_PRICE}`,
  wake: ({ what, wanted, price }) => `wakes ${what}${wanted === 'Off' ? ', and then shuts it down' : ''}; ${price}`,
  shutdown: ({ what, later }) =>
    `stops ${what}: asks its system to shut down${later === '' ? ', and never uses force' : later}; ${SAME_PRICE}`,
  'power-off': ({ what }) => `stops ${what}: ${FORCE}; ${SAME_PRICE}`,
  dormant: ({ what, state }) =>
    `makes ${what} dormant: ${state === 'off' ? KEPT : `${FORCE}, and ${KEPT}`}; ${DORMANT_PRICE}`,
  reboot: ({ what }) => `restarts ${what}`,
};

/** That the provider is known to lack the call, which the operator sends all the same; '' if that is not known. */
function lackOf(
  call: PowerCall,
  { metadata: { namespace }, spec: { apiKeySecretRef } }: VirtualServer,
  { servers }: Around,
): string {
  for (const other of servers) {
    const isSameKey =
      other.metadata.namespace === namespace && other.spec.apiKeySecretRef.name === apiKeySecretRef.name;
    const lack = isSameKey ? lackTold(call, other) : undefined;
    if (lack !== undefined) return `PowerUnavailable: ${lack}, as the operator found for ${other.metadata.name}`;
  }
  return '';
}
