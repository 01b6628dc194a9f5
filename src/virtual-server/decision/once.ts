/**
 * What an annotation with a time asks to be done once: to restart the server, or to switch it off by force. The record notes the
 * annotation before the call, so no crash makes the operator send the call twice. Pure.
 */
import { FORCE_OFF_ANNOTATION, REBOOT_ANNOTATION } from '../../api/names.ts';
import type { DoneOnce, Held, ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Condition } from '../../api/meta.ts';
import { cut, ended } from '../../base/text.ts';
import type { Finding } from '../../controller/conditions.ts';
import { timeOf } from './expiry.ts';
import type { PowerCall } from './memo.ts';

export type Once = 'reboot' | 'forceOff';

const ANNOTATIONS: Readonly<Record<Once, string>> = { reboot: REBOOT_ANNOTATION, forceOff: FORCE_OFF_ANNOTATION };
const MAX_VALUE = 64;

/** The action that the call belongs to; undefined for a call that may be sent again. */
export function onceOf(call: PowerCall): Once | undefined {
  if (call === 'reboot') return 'reboot';
  return call === 'power-off' ? 'forceOff' : undefined;
}

/** What the annotation says; undefined without it. */
const askedText = ({ metadata: { annotations } }: VirtualServer, once: Once): string | undefined =>
  annotations?.[ANNOTATIONS[once]];

/** When to do what the annotation asks for (ms since the epoch); undefined: nothing is left to do. */
export function askedAt(object: VirtualServer, record: ServerRecord, once: Once): number | undefined {
  const value = askedText(object, once);
  const at = value === undefined || value.length > MAX_VALUE ? undefined : timeOf(value);
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

const AGAIN = 'To restart the server, run `kubectl vps reboot NAME`';
/** What the record keeps if the provider cannot restart servers at all. */
export const NO_SUCH_CALL = 'the provider API has no such call';
const YOURSELF = "Restart the server from inside, or in the provider's control panel";

/** The condition Rebooted; undefined without the annotation, or if it is older than the server. */
export function rebooted(
  object: VirtualServer,
  record: ServerRecord | undefined,
): (Finding & { status: Condition['status'] }) | undefined {
  const value = askedText(object, 'reboot');
  if (value === undefined || record === undefined) return undefined;
  const isPossible = record.reboot?.asked !== value || record.reboot.said !== NO_SUCH_CALL;
  const again = isPossible ? AGAIN.replace('NAME', object.metadata.name) : YOURSELF;
  const failed = (message: string): ReturnType<typeof rebooted> => ({
    status: 'False',
    reason: 'RebootFailed',
    message: `${ended(message)} ${again}`,
  });
  const { identifier, reboot } = record;
  if (value.length > MAX_VALUE || timeOf(value) === undefined) {
    const what = `Annotation ${REBOOT_ANNOTATION} is "${cut(value, MAX_VALUE)}", which is no time such as 2027-01-31T18:00:00Z`;
    return failed(`${what}. The operator restarts nothing`);
  }
  if (reboot?.asked !== value) {
    if (askedAt(object, record, 'reboot') === undefined) return undefined;
    const message = `The operator restarts the server at ${value}, once the server runs`;
    return { status: 'False', reason: 'RebootPending', message };
  }
  const server = `server ${identifier}`;
  const { answer, said = 'the provider did not say why' } = reboot;
  if (answer === 'Accepted')
    return {
      status: 'True',
      reason: 'Rebooted',
      message: `The provider has restarted ${server}, as asked at ${value}`,
    };
  if (answer === 'Refused') return failed(`The provider did not restart ${server}: ${said}`);
  if (answer === 'Skipped') return failed(`The operator did not restart ${server}, because the server was off`);
  return failed(
    `The operator asked the provider to restart ${server} and has no answer: the server may have restarted. The operator ` +
      'does not ask again',
  );
}
