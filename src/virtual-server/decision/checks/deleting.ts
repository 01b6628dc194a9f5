/** Checks for an object that is being deleted. */
import type { ServerRecord } from '../../../api/record.ts';
import { holdsSomething } from '../record.ts';
import { orphanMessage } from '../inputs.ts';
import type { Action } from '../types.ts';
import { goneByWordAlone, notDue, park, withoutCredentials, type View } from '../view.ts';

/** Somebody else's finalizer keeps the object: nothing is owed any more. */
export function finalizerIsGone({ deleting, finalizer }: View): Action | undefined {
  return deleting && !finalizer ? { type: 'wait' } : undefined;
}

/** No credentials are needed where nothing was created. */
export function nothingIsOwed({ deleting, own, record, adoption }: View): Action | undefined {
  if (!deleting || (record.kind === 'missing' && adoption !== undefined)) return undefined;
  if (own !== undefined && holdsSomething(own)) return undefined;
  if (own?.orphans !== undefined) {
    return park('OrphanedServer', orphanMessage(own));
  }
  return { type: 'release', why: 'nothingCreated', record: own };
}

/** What is left behind has to have a name: until then the order is followed, or waits for a word about its outcome. */
export function serverIsRetained({ deleting, own, object }: View): Action | undefined {
  if (!deleting || object.spec.deletionPolicy !== 'Retain' || own?.identifier === undefined) return undefined;
  return { type: 'release', why: 'retained', record: own };
}

export function serverIsProtected({ deleting, object }: View): Action | undefined {
  if (!deleting || !object.spec.deletionProtection) return undefined;
  return park(
    'DeletionProtected',
    'spec.deletionProtection is true: the server is not cancelled. Set it to false to cancel the server, ' +
      'or set deletionPolicy: Retain to let the object go without its server',
  );
}

export function serverIsToBeCancelled(view: View): Action | undefined {
  const { deleting, own, facts } = view;
  if (!deleting || own?.identifier === undefined) return undefined;
  const isCancelled = facts.memo.cancelled === own.identifier;
  if (isCancelled || facts.memo.gone === own.identifier) {
    // Its own server is no more: nothing of it is to be kept.
    if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage({ orphans: own.orphans }));
    return { type: 'release', why: isCancelled ? 'cancelled' : 'gone', record: own };
  }
  return cancellation(view, own, own.identifier);
}

export function cancellation(view: View, own: ServerRecord, identifier: string): Action {
  const first = notDue(view, 'deleteServer') ?? withoutCredentials(view, 'deleteServer');
  if (first !== undefined) return goneByWordAlone(view, own, first) ?? first;
  return { type: 'deleteServer', record: own, identifier };
}
