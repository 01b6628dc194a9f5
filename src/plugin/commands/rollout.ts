/** `kubectl vps rollout`: shows, stops, continues and lists the rollouts of a set, as `kubectl rollout` does. */
import { SET_SINGULAR } from '../../api/names.ts';
import { RESTARTED_AT, type VirtualServerSet } from '../../api/virtual-server-set.ts';
import { timestamp } from '../../base/duration.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { followGoal, givenUp } from '../screens/follow.ts';
import { inWords, setReadiness } from '../state/readiness.ts';
import { isTemplate, type Revision } from '../state/revisions.ts';
import { isComplete, rolloutLine } from '../screens/set-progress.ts';
import { stuckSet } from '../screens/stuck.ts';
import { columns, data } from '../terminal/table.ts';
import { diskText, furtherTexts } from '../state/requested.ts';

export interface RolloutStatusOptions {
  watch: boolean;
  /** Infinity: no limit. */
  timeoutMs: number;
}

/** Resolves when the rollout is finished; without `watch`, at once. Throws CommandError if it cannot finish. */
export async function rolloutStatus(context: Context, name: string, options: RolloutStatusOptions): Promise<void> {
  const { cluster } = context;
  const done = `${SET_SINGULAR} "${name}" successfully rolled out`;
  const look = async (signal?: AbortSignal): Promise<VirtualServerSet> =>
    requireRollout(await cluster.getSet(name, signal), cluster.where);
  if (!options.watch) {
    const set = await look();
    const stuck = isComplete(set) ? undefined : stuckSet(set, cluster.where);
    if (stuck !== undefined) throw givenUp(stuck);
    print(context, [isComplete(set) ? done : rolloutLine(set)]);
    return;
  }
  const goal = {
    name,
    look,
    isReached: (set: VirtualServerSet) => Promise.resolve(isComplete(set)),
    progress: (set: VirtualServerSet) => (isComplete(set) ? undefined : rolloutLine(set)),
    stuck: (set: VirtualServerSet) => stuckSet(set, cluster.where),
  };
  await followGoal(context, goal, options.timeoutMs);
  print(context, [done]);
}

function requireRollout(set: VirtualServerSet, where: string): VirtualServerSet {
  const { name } = requireAlive(set).metadata;
  if (set.spec.strategy.type === 'RollingUpdate') return set;
  throw new CommandError(
    EXIT.failed,
    `rollout status requires the strategy RollingUpdate: with OnDelete, you delete the members of ${name} yourself`,
    [`kubectl vps status set/${name}${where}   # shows which members are not updated`],
  );
}

/** Throws CommandError for a set that is being deleted, because it changes no member anymore. */
export function requireAlive(set: VirtualServerSet): VirtualServerSet {
  if (set.metadata.deletionTimestamp === undefined) return set;
  throw new CommandError(EXIT.failed, `${set.metadata.name} is being deleted`);
}

/**
 * Lets the set replace all members with new servers of the same template, as the user: with the annotation of `kubectl rollout restart`.
 * Throws CommandError if the set would order servers and then delete no member. `now`: ms since the epoch.
 */
export async function restart({ cluster, now, ...context }: Context, name: string): Promise<void> {
  const set = requireAlive(await cluster.getSet(name));
  const { paused, template } = set.spec;
  const fail = (why: string, hint: string): CommandError => new CommandError(EXIT.failed, `${name} ${why}`, [hint]);
  if (paused) throw fail('is paused', `kubectl vps rollout resume ${name}${cluster.where}`);
  if (template.spec.deletionProtection)
    throw fail('is protected, and would delete no member', `kubectl vps unprotect set/${name}${cluster.where}`);
  if (template.spec.deletionPolicy === 'Retain')
    throw fail('keeps the servers of its members (Retain)', `kubectl edit vpsset ${name}${cluster.where}`);
  const metadata = { annotations: { [RESTARTED_AT]: timestamp(now()) } };
  await cluster.changeSpec(set, { template: { metadata } });
  const isRolling = set.spec.strategy.type === 'RollingUpdate';
  const what = `set/${name} is restarted${isRolling ? ': it replaces all its members' : ''}`;
  print(context, [what, ...nextOf(set, cluster.where)]);
}

/** What happens after a change of the template. */
export function nextOf({ metadata: { name }, spec }: VirtualServerSet, where: string): string[] {
  if (spec.paused) return [`it is paused. To start the rollout: kubectl vps rollout resume ${name}${where}`];
  return spec.strategy.type === 'OnDelete'
    ? [
        `its strategy is OnDelete: delete a member to replace it. To list the members: kubectl vps status set/${name}${where}`,
      ]
    : [`follow the progress: kubectl vps rollout status ${name}${where}`];
}

const HEADER = ['REVISION', 'PRODUCT', 'IMAGE', 'DISK', 'SSH KEYS', 'SSH SECRETS', 'FURTHER', 'NOTE'];
/** Few sets order more than all sets do. */
const FURTHER = HEADER.indexOf('FURTHER');

/** The newest revision first. */
export async function rolloutHistory(context: Context, name: string): Promise<void> {
  const { cluster, format, terminal } = context;
  const set = await cluster.getSet(name);
  const { revisions = [] } = set.status ?? {};
  if (format !== 'table') return void terminal.out.write(data(revisions, format));
  if (revisions.length === 0) {
    tell(context, [`${name} has no history: ${inWords(setReadiness(set))}`]);
    return;
  }
  const rows = revisions.map((revision) => row(set, revision));
  const hasFurther = rows.some((cells) => cells[FURTHER] !== '');
  const shown = (cells: string[]): string[] => cells.filter((_, index) => hasFurther || index !== FURTHER);
  print(context, columns(shown(HEADER), rows.map(shown)));
}

function row(set: VirtualServerSet, revision: Revision): string[] {
  const { product, image, sshKeys = [], sshKeysFrom = [] } = revision.spec;
  const { currentRevision, updateRevision } = set.status ?? {};
  const isReplaced = currentRevision !== updateRevision && revision.revision === currentRevision;
  const note = isTemplate(set, revision) ? 'template' : isReplaced ? 'being replaced' : '';
  return [
    revision.revision,
    product,
    image,
    diskText(revision.spec),
    String(sshKeys.length),
    sshKeysFrom.map((from) => from.name).join(', '),
    furtherTexts(revision.spec).join(', '),
    note,
  ];
}
