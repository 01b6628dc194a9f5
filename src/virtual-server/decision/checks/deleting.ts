/** What happens to the server of an object that is being deleted. */
import { orphanMessage } from '../inputs.ts';
import { endOf, isGone } from '../memo.ts';
import type { Operation } from '../types.ts';
import { notDue, park, type OwnView, type View } from '../view.ts';
import { protectedMessage } from '../words.ts';

/** If nothing was created, no credentials are needed. */
export function nothingIsOwed({ own, object, record, adoption }: View): Operation | undefined {
  if (record.kind === 'missing' && adoption !== undefined) return undefined;
  if (own?.orphans !== undefined) return park('OrphanedServer', orphanMessage(object, own));
  return { type: 'release', why: 'nothingCreated', record: own };
}

/**
 * A retained server must have an identifier. Until then the operator follows the order, or waits until you resolve its
 * outcome.
 */
export function serverIsRetained({ own, object }: OwnView): Operation | undefined {
  if (object.spec.deletionPolicy !== 'Retain' || own.identifier === undefined) return undefined;
  return { type: 'release', why: 'retained', record: own };
}

/** The protection is about the cancellation. A server that will be retained needs none, even if it is still unknown. */
export function serverIsProtected({ object }: View): Operation | undefined {
  if (!object.spec.deletionProtection || object.spec.deletionPolicy === 'Retain') return undefined;
  return park('DeletionProtected', protectedMessage(object));
}

export function serverIsToBeCancelled(view: OwnView): Operation | undefined {
  const { own, facts } = view;
  if (own.identifier === undefined) return undefined;
  if (isGone(facts.memo, own.identifier)) {
    // The object's own server no longer exists, so the message must not advise to keep it.
    if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage(view.object, { orphans: own.orphans }));
    return {
      type: 'release',
      why: endOf(facts.memo, own.identifier)?.state === 'confirmed' ? 'cancelled' : 'gone',
      record: own,
    };
  }
  return notDue(view, 'cancel') ?? { type: 'cancel', record: own, identifier: own.identifier };
}
