/** Removes the finalizer: the server is cancelled, gone, or retained, or there was none. */
import type { Reason } from '../../api/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import { capitalized, ended } from '../../base/text.ts';
import { eventOf, type EventNote } from '../../controller/conditions.ts';
import { compose } from '../decision/compose.ts';
import { orphanMessage } from '../decision/inputs.ts';
import { wasRequested } from '../decision/memo.ts';
import { NOW, ON_CHANGE } from '../decision/next.ts';
import { goOn } from '../decision/outcome.ts';
import { withOrphaned } from '../decision/known-record.ts';
import type { Outcome, Operation } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { lookForFailed } from './reads.ts';

type Release = Extract<Operation, { type: 'release' }>;

export async function release(visit: Visit, operation: Release): Promise<Outcome> {
  const { why, record } = operation;
  const orphaned = why === 'handedOver' ? undefined : await orphanedAtEnd(visit, record);
  if (orphaned !== undefined) return orphaned;
  const { connections, objects } = visit.services;
  const isGone = why === 'cancelled' || why === 'gone';
  const secret = `the connection Secret ${visit.object.spec.connectionSecretName ?? ''}`;
  const events: EventNote[] = [];
  try {
    const why = await connections.letGo(visit.object, isGone);
    if (why !== undefined) events.push(eventOf({ reason: 'ConnectionSecretFailed', message: leftBehind(secret, why) }));
  } catch (error) {
    const what = `update ${secret}`;
    await visit.tellRefused('release', { what, next: released(visit.view(), operation), error }, 'secret');
    throw error;
  }
  // A server that is gone does not count towards the limit of the namespace.
  const left = why === 'retained' && record?.missingAt === undefined ? record?.identifier : undefined;
  objects.released(visit.object.metadata.uid, left);
  const next = released(visit.view(), operation);
  return { ...next, events: [...events, ...next.events] };
}

const leftBehind = (secret: string, why: string): string =>
  `${capitalized(secret)} could not be updated when its object was released: ${ended(why)} Delete the Secret if you need it no longer`;

/**
 * Reports the server of a failed order that has appeared, whichever object it may belong to. The object then stays until you have
 * handled it, unless its own server is retained. If the call fails, the object goes: the absence was proven before.
 */
async function orphanedAtEnd(visit: Visit, record: ServerRecord | undefined): Promise<Outcome | undefined> {
  if (record?.failed === undefined || record.owner !== visit.object.metadata.uid) return undefined;
  const key = await visit.key(visit.view());
  if (!key.ok) return undefined;
  const { appeared } = await lookForFailed(visit, record.failed, key.value.session);
  const next = appeared === undefined ? record : withOrphaned(record, appeared.order);
  if (next === record) return undefined;
  const { object, memo, now } = visit.view();
  return { ...goOn(memo, { record: next }), status: compose(object, { record: next }, now) };
}

/** The last Events of the object. Pure. */
export function released({ object, memo }: View, operation: Release): Outcome {
  const { record, why } = operation;
  const unwritten = unwrittenOf(operation);
  // If another finalizer keeps the object, its status must not describe the server any longer.
  const when = (object.metadata.finalizers?.length ?? 0) > 1 ? NOW : ON_CHANGE;
  const next: Outcome = { record: null, unwritten, memo, events: [], when };
  const tell = (reason: Reason, message: string): Outcome => ({ ...next, events: [eventOf({ reason, message })] });
  const server = record?.identifier ?? '';
  if (why === 'nothingCreated' || why === 'foreign') return next;
  if (why === 'handedOver') return tell('ServerHandedOver', `Object ${operation.taker} now holds server ${server}`);
  // A DELETE whose answer was lost explains why the server is gone.
  const isExplained = record?.identifier !== undefined && wasRequested(memo, record.identifier);
  if (why === 'cancelled' || (why === 'gone' && isExplained))
    return tell('ServerCancelled', `Server ${server} was cancelled`);
  if (why === 'gone') {
    return tell(
      'ServerGone',
      `Server ${server} no longer exists at the provider, and this process did not cancel it. If you did not cancel it ` +
        "elsewhere, look for it in the provider's control panel",
    );
  }
  const orphaned = record?.orphans === undefined ? '' : `. ${orphanMessage(record)}`;
  return tell(
    'RetainedServer',
    `Server ${server} keeps running and costs money, because spec.deletionPolicy is Retain. To cancel the server, use the ` +
      `provider's control panel. To let the operator manage it again, create an object that adopts it${orphaned}`,
  );
}

/** What is the case while the finalizer may not be removed. */
function unwrittenOf(operation: Release): NonNullable<Outcome['unwritten']> {
  const { why, record } = operation;
  const server = record?.identifier ?? '';
  switch (why) {
    case 'cancelled':
      return { says: `Server ${server} was cancelled, and only this object is left`, isOver: true };
    case 'gone':
      return { says: `Server ${server} no longer exists at the provider, and only this object is left`, isOver: true };
    case 'retained':
      return { says: `Server ${server} keeps running and costs money, because spec.deletionPolicy is Retain` };
    case 'handedOver':
      return { says: `Object ${operation.taker} now holds server ${server}` };
    case 'nothingCreated':
    case 'foreign':
      return { says: 'This object holds no server' };
  }
}
