/**
 * `kubectl vps undelete` and `cancel`: take the deletion of a server back, or have it cancelled. All state is in the objects,
 * so the same command continues after an interruption at any point.
 */
import { API_VERSION, CANCEL_NOW_ANNOTATION, HAND_OVER_ANNOTATION, SERVER_PLURAL } from '../../api/names.ts';
import { isPaused } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { expiring } from '../../virtual-server/decision/expiry.ts';
import { knownRecord } from '../../virtual-server/decision/known-record.ts';
import { requireName } from '../cluster/cluster.ts';
import { agreed, print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT, MovedError, TerminatingError, TransientError } from '../terminal/failure.ts';
import { followGoal } from '../screens/follow.ts';
import { heldServer, mayHold } from '../state/recorded-order.ts';
import { progressLine } from '../screens/progress.ts';
import { applierOf } from '../decisions/replacement.ts';
import { setArgument, setOf } from '../state/set-members.ts';
import { stuckServer } from '../screens/stuck.ts';
import { clean } from '../terminal/terminal.ts';
import { naming, nextStep, type UndeletionStep } from '../decisions/undeletion.ts';

export interface UndeleteOptions {
  /** Name of the new object; default: the same. */
  name?: string | undefined;
  /** For each of the waits. */
  timeoutMs: number;
}

/** No undeletion needs more steps than this, unless others change the objects all the time. */
const MAX_STEPS = 32;
/** How often the command tries to restore who owns the fields: another client may change the object between. */
const MAX_GIVES = 5;

/** Throws CommandError if the server cannot be taken back, or if the operator gets stuck. */
export async function undelete(context: Context, name: string, options: UndeleteOptions): Promise<void> {
  const { cluster } = context;
  requireName(name);
  if (options.name !== undefined) requireName(options.name);
  if (options.name === name)
    throw new CommandError(EXIT.usage, `--name ${name}: without --name, the name stays the same`);
  let isTold = false;
  let gives = 0;
  let givesBack = true;
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const step = await look(context, name, options.name, { givesBack });
    if (step === undefined) throw await cluster.noServer(name, 'rollout undo');
    if (step.do === 'end') {
      print(context, [`${step.object.metadata.name} holds server ${clean(heldServer(step.object) ?? '')}`]);
      tell(context, endWarning(step.object, context));
      return;
    }
    if (!isTold) tell(context, ['nothing is ordered or cancelled; after an interruption, run the same command again']);
    isTold = true;
    if (step.do === 'give') {
      gives += 1;
      givesBack = await givenBack(context, step, gives > MAX_GIVES);
    } else await take(context, step, name, { ...options, givesBack });
  }
  throw new CommandError(EXIT.failed, `the objects of ${name} keep changing: run the same command again`);
}

/** The condition Expiring says the same later. */
function endWarning(object: VirtualServer, { cluster, now }: Context): string[] {
  const finding = expiring(object, knownRecord(object), now());
  if (finding === undefined) return [];
  const { name } = object.metadata;
  return [clean(`warning: ${finding.message}`), `  kubectl vps extend ${name}${cluster.where} --ttl DURATION`];
}

async function look(
  { cluster, now }: Context,
  name: string,
  as: string | undefined,
  { signal, givesBack }: { signal?: AbortSignal; givesBack?: boolean } = {},
): Promise<UndeletionStep | undefined> {
  const objects = (await cluster.listOf(SERVER_PLURAL, {}, signal)) as VirtualServer[];
  return nextStep(objects, name, as, { where: cluster.where, now: now(), givesBack });
}

/** False if the API server refuses it, or ignores it: the server counts for more than who owns a field. */
async function givenBack(
  context: Context,
  step: Extract<UndeletionStep, { do: 'give' }>,
  isLast: boolean,
): Promise<boolean> {
  const { name, uid, resourceVersion } = step.object.metadata;
  const metadata = { uid, resourceVersion, managedFields: step.managedFields };
  try {
    if (isLast) throw new CommandError(EXIT.failed, `it was not stored, ${MAX_GIVES} times`);
    await retried(() => context.cluster.changeObject(API_VERSION, SERVER_PLURAL, name, { metadata }));
    return true;
  } catch (error) {
    if (!(error instanceof CommandError) || error instanceof TransientError) throw error;
    tell(context, [
      clean(
        `warning: a field of ${name} that you remove from its manifest may stay, because its owner could not be restored: ${error.message}`,
      ),
    ]);
    return false;
  }
}

async function take(
  context: Context,
  step: Exclude<UndeletionStep, { do: 'end' | 'give' }>,
  name: string,
  options: UndeleteOptions & { givesBack: boolean },
) {
  const { cluster } = context;
  switch (step.do) {
    case 'name': {
      const { object } = step;
      // Found before anything changes: what admission refuses, such as an object in a namespace that is being deleted.
      await creating(context, object, () =>
        cluster.createObject(API_VERSION, SERVER_PLURAL, step.manifest, { dryRun: true }),
      );
      const applier = applierOf(object);
      if (applier !== undefined)
        tell(context, [`${applier} applied ${name}: restore it there as well, or ${applier} may delete it again`]);
      await retried(() => cluster.annotate(object, naming(step.manifest)));
      return;
    }
    case 'create':
      // A GitOps tool may have been faster.
      await retried(() => cluster.createObject(API_VERSION, SERVER_PLURAL, step.manifest));
      return;
    case 'delete':
      tell(
        context,
        step.loses.map((loss) => clean(`warning: ${loss}`)),
      );
      await cluster.deleteVersion(step.object);
      return;
    case 'keep': {
      const { object, changes } = step;
      const { name: kept, uid, resourceVersion } = object.metadata;
      const metadata = { uid, resourceVersion, ...changes.metadata };
      await retried(() => cluster.changeObject(API_VERSION, SERVER_PLURAL, kept, { ...changes, metadata }));
      return;
    }
    case 'wait':
      await untilNext(context, name, step, options);
  }
}

/** A conflict, or an object that is there already: the next look finds what it means. */
async function retried(request: () => Promise<unknown>): Promise<void> {
  try {
    await request();
  } catch (error) {
    if (!(error instanceof MovedError)) throw error;
  }
}

async function creating({ cluster }: Context, old: VirtualServer, request: () => Promise<unknown>): Promise<void> {
  try {
    await request();
  } catch (error) {
    if (!(error instanceof TerminatingError)) throw error;
    const { name, namespace } = old.metadata;
    const spec = '{"spec":{"deletionPolicy":"Retain","ttl":null,"expiresAt":null}}';
    throw new CommandError(
      EXIT.failed,
      `namespace ${namespace} is being deleted, so nothing can be created there: keep the server, and adopt it in another namespace`,
      [
        `kubectl patch vps ${name}${cluster.where} --type merge -p '${spec}'   # server ${clean(heldServer(old) ?? '')} keeps running`,
      ],
    );
  }
}

/** Waits until there is something else to do. */
async function untilNext(
  context: Context,
  name: string,
  first: Extract<UndeletionStep, { do: 'wait' }>,
  { name: as, timeoutMs, givesBack }: UndeleteOptions & { givesBack: boolean },
): Promise<void> {
  const { cluster, now } = context;
  const shownOf = (step: UndeletionStep | undefined): VirtualServer => (step?.do === 'wait' ? step.shown : first.shown);
  const goal = {
    name: as ?? name,
    look: (signal: AbortSignal) => look(context, name, as, { signal, givesBack }),
    isReached: (step: UndeletionStep | undefined) =>
      Promise.resolve(step?.do !== 'wait' || shownOf(step).metadata.uid !== first.shown.metadata.uid),
    progress: (step: UndeletionStep | undefined, isNarrow: boolean) => progressLine(shownOf(step), isNarrow),
    stuck: (step: UndeletionStep | undefined) => stuckServer(shownOf(step), cluster.where, now()),
  };
  await followGoal(context, goal, timeoutMs);
}

export interface CancelOptions {
  /** Do not wait for the end of `spec.deletionDelay`. */
  now: boolean;
  yes: boolean;
}

/** Deletes the object, and ends the delay if asked. Throws CommandError if the operator would not cancel the server. */
export async function deleteAndCancel(context: Context, name: string, { now, yes }: CancelOptions): Promise<void> {
  const { cluster } = context;
  requireName(name);
  const object = await cluster.get(name);
  const { identifier, isDying } = requireCancellable(object, now, cluster.where);
  const { deletionDelay } = object.spec;
  const isLater = deletionDelay !== undefined && !now;
  if (isDying && !now) {
    const at = isLater ? object.status?.cancelsAt : undefined;
    print(context, [`${name} is already being deleted${at === undefined ? '' : `; its server is cancelled at ${at}`}`]);
    return;
  }
  const server =
    identifier === undefined ? 'It holds no known server.' : `Its server ${clean(identifier)} is cancelled`;
  const when = identifier === undefined ? '' : isLater ? ` after ${deletionDelay}.` : ', with all its data.';
  if (!yes && !(await agreed(context, `${isDying ? 'End the delay of' : 'Delete'} ${name}? ${server}${when}`)))
    throw new CommandError(EXIT.failed, `nothing was changed: ${name} keeps its server`);
  if (!isDying && !(await cluster.deleteVersion(object)))
    throw new CommandError(EXIT.failed, `${name} has changed: run the same command again`);
  if (now && deletionDelay !== undefined && identifier !== undefined) await endDelay(context, object, identifier);
  print(context, [
    isLater ? `${name} is deleted; its server is cancelled after ${deletionDelay}` : `${name} is being deleted`,
  ]);
}

/** The annotation follows the deletion: on an object that lives on, it would end the delay of a later deletion. */
async function endDelay({ cluster }: Context, { metadata }: VirtualServer, identifier: string): Promise<void> {
  const seen = await cluster.find(metadata.name);
  if (seen?.metadata.uid === metadata.uid) await cluster.annotateAnyway(seen, { [CANCEL_NOW_ANNOTATION]: identifier });
}

/** Throws CommandError if the operator would not cancel the server, or, with `now`, not before the end of the delay. */
export function requireCancellable(
  object: VirtualServer,
  now: boolean,
  where: string,
): { identifier: string | undefined; isDying: boolean } {
  const { metadata, spec } = object;
  const { name } = metadata;
  const isDying = metadata.deletionTimestamp !== undefined;
  const fail = (why: string, ...hints: string[]): CommandError => new CommandError(EXIT.failed, why, hints);
  const set = setOf(object);
  if (set !== undefined && !isDying) {
    throw fail(
      `${name} is a member of a set, which would create it again`,
      `kubectl vps status ${setArgument(set)}${where}`,
    );
  }
  if (spec.deletionPolicy === 'Retain')
    throw fail(`${name} has deletionPolicy Retain: its server keeps running after the deletion`);
  if (spec.deletionProtection) throw fail(`${name} is protected, and stays`, `kubectl vps unprotect ${name}${where}`);
  if (isPaused(object))
    throw fail(`${name} is paused: the operator would not cancel its server`, `kubectl vps resume ${name}${where}`);
  const taker = metadata.annotations?.[HAND_OVER_ANNOTATION];
  if (taker !== undefined) throw fail(`${name} hands its server over to ${clean(taker)}`);
  const identifier = heldServer(object);
  // The end of a delay names one server, and no server is known yet.
  const isUnknown = identifier === undefined && (isDying || (spec.deletionDelay !== undefined && mayHold(object)));
  if (now && isUnknown)
    throw fail(`not yet: the operator does not know the server of ${name}`, `kubectl vps status ${name}${where}`);
  return { identifier, isDying };
}
