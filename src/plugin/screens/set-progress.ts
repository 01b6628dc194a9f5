/** How far a set or its rollout is. Pure. */
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import { bar } from './progress.ts';
import { inWords, isCurrent, setReadiness } from '../state/readiness.ts';
import { clean } from '../terminal/terminal.ts';

/**
 * One line: a bar of the available members, reason and message of Ready. `isNarrow`: without the bar. It has no percentage if all
 * wanted members are available and the set is not done yet, as when it scales down: their share does not show how much is left.
 */
export function setProgressLine(set: VirtualServerSet, isNarrow = false): string {
  const { replicas } = set.spec;
  const { availableReplicas } = set.status ?? {};
  const ready = setReadiness(set);
  const isShare = availableReplicas !== undefined && availableReplicas < replicas;
  const share = isShare ? Math.floor((availableReplicas / replicas) * 100) : undefined;
  const percent = ready.status === 'True' ? 100 : share;
  return `${isNarrow ? '' : `${bar(percent)}  `}${clean(ready.reason)}: ${inWords(ready)}`;
}

/** The set is exactly as its spec wants it, and the operator has seen the last change. */
export function isComplete(set: VirtualServerSet): boolean {
  const isDeleting = set.metadata.deletionTimestamp !== undefined;
  return !isDeleting && isCurrent(set) && setReadiness(set).status === 'True';
}

/** What a rollout waits for, in the words of `kubectl rollout status`. */
export function rolloutLine(set: VirtualServerSet): string {
  const { replicas } = set.spec;
  const { status = {} } = set;
  const { updatedReplicas = 0, availableReplicas = 0, terminatingReplicas = 0 } = status;
  if (!isCurrent(set)) return 'Waiting for the operator to observe the change of the set...';
  const outdated = (status.replicas ?? 0) - updatedReplicas + terminatingReplicas;
  const rest =
    updatedReplicas < replicas
      ? `${updatedReplicas} out of ${replicas} new members have been updated`
      : outdated > 0
        ? `${outdated} old ${outdated === 1 ? 'member is' : 'members are'} pending termination`
        : `${availableReplicas} of ${updatedReplicas} updated members are available`;
  return `Waiting for rollout to finish: ${rest}...`;
}
