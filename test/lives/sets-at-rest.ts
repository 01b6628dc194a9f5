/** What must hold for every set once faults have stopped and users have resolved what they can. */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { currentReason } from '../../src/api/conditions.ts';
import type { ApiServer } from './api-server.ts';
import { keyOf } from './object-store.ts';
import { isForMoney } from './oracles.ts';
import { isAlive, isSettled, isUpdated, membersOf, readySince } from './set-members.ts';

/** Reports sets that are not as their spec wants them, and each number of a status that is wrong. */
export function setsAtRest(api: ApiServer): string[] {
  return api.sets.list().flatMap((set) => [...wrongNumbers(set, api), ...notSettled(set, api)]);
}

function wrongNumbers(set: VirtualServerSet, api: ApiServer): string[] {
  const { spec, status, metadata } = set;
  const members = membersOf(set, api.servers.list());
  const alive = members.filter(isAlive);
  const ready = alive.filter((member) => readySince(member) !== undefined).length;
  const paidFor = members.filter(({ spec: { power }, status: shown }) => {
    const isOffOnPurpose = (power === 'Off' || power === 'Dormant') && shown?.serverStatus === 'shut down';
    return shown?.serverStatus === 'running' || isOffOnPurpose;
  });
  const price = paidFor.reduce((sum, member) => sum + (member.status?.price ?? 0), 0);
  const right = {
    replicas: alive.length,
    terminatingReplicas: members.length - alive.length,
    readyReplicas: ready,
    updatedReplicas: alive.filter((member) => isUpdated(member, set, api)).length,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, spec.replicas - ready),
    unresolvedReplicas: 0,
    observedGeneration: metadata.generation,
    ...(paidFor.length > 0 && { price }),
  };
  const wrong = Object.entries(right).filter(([field, value]) => status?.[field as keyof typeof right] !== value);
  return wrong.map(([field, value]) => `the status of set ${keyOf(set)} does not say that ${field} is ${value}`);
}

function notSettled(set: VirtualServerSet, api: ApiServer): string[] {
  const { spec, status } = set;
  const members = membersOf(set, api.servers.list());
  const reason = currentReason(status?.conditions);
  const isRolledOut = spec.strategy.type === 'OnDelete' || members.every((member) => isUpdated(member, set, api));
  if (reason === 'Available' && members.length === spec.replicas && isRolledOut) return [];
  // Another check compares the limits with the servers of the namespace.
  const isAtLimit = (reason: string | undefined): boolean => reason === 'ServerLimit' || isForMoney(reason);
  // A change that the provider does not make needs a user each time.
  if (reason === 'MemberBlocked' && members.some((member) => isAlive(member) && !isSettled(member))) return [];
  const isWaiting = members.some((member) => isAlive(member) && !isSettled(member) && waitsForUser(member));
  if (reason === 'ProgressDeadlineExceeded' && isWaiting) return [];
  if (members.some((member) => isAtLimit(currentReason(member.status?.conditions)))) return [];
  const message = status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
  return [`set ${keyOf(set)} did not settle with ${members.length} members: ${reason ?? 'no reason'}: ${message}`];
}

/**
 * A dormant server is changed after a person has woken it up, and some servers are resized after a restart, which people
 * do for one member at a time. A server whose addresses do not identify it is never changed.
 */
function waitsForUser({ spec, status }: VirtualServer): boolean {
  const { reason, message = '' } = status?.conditions?.find(({ type }) => type === 'ChangePending') ?? {};
  return spec.power === 'Dormant' || reason === 'RestartPending' || message.includes('nothing that it shows proves');
}
