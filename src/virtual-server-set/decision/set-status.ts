/** The status of a set: counts, revisions, conditions, and when they change by time alone. Pure. */
import { hasTrait, type ReadyReason, type SetReason } from '../../api/conditions.ts';
import { SET_LABEL } from '../../api/names.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../../api/virtual-server-set.ts';
import { timestamp } from '../../base/duration.ts';
import { withCondition, withVerdict, type Verdict } from '../../controller/conditions.ts';
import { slotsOf } from './limits.ts';
import { isKeptForNow, troubleOf } from './member.ts';
import { isObstructed, type Situation } from './situation.ts';
import { revisionOf, shortName, withTemplate } from './template.ts';
import * as sentences from './set-sentences.ts';

/** Why an action of the set was not carried out. */
export interface WithheldAction {
  reason: 'MemberRejected' | 'ObserveOnly';
  message: string;
}

/**
 * `completes`: the status says that the set is as its spec wants it, of a spec or of members that it did not show before. A cache may
 * still lack a member that the set has just created: a set that was scaled to zero would say that it has none.
 */
export function statusOf(
  situation: Situation,
  held?: WithheldAction,
): { status: VirtualServerSetStatus; completes: boolean; afterMs?: number } {
  const { set, now, members, alive, updated, outdated, isAvailable, limits, unresolved } = situation;
  const { metadata, spec, status: before } = set;
  const { generation } = metadata;
  const available = alive.filter(isAvailable).length;
  const revisions = withTemplate(set);
  const updateRevision = shortName(revisionOf(spec.template.spec));
  const [earlier] = outdated;
  const former = before?.currentRevision ?? (earlier && (earlier.createdFrom ?? shortName(earlier.revision)));
  const counts = {
    replicas: alive.length,
    terminatingReplicas: members.length - alive.length,
    readyReplicas: alive.filter(({ readyAt }) => readyAt !== undefined).length,
    updatedReplicas: updated.length,
    availableReplicas: available,
    unavailableReplicas: Math.max(0, limits.replicas - available),
    unresolvedReplicas: unresolved.length,
  };
  const progressed = before?.lastProgressTime;
  // Another replica may have written the time by a clock that is ahead.
  const isPast = progressed !== undefined && Date.parse(progressed) <= now;
  const lastProgressTime = hasProgressed(situation, counts) || !isPast ? timestamp(now) : progressed;
  const verdict = verdictOf(situation, held, Date.parse(lastProgressTime));
  const prices = members.flatMap(({ price }) => (price === undefined ? [] : [price]));
  const conditions = withVerdict(before?.conditions ?? [], verdict, generation, now);
  const paused = spec.paused ? { reason: 'Paused' as const, message: sentences.PAUSED } : undefined;
  const status: VirtualServerSetStatus = {
    ...counts,
    currentRevision: outdated.length === 0 || former === undefined ? updateRevision : former,
    updateRevision,
    ...(revisions.length > 0 && { revisions }),
    lastProgressTime,
    selector: `${SET_LABEL}=${metadata.name}`,
    // In cents, or the sum of three tenths would never equal itself.
    ...(prices.length > 0 && { price: Math.round(prices.reduce((sum, price) => sum + price, 0) * 1e4) / 1e4 }),
    observedGeneration: generation,
    conditions: withCondition(conditions, 'Paused', paused, generation, now),
  };
  const afterMs = nextMs(situation, verdict, Date.parse(lastProgressTime));
  const completes = verdict.reason === 'Available' && !hasSameMembers(set, counts);
  return { status, completes, afterMs };
}

type Counts = Record<'replicas' | 'terminatingReplicas' | 'updatedReplicas' | 'availableReplicas', number>;

/** True if the status shows as many members for this spec. */
function hasSameMembers({ metadata, status }: VirtualServerSet, counts: Counts): boolean {
  const isSame = (['replicas', 'terminatingReplicas', 'updatedReplicas'] as const).every(
    (count) => status?.[count] === counts[count],
  );
  return isSame && status?.observedGeneration === metadata.generation;
}

/** True if the set changed, made progress, or has something to do again: a member that is lost is no progress. */
function hasProgressed(situation: Situation, counts: Counts): boolean {
  const { set } = situation;
  const { conditions, availableReplicas = 0 } = set.status ?? {};
  const wasComplete = conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  const hasToWork = wasComplete && !isComplete(situation);
  return hasToWork || !hasSameMembers(set, counts) || counts.availableReplicas > availableReplicas;
}

function verdictOf(
  situation: Situation,
  held: WithheldAction | undefined,
  progressAt: number,
): Verdict<ReadyReason | SetReason> {
  const { set, now, members, unresolved, blocked, stuck, refused, missing, free, taken, leaving, victims } = situation;
  if (set.metadata.deletionTimestamp !== undefined) return { reason: 'Deleting', ...sentences.deleting(situation) };
  // An order in flight ends without you.
  const parked = unresolved.filter((member) => !hasTrait(member.unresolved?.reason, 'calm'));
  if (parked.length > 0) return { reason: 'MemberUnresolved', ...sentences.unresolved(situation, parked) };
  if (blocked.length > 0) return { reason: 'MemberBlocked', ...sentences.blocked(situation) };
  if (refused !== undefined) return { reason: 'MemberBlocked', ...sentences.refused(situation, refused) };
  if (stuck.length > 0) return { reason: 'MemberBlocked', ...sentences.stuck(situation) };
  if (held !== undefined) return held;
  if (isComplete(situation)) return { reason: 'Available', message: sentences.available(situation) };
  const isLeaving = members.some(({ deleting }) => deleting) || leaving.length > 0 || victims.chosen.length > 0;
  const isWaiting = isLeaving || unresolved.length > 0 || comesLater(situation);
  if (missing > 0 && free.length === 0 && taken.length > 0 && !isWaiting)
    return { reason: 'NameTaken', ...sentences.nameTaken(situation) };
  if (!victims.kept.every(isKeptForNow) && !isWaiting)
    return { reason: 'DeletionBlocked', ...sentences.deletionBlocked(situation) };
  if (!isWaiting && isHeld(situation)) return { reason: 'MemberBlocked', ...sentences.held(situation) };
  const { progressDeadlineSeconds, paused } = set.spec;
  const verdict = underWay(situation);
  if (!paused && now - progressAt >= progressDeadlineSeconds * 1000)
    return { reason: 'ProgressDeadlineExceeded', ...sentences.overdue(verdict, progressDeadlineSeconds) };
  return verdict;
}

/** True if a postponed deletion waits for a member that can become available without you. */
function comesLater({ alive, isAvailable, missing, free, victims: { postponed, kept } }: Situation): boolean {
  const isBooting = alive.some((member) => !isAvailable(member) && !kept.includes(member));
  return postponed.length > 0 && (isBooting || (missing > 0 && free.length > 0));
}

/** True if no member can be changed in place until you act. */
function isHeld({ set, limits, alive, isAvailable, changing, inPlace, rolling, missing, changes }: Situation): boolean {
  const isAtWork = missing > 0 || changing.length > 0 || changes.chosen.length > 0 || !alive.every(isAvailable);
  const isForbidden = changes.postponed.length > 0 && limits.available >= set.spec.replicas;
  const hasObstacle = [...inPlace].some(isObstructed);
  const isDue = [...inPlace.values()].some((way) => way.isDue);
  return rolling && !isAtWork && (isForbidden || (hasObstacle && !isDue));
}

function underWay(situation: Situation): Verdict<SetReason> {
  const { alive, isAvailable, rolling, missing } = situation;
  if (rolling) return { reason: 'RollingOut', ...sentences.progress(situation) };
  const worst = alive.find((member) => !isAvailable(member) && troubleOf(member) !== undefined);
  if (missing > 0 || worst === undefined) return { reason: 'Scaling', ...sentences.progress(situation) };
  return { reason: 'MembersUnavailable', ...sentences.unavailable(situation, worst) };
}

function isComplete({ limits, members, alive, isAvailable, rolling }: Situation): boolean {
  return (
    !rolling &&
    alive.length === limits.replicas &&
    slotsOf(members) === limits.replicas &&
    alive.every((member) => isAvailable(member))
  );
}

/** The next time at which a member becomes available, or the deadline passes (ms from now). */
function nextMs(
  { set: { spec }, now, alive, isAvailable, restsUntil }: Situation,
  { reason }: Verdict<ReadyReason | SetReason>,
  progressAt: number,
): number | undefined {
  const times = alive
    .filter((member) => member.readyAt !== undefined && !isAvailable(member))
    .map(({ readyAt = now }) => readyAt + spec.minReadySeconds * 1000);
  const isTimed = reason === 'RollingOut' || reason === 'Scaling' || reason === 'MembersUnavailable';
  if (isTimed && !spec.paused) times.push(progressAt + spec.progressDeadlineSeconds * 1000);
  if (restsUntil !== undefined && reason === 'RollingOut') times.push(restsUntil);
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - now);
}
