/**
 * What an annotation with a time asks to be done once: to restart the server, or to switch it off by force. The record notes the
 * annotation before the call, so no crash makes the operator send the call twice. Pure.
 */
import { FORCE_OFF_ANNOTATION, REBOOT_ANNOTATION } from '../../api/names.ts';
import type { DoneOnce, Held, ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { timeOf } from './expiry.ts';
import type { PowerCall } from './memo.ts';

export type Once = 'reboot' | 'forceOff';

const ANNOTATIONS: Readonly<Record<Once, string>> = { reboot: REBOOT_ANNOTATION, forceOff: FORCE_OFF_ANNOTATION };
export const ONCE = Object.keys(ANNOTATIONS) as readonly Once[];

/** Maximum length of an annotation that asks for something. */
export const MAX_ASKED = 64;

/** What the record keeps if the provider cannot restart servers at all. */
export const NO_SUCH_CALL = 'the provider API has no such call';

interface CallTraits {
  /** The action that the call belongs to; undefined: the call may be sent again. */
  once: Once | undefined;
  /** The server has the same power state after the call as before, so `spec.power` is not about it. */
  isRestart: boolean;
}

const TRAITS: Readonly<Record<PowerCall, CallTraits>> = {
  'power-on': { once: undefined, isRestart: false },
  wake: { once: undefined, isRestart: false },
  shutdown: { once: undefined, isRestart: false },
  'power-off': { once: 'forceOff', isRestart: false },
  dormant: { once: undefined, isRestart: false },
  reboot: { once: 'reboot', isRestart: true },
};

export const traitsOf = (call: PowerCall): CallTraits => TRAITS[call];

/** What the annotation says; undefined without it. */
export const askedText = ({ metadata: { annotations } }: VirtualServer, once: Once): string | undefined =>
  annotations?.[ANNOTATIONS[once]];

/** The time in an annotation (ms since the epoch); undefined: the annotation asks for nothing. */
export const timeAsked = (value: string): number | undefined => (value.length > MAX_ASKED ? undefined : timeOf(value));

/** When to do what the annotation asks for (ms since the epoch); undefined: nothing is left to do. */
export function askedAt(object: VirtualServer, record: ServerRecord, once: Once): number | undefined {
  const value = askedText(object, once);
  const at = value === undefined ? undefined : timeAsked(value);
  if (at === undefined || record[once]?.asked === value) return undefined;
  return at > madeAt(object, record) ? at : undefined;
}

/** An earlier time is about an earlier server, or about the object that had the server or the annotation before this one. */
function madeAt({ metadata: { creationTimestamp } }: VirtualServer, { readyAt, attemptedAt }: ServerRecord): number {
  const made = timeOf(creationTimestamp) ?? Infinity;
  return Math.max(made, timeOf(readyAt ?? attemptedAt ?? creationTimestamp) ?? Infinity);
}

/** The record with what came of the action. Without an answer: its call is about to be sent. */
export function withOnce(
  record: Held,
  object: VirtualServer,
  once: Once,
  came: Pick<DoneOnce, 'answer' | 'said'> = {},
): Held {
  return { ...record, [once]: { asked: askedText(object, once) ?? '', ...came } };
}
