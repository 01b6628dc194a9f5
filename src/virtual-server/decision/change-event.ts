/** The Event at the end of a change in place, which no condition tells: ChangePending is removed. Pure. */
import { mirrorIn, type ServerRecord } from '../../api/record.ts';
import type { VirtualServerStatus } from '../../api/virtual-server.ts';
import { eventOf, type EventNote } from '../../controller/conditions.ts';
import { fieldsOf, readable } from './change-fields.ts';
import { priceText } from './price.ts';

/** `before`: the record before the read. Undefined unless the operator has sent a change that the server now shows, or that is no longer wanted. */
export function changedEvent(before: ServerRecord | undefined, after: VirtualServerStatus): EventNote | undefined {
  const { change: sent = '', acceptedAt, refused } = before?.change ?? {};
  // Nearly every visit ends here, and the mirror is parsed after that only.
  if (acceptedAt === undefined || refused !== undefined) return undefined;
  const record = mirrorIn(after);
  const isHeld = record?.identifier !== undefined && (record.missingAt ?? record.expiredAt) === undefined;
  if (!isHeld || record.change !== undefined) return undefined;
  const { identifier = '', product, specs, price } = after;
  const shown = [
    ...(product === undefined ? [] : [`product ${product}`]),
    ...(specs?.diskSize === undefined ? [] : [`diskSize ${specs.diskSize}`]),
    ...(price === undefined ? [] : [`price ${priceText(price)}`]),
  ].join(', ');
  const fields = [...(fieldsOf(sent) ?? [])]
    .map(([field, value]) => `${field} ${readable(value) ?? ''}`.trimEnd())
    .join(', ');
  const which = fields === '' ? '' : ` (${fields})`;
  const message = `The change of server ${identifier}${which} has ended${shown === '' ? '' : `. The provider shows ${shown}`}`;
  return eventOf({ reason: 'ServerChanged', message });
}
