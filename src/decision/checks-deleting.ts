/** Checks for an object that is being deleted. */
import type { ServerRecord } from '../api/record.ts';
import { isSameAccount } from './account.ts';
import { holdsSomething } from './record.ts';
import { orphanMessage } from './inputs.ts';
import type { Action } from './types.ts';
import { currentReason } from './verdict.ts';
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
    if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage(own));
    return { type: 'release', why: isCancelled ? 'cancelled' : 'gone', record: own };
  }
  return cancellation(view, own, own.identifier);
}

/**
 * The DELETE, or the look at the server that has to come first: under another account, after a denial, and for a server
 * that had counted as gone or was not recognized, the identifier alone does not say whose server it is.
 */
export function cancellation(view: View, own: ServerRecord, identifier: string): Action {
  const { object, facts } = view;
  const { memo, credentials } = facts;
  const wait = notDue(view, 'deleteServer') ?? withoutCredentials(view, 'deleteServer');
  if (wait !== undefined) return wait;
  const account = credentials?.ok === true ? credentials.account : undefined;
  // What an earlier process did not recognize; this one has not read the server yet.
  const isUnproven =
    currentReason(object.status?.conditions) === 'IdentityUnproven' && memo.taskComplete !== identifier;
  const isDoubtful =
    memo.denials !== undefined ||
    memo.unrecognized === identifier ||
    isUnproven ||
    own.missingAt !== undefined ||
    (own.account !== undefined && !isSameAccount(own.account, account));
  if (!isDoubtful) return { type: 'deleteServer', record: own, identifier };
  return notDue(view, 'readServer') ?? { type: 'readServer', record: own, identifier };
}
