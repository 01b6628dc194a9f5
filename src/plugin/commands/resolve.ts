/** `kubectl vps resolve` and `kubectl vps adopt`: the user reports on a server that the operator cannot look up. */
import { identifierProblem } from '../../api/identifier.ts';
import { ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { ClusterView } from '../cluster/cluster.ts';
import { agreed, print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import {
  heldServer,
  holding,
  orderOf,
  recordOf,
  unreadable,
  unseenServer,
  type OrderState,
} from '../state/recorded-order.ts';
import { inWords, verdict } from '../state/readiness.ts';
import { clean } from '../terminal/terminal.ts';
import { requestText } from '../state/requested.ts';

/** Also removes the annotation `adopt`, or the operator would still adopt the server that it names. */
export async function resolveNotCreated(context: Context, name: string, yes: boolean): Promise<void> {
  const { cluster } = context;
  const object = await cluster.get(name);
  const { attempt } = requireOpenOrder(object, context);
  tell(context, known(object));
  const named = object.metadata.annotations?.[ADOPT_ANNOTATION];
  const removal = named === undefined ? '' : ` This also removes the annotation ${ADOPT_ANNOTATION}=${clean(named)}.`;
  const consequence = isDeleting(object) ? 'The object is then removed.' : 'The operator then orders the server again.';
  const question = `Did you check with the provider that this order created no server? ${consequence}${removal}`;
  if (!yes && !(await agreed(context, question))) throw unchanged();
  await cluster.annotate(object, {
    [NOT_CREATED_ANNOTATION]: attempt,
    ...(named !== undefined && { [ADOPT_ANNOTATION]: null }),
  });
  print(context, [`attempt ${clean(attempt)} is marked as not created`, howToFollow(object, cluster.where)]);
}

/** `resolve --adopt`: like adopt, for an order with an outcome that only the user can find out. */
export async function resolveAdopt(context: Context, name: string, identifier: string, yes: boolean): Promise<void> {
  requireIdentifier(identifier);
  const object = await context.cluster.get(name);
  requireOpenOrder(object, context);
  await take(context, object, identifier, yes);
}

/** `resolve --gone`: the server that the object holds no longer exists. */
export async function resolveGone(context: Context, name: string, yes: boolean): Promise<void> {
  const { cluster } = context;
  const object = await cluster.get(name);
  const identifier = unseenServer(object);
  if (identifier === undefined) throw notToBeGone(object, context);
  tell(context, known(object));
  const consequence = isDeleting(object) ? 'The object is then removed.' : 'The operator does not order another one.';
  const question =
    `Did you check with the provider that server ${clean(identifier)} is gone? ${consequence} ` +
    'A server that still exists keeps costing money.';
  if (!yes && !(await agreed(context, question))) throw unchanged();
  await cluster.annotate(object, { [SERVER_GONE_ANNOTATION]: identifier });
  print(context, [`server ${clean(identifier)} is marked as gone`, howToFollow(object, cluster.where)]);
}

export async function adoptServer(context: Context, name: string, identifier: string, yes: boolean): Promise<void> {
  requireIdentifier(identifier);
  const object = await context.cluster.get(name);
  // Adopting drops the order: if the order still completed, its server would belong to no object.
  if (orderOf(object, context.now()).kind === 'notYet') requireOpenOrder(object, context);
  await take(context, object, identifier, yes);
}

/** Throws CommandError for an identifier that the operator would report as AdoptInvalid. */
export function requireIdentifier(identifier: string): void {
  const problem = identifierProblem(identifier);
  if (problem !== undefined) throw new CommandError(EXIT.usage, problem);
}

export async function take(context: Context, object: VirtualServer, identifier: string, yes: boolean): Promise<void> {
  const { cluster } = context;
  const { name } = object.metadata;
  const held = holding(object);
  if (held !== undefined) {
    const already = `${name} already ${clean(held)}`;
    if (heldServer(object) === identifier) {
      print(context, [already]);
      return;
    }
    throw new CommandError(EXIT.failed, `${already}: create another object for another server`, [
      `kubectl vps new OTHER-NAME --adopt IDENTIFIER${cluster.where}`,
    ]);
  }
  tell(context, known(object));
  const question = `Does server ${clean(identifier)} belong to ${name}? ${fateOf(object)}`;
  if (!yes && !(await agreed(context, question))) throw unchanged();
  await annotateAdopt(cluster, object, identifier);
  print(context, [`${name} adopts ${clean(identifier)}`, howToFollow(object, cluster.where)]);
}

/** Rejects with CommandError if the object changed after it was shown. */
export async function annotateAdopt(cluster: ClusterView, object: VirtualServer, identifier: string): Promise<void> {
  const { annotations = {} } = object.metadata;
  await cluster.annotate(object, {
    [ADOPT_ANNOTATION]: identifier,
    // If the user resolves an order twice, the later answer counts.
    ...(annotations[NOT_CREATED_ANNOTATION] !== undefined && { [NOT_CREATED_ANNOTATION]: null }),
  });
}

/** Throws CommandError if no order waits for the user, or none does yet. */
export function requireOpenOrder(
  object: VirtualServer,
  { cluster, now }: Context,
): Extract<OrderState, { kind: 'open' }> {
  const { name } = object.metadata;
  const order = orderOf(object, now());
  if (order.kind === 'open') return order;
  if (order.kind === 'notYet') {
    throw new CommandError(EXIT.failed, `not yet: ${order.why}`, [`kubectl vps wait ${name}${cluster.where}`]);
  }
  const held = holding(object);
  const holds = held === undefined ? '' : ` and ${clean(held)}`;
  const gone = `kubectl vps resolve ${name}${cluster.where} --gone   # you checked: the server no longer exists`;
  throw new CommandError(EXIT.failed, `nothing to resolve: ${name} is ${verdict(object).reason}${holds}`, [
    ...(unseenServer(object) === undefined ? [] : [gone]),
    `kubectl vps status ${name}${cluster.where}`,
  ]);
}

function notToBeGone(object: VirtualServer, { cluster }: Context): CommandError {
  const { name } = object.metadata;
  const { reason } = verdict(object);
  const held = heldServer(object);
  const why =
    held === undefined
      ? (unreadable(object) ??
        `${name} holds no server (${reason}): for an order, pass --not-created or --adopt IDENTIFIER`)
      : `the operator does not report server ${clean(held)} as missing: ${name} is ${reason}`;
  return new CommandError(EXIT.failed, why, [`kubectl vps status ${name}${cluster.where}`]);
}

function isDeleting({ metadata }: VirtualServer): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** What happens to a server that the object adopts. */
function fateOf(object: VirtualServer): string {
  const retained = object.spec.deletionPolicy === 'Retain';
  if (isDeleting(object))
    return `The object is being deleted: the server ${retained ? 'keeps running' : 'is then cancelled'}.`;
  return `It ${retained ? 'keeps running' : 'is cancelled'} when the object is deleted.`;
}

function howToFollow(object: VirtualServer, where: string): string {
  return `follow the progress: kubectl vps wait ${object.metadata.name}${where}${isDeleting(object) ? ' --for deleted' : ''}`;
}

function known(object: VirtualServer): string[] {
  const { metadata, spec } = object;
  const shown = verdict(object);
  const { attempt, attemptedAt, task, identifier } = recordOf(object) ?? {};
  const deleting = isDeleting(object) ? ', being deleted' : '';
  const rows: [string, string | number | undefined][] = [
    ['requested', requestText(spec)],
    ['attempt', attempt],
    ['started at', attemptedAt && `${attemptedAt}: look for a server created around that time`],
    ['task', task],
    ['server', identifier],
  ];
  return [
    clean(`${metadata.name} in ${metadata.namespace}${deleting}: ${shown.reason}. ${inWords(shown)}`),
    // Text of other users must not steer the terminal.
    ...rows.flatMap(([label, value]) => (value === undefined ? [] : `  ${label.padEnd(11)} ${clean(String(value))}`)),
  ];
}

export function unchanged(): CommandError {
  return new CommandError(EXIT.failed, 'nothing was changed');
}
