/** What becomes of the server of an object that is being deleted. */
import { orphanMessage } from '../inputs.ts';
import type { Action } from '../types.ts';
import { notYetOrGone, park, type OwnView, type View } from '../view.ts';

/** No credentials are needed where nothing was created. */
export function nothingIsOwed({ own, record, adoption }: View): Action | undefined {
  if (record.kind === 'missing' && adoption !== undefined) return undefined;
  if (own?.orphans !== undefined) return park('OrphanedServer', orphanMessage(own));
  return { type: 'release', why: 'nothingCreated', record: own };
}

/** What is left behind has to have a name: until then the order is followed, or waits for a word about its outcome. */
export function serverIsRetained({ own, object }: OwnView): Action | undefined {
  if (object.spec.deletionPolicy !== 'Retain' || own.identifier === undefined) return undefined;
  return { type: 'release', why: 'retained', record: own };
}

export function serverIsProtected({ object }: View): Action | undefined {
  if (!object.spec.deletionProtection) return undefined;
  return park(
    'DeletionProtected',
    'spec.deletionProtection is true: the server is not cancelled. Set it to false to cancel the server, ' +
      'or set deletionPolicy: Retain to let the object go without its server',
  );
}

export function serverIsToBeCancelled(view: OwnView): Action | undefined {
  const { own, facts } = view;
  if (own.identifier === undefined) return undefined;
  const isCancelled = facts.memo.cancelled === own.identifier;
  if (isCancelled || facts.memo.gone === own.identifier) {
    // Its own server is no more: nothing of it is to be kept.
    if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage({ orphans: own.orphans }));
    return { type: 'release', why: isCancelled ? 'cancelled' : 'gone', record: own };
  }
  return cancellation(view, own.identifier);
}

export function cancellation(view: OwnView, identifier: string): Action {
  return notYetOrGone(view, 'deleteServer') ?? { type: 'deleteServer', record: view.own, identifier };
}
