/** Suggests commands for a set: about the members that need the user, and about the set itself. Pure. */
import { commandLine, withComment, type Advice } from '../../controller/commands.ts';
import { hasTrait } from '../../api/conditions.ts';
import type { Member, Note } from '../../virtual-server-set/decision/member.ts';
import type { Situation } from '../../virtual-server-set/decision/situation.ts';
import { inPlaceSteps, takenSteps, wayOut } from '../../virtual-server-set/decision/set-sentences.ts';
import { upToDate } from './let-go.ts';
import { findOut, more, nextSteps } from './next-steps.ts';
import { NOT_REPORTED, paused, setReadiness, stalled } from './readiness.ts';
import { earlierRevisions } from './revisions.ts';

/** Like `nextSteps` of a server. */
export function setSteps(situation: Situation, where: string): string[] {
  const { set, now } = situation;
  const { name } = set.metadata;
  const { reason } = stalled(set) ?? setReadiness(set);
  const [first, ...others] = troubled(situation);
  const firstSteps = first === undefined ? [] : nextSteps(first.object, where, now);
  const steps = [
    ...(paused(set) ? [`kubectl vps rollout resume ${name}${where}`] : []),
    ...firstSteps.slice(0, -1),
    ...others.map((member) => `kubectl vps status ${member.name}${where}   # ${reasonOf(member)}`),
    ...ownSteps(situation, reason, where),
    ...back(situation, where),
  ];
  if (steps.length === 0 && stalled(set) === undefined) return [];
  const page = more(paused(set) ? 'Paused' : first === undefined ? reason : reasonOf(first));
  return [...new Set(steps), firstSteps.at(-1) ?? page];
}

/** The members that need the user or have a problem, the most urgent first. */
function troubled(situation: Situation): Member[] {
  const { members, isAvailable } = situation;
  const others = members.filter((member) => isTroubled(member) && !isAvailable(member));
  return [...new Set([...needy(situation), ...others])];
}

/** The members that make no progress until you act, the most urgent first. */
export function needy({ members, unresolved, blocked, stuck }: Situation): Member[] {
  const others = members.filter(({ object }) => stalled(upToDate(object)) !== undefined);
  return [...new Set([...unresolved, ...blocked, ...stuck, ...others])];
}

const isTroubled = ({ trouble }: Member): boolean => trouble !== undefined && !hasTrait(trouble.reason, 'calm');

const reasonOf = (member: Member): string => noteOf(member)?.reason ?? '';

/** Why the member needs you. */
export const noteOf = ({ unresolved, blocked, trouble, change }: Member): Note | undefined =>
  unresolved ?? blocked ?? (hasTrait(trouble?.reason, 'calm') ? (change ?? trouble) : trouble);

function ownSteps(situation: Situation, reason: string, where: string): string[] {
  const { set, victims, blocked, refused } = situation;
  const lines = (steps: readonly Advice[]): string[] =>
    steps.map(({ text, command }) => withComment(command && commandLine(command, set.metadata.name, where), text));
  switch (reason) {
    case NOT_REPORTED:
      return findOut(set, where);
    case 'NameTaken':
      return lines(takenSteps(situation));
    case 'MemberBlocked':
      return blocked.length > 0 || refused !== undefined ? [] : lines(inPlaceSteps(situation));
    case 'DeletionBlocked':
      return lines(victims.kept.slice(0, 1).map((member) => wayOut(member).step));
    default:
      return [];
  }
}

/** The way back from a template that makes no progress; a restart has the revision that its members had before. */
function back({ set, rolling }: Situation, where: string): string[] {
  const { currentRevision, updateRevision } = set.status ?? {};
  const isBad = ['MemberBlocked', 'MemberRejected', 'ProgressDeadlineExceeded'].includes(stalled(set)?.reason ?? '');
  const [earlier] = earlierRevisions(set);
  return rolling && isBad && currentRevision !== updateRevision && earlier !== undefined
    ? [`kubectl vps rollout undo ${set.metadata.name}${where}   # return to revision ${earlier.revision}`]
    : [];
}
