/** Checks for an object that is being deleted. */
import { holdsSomething } from './record.ts';
import { orphanMessage } from './inputs.ts';
import type { Action } from './types.ts';
import { notDue, park, withoutCredentials, type View } from './view.ts';

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

/** With `Retain` only a task whose identifier is not known yet is followed, so that what is left behind has a name. */
export function serverIsRetained({ deleting, own, object }: View): Action | undefined {
  if (!deleting || object.spec.deletionPolicy !== 'Retain' || own === undefined) return undefined;
  if (own.identifier === undefined && own.task !== undefined) return undefined;
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
  if (facts.memo.cancelled === own.identifier) {
    if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage(own));
    return { type: 'release', why: 'cancelled', record: own };
  }
  return (
    notDue(view, 'deleteServer') ??
    withoutCredentials(view, 'deleteServer') ?? { type: 'deleteServer', record: own, identifier: own.identifier }
  );
}
