/** `kubectl vps resolve` and `kubectl vps adopt`: a person's word on a server that the operator cannot find out about. */
import { ADOPT_ANNOTATION } from '../../../api/names.ts';
import { MAX_IDENTIFIER, type ServerRecord } from '../../../api/record.ts';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import { agreed, print, tell, type Context } from '../context.ts';
import { CommandError, EXIT } from '../failure.ts';
import { notCreated, recordOf } from '../next-steps.ts';
import { readiness } from '../readiness.ts';
import { clean } from '../terminal.ts';

/** Only here does the operator obey `not-created`. */
const UNDECIDED = ['CreateOutcomeUnknown', 'TaskNotFound'];
/** The server that was named for an order will not do: another one may be. */
const MISNAMED = ['AdoptInvalid', 'IdentifierInUse', 'ServerNotVisible'];

export async function resolveNotCreated(context: Context, name: string, yes: boolean): Promise<void> {
  const { cluster } = context;
  const object = await cluster.get(name);
  const record = recordOf(object);
  const attempt = undecidedAttempt(object, record, cluster.where);
  tell(context, known(object, record));
  const consequence = isDeleting(object) ? 'The object goes.' : 'The server is ordered again.';
  const question = `Did you look at the service, and is there no server of this order? ${consequence}`;
  if (!yes && !(await agreed(context, question))) throw unchanged();
  await cluster.annotate(object, notCreated(attempt));
  print(context, [`attempt ${clean(attempt)} is marked as not created`, howToFollow(object, cluster.where)]);
}

/** `resolve --adopt`: as adopt, for an order whose answer was lost. */
export async function resolveAdopt(context: Context, name: string, identifier: string, yes: boolean): Promise<void> {
  requireIdentifier(identifier);
  const object = await context.cluster.get(name);
  undecidedAttempt(object, recordOf(object), context.cluster.where);
  await take(context, object, identifier, yes);
}

export async function adopt(context: Context, name: string, identifier: string, yes: boolean): Promise<void> {
  requireIdentifier(identifier);
  const object = await context.cluster.get(name);
  const record = recordOf(object);
  // Whoever adopts leaves the order behind: one that is under way would become a server of no object.
  if (isOrdered(object, record) && !isMisnamed(object, record)) {
    undecidedAttempt(object, record, context.cluster.where);
  }
  await take(context, object, identifier, yes);
}

/** Throws CommandError for what the operator would call AdoptInvalid. */
export function requireIdentifier(identifier: string): void {
  if (/^[\x21-\x7e]+$/.test(identifier) && identifier.length <= MAX_IDENTIFIER) return;
  throw new CommandError(EXIT.usage, `an identifier has 1 to ${MAX_IDENTIFIER} visible ASCII characters, no blanks`);
}

async function take(context: Context, object: VirtualServer, identifier: string, yes: boolean): Promise<void> {
  const { cluster } = context;
  const { name } = object.metadata;
  const record = recordOf(object);
  const held = record?.owner === object.metadata.uid ? record.identifier : undefined;
  if (held === identifier) {
    print(context, [`${name} holds ${clean(identifier)} already`]);
    return;
  }
  if (held !== undefined) {
    throw new CommandError(EXIT.failed, `${name} holds server ${clean(held)}: another one needs an object of its own`, [
      `kubectl vps new OTHER-NAME --adopt <identifier>${cluster.where}`,
    ]);
  }
  tell(context, known(object, record));
  const question = `Does server ${clean(identifier)} belong to ${name}? ${fateOf(object)}`;
  if (!yes && !(await agreed(context, question))) throw unchanged();
  await cluster.annotate(object, { [ADOPT_ANNOTATION]: identifier });
  print(context, [`${name} adopts ${clean(identifier)}`, howToFollow(object, cluster.where)]);
}

/** Whether an order of this very object was sent, or may have been, and no server is known yet. */
function isOrdered({ metadata }: VirtualServer, record: ServerRecord | undefined): boolean {
  const { owner, attempt, task, identifier } = record ?? {};
  return owner === metadata.uid && identifier === undefined && (attempt !== undefined || task !== undefined);
}

/** Whether a server was named for a lost order already, and has not been taken over: another one may be named. */
function isMisnamed(object: VirtualServer, record: ServerRecord | undefined): boolean {
  const { reason } = readiness(object);
  if (MISNAMED.includes(reason)) return true;
  const isLost = record?.task === undefined && reason !== 'CreateInFlight';
  return isLost && object.metadata.annotations?.[ADOPT_ANNOTATION] !== undefined;
}

/** The attempt that is to be named. Throws where the operator would not obey, or not yet. */
function undecidedAttempt(object: VirtualServer, record: ServerRecord | undefined, where: string): string {
  const { name } = object.metadata;
  const { reason, message } = readiness(object);
  const attempt = UNDECIDED.includes(reason) ? record?.attempt : undefined;
  if (reason === 'CreateInFlight') throw notYet(object, message, where);
  if (attempt === undefined) {
    throw new CommandError(EXIT.failed, `there is nothing to resolve: ${name} is ${reason}`, [
      `kubectl vps status ${name}${where}`,
    ]);
  }
  // The annotation is written before the status: until that follows, its reason speaks of an earlier attempt.
  if (object.status?.record?.attempt !== attempt) {
    throw notYet(object, `${reason} speaks of another attempt than ${attempt}: try again in a moment`, where);
  }
  return attempt;
}

function notYet({ metadata }: VirtualServer, why: string, where: string): CommandError {
  return new CommandError(EXIT.failed, `not yet: ${why}`, [`kubectl vps wait ${metadata.name}${where}`]);
}

function isDeleting({ metadata }: VirtualServer): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** What becomes of a server that the object takes over. */
function fateOf(object: VirtualServer): string {
  const retained = object.spec.deletionPolicy === 'Retain';
  if (isDeleting(object))
    return `The object is being deleted: the server ${retained ? 'lives on' : 'is then cancelled'}.`;
  return `It ${retained ? 'lives on' : 'is cancelled'} when the object is deleted.`;
}

function howToFollow(object: VirtualServer, where: string): string {
  return `follow it: kubectl vps wait ${object.metadata.name}${where}${isDeleting(object) ? ' --for deleted' : ''}`;
}

function known(object: VirtualServer, record: ServerRecord | undefined): string[] {
  const { metadata, spec } = object;
  const { reason, message } = readiness(object);
  const { attempt, attemptedAt, task } = record ?? {};
  const deleting = isDeleting(object) ? ', being deleted' : '';
  const rows: [string, string | number | undefined][] = [
    ['asked for', `${spec.product}, ${spec.image}, disk ${spec.diskSize}`],
    ['attempt', attempt],
    ['claimed at', attemptedAt && `${attemptedAt}: look for a server of that minute`],
    ['task', task],
  ];
  return [
    clean(`${metadata.name} in ${metadata.namespace}${deleting}: ${reason}. ${message}`),
    // Whoever wrote the spec must not steer the terminal of the one who decides.
    ...rows.flatMap(([label, value]) => (value === undefined ? [] : `  ${label.padEnd(11)} ${clean(String(value))}`)),
  ];
}

function unchanged(): CommandError {
  return new CommandError(EXIT.failed, 'nothing was changed');
}
