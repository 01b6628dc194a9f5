/** Decides the next step of a set: what to create, delete and change, and what its status shows. Pure. */
import type { AnyReason } from '../../api/conditions.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../../api/virtual-server-set.ts';
import { ended } from '../../base/text.ts';
import { eventOf, type EventNote } from '../../controller/conditions.ts';
import { slotsOf } from './limits.ts';
import { groupsOf, situationOf, type Groups, type Situation } from './situation.ts';
import { statusOf, type WithheldAction } from './set-status.ts';
import { patchInPlace, manifestOf, type MemberManifest, type MemberPatch } from './template.ts';
import { listNames } from './set-sentences.ts';

/** Names exactly the version that the plan was made for: a DELETE or a patch of any other version must fail. */
export interface Version {
  name: string;
  uid: string;
  resourceVersion: string;
}

export type SetAction =
  | ({ type: 'adopt' } & Version)
  | ({ type: 'release' } & Version)
  | ({ type: 'update'; patch: MemberPatch } & Version)
  /** Changes what an order sends, in place. */
  | ({ type: 'change'; patch: MemberPatch } & Version)
  | ({ type: 'delete' } & Version)
  | { type: 'create'; manifest: MemberManifest };

export const memberNameOf = (action: SetAction): string =>
  action.type === 'create' ? action.manifest.metadata.name : action.name;

/** The API server rejected this action, and will reject it again until something changes. */
export interface Rejection {
  action: SetAction;
  message: string;
}

/** The VirtualServers of the set's namespace; `live`: listed at the API server for this step, not from a cache. */
export interface Surroundings {
  objects: readonly VirtualServer[];
  live: boolean;
}

export interface SetPlan {
  /** List the objects at the API server, and plan again: there is something to do or to say that no cache may decide. */
  look: boolean;
  /** In this order. */
  actions: SetAction[];
  status: VirtualServerSetStatus;
  /** When to look again even if nothing changes (ms). */
  afterMs?: number;
}

/** How many creates, changes in place and DELETEs a step has at most. */
const STEP = 100;

/** `held`: why an action of this plan was not carried out, for the status. */
export function planSet(set: VirtualServerSet, seen: Surroundings, now: number, held?: WithheldAction): SetPlan {
  const groups = groupsOf(set, seen.objects);
  const situation = situationOf(set, groups, now);
  const isIdle = set.metadata.deletionTimestamp !== undefined || set.spec.paused;
  const { quiet, weighty } = isIdle ? { quiet: [], weighty: [] } : actionsOf(situation, groups);
  const { completes, ...shown } = statusOf(situation, held);
  const look = !seen.live && (weighty.length > 0 || completes);
  return { look, actions: look ? quiet : [...quiet, ...weighty], ...shown };
}

/**
 * `quiet` actions are safe at any time if the set was read live, because they name a version of the member. `weighty` ones may
 * cost a server, or order one.
 */
function actionsOf(
  { set, limits, members, alive, inPlace, unresolved, blocked, refused, missing, free, victims, changes }: Situation,
  { orphans, released }: Groups,
): { quiet: SetAction[]; weighty: SetAction[] } {
  const quiet: SetAction[] = released.map((object) => ({ type: 'release', ...versionOf(object) }));
  for (const { update: patch, object } of alive) {
    if (patch !== undefined) quiet.push({ type: 'update', patch, ...versionOf(object) });
  }
  const adopted = orphans.slice(0, Math.max(0, limits.replicas - slotsOf(members)));
  // The next step counts them.
  if (adopted.length > 0) return { quiet, weighty: adopted.map((object) => ({ type: 'adopt', ...versionOf(object) })) };
  const isStopped = unresolved.length > 0 || blocked.length > 0 || refused !== undefined;
  const created = free.slice(0, isStopped ? 0 : missing);
  const weighty: SetAction[] = [
    ...victims.chosen.map(({ object }) => ({ type: 'delete' as const, ...versionOf(object) })),
    ...changes.chosen.map((member) => {
      const patch = patchInPlace(set, member, inPlace.get(member)?.spec ?? {});
      return { type: 'change' as const, patch, ...versionOf(member.object) };
    }),
    ...created.map((ordinal) => ({ type: 'create' as const, manifest: manifestOf(set, ordinal) })),
  ];
  return { quiet, weighty: weighty.slice(0, STEP) };
}

function versionOf({ metadata: { name, uid, resourceVersion } }: VirtualServer): Version {
  return { name, uid, resourceVersion };
}

/** The status after a rejection. */
export function rejected({ action, message }: Rejection): WithheldAction {
  const what: Record<SetAction['type'], string> = {
    create: 'the creation of member',
    delete: 'the deletion of member',
    update: 'a change of member',
    change: 'the change in place of member',
    adopt: 'the adoption of',
    release: 'the release of',
  };
  const refusal = `The API server rejects ${what[action.type]} ${memberNameOf(action)}: ${ended(message)} The set keeps trying`;
  return { reason: 'MemberRejected', message: refusal };
}

/** The status of an operator that only observes. */
export function withheld(actions: readonly SetAction[]): WithheldAction | undefined {
  if (actions.length === 0) return undefined;
  const verbs = [...new Set(actions.map(({ type }) => type))];
  const each = verbs.map(
    (verb) => `${verb} ${listNames(actions.filter(({ type }) => type === verb).map(memberNameOf))}`,
  );
  return {
    reason: 'ObserveOnly',
    message: `The operator only observes (--observe-only). The set would ${each.join(', and ')}`,
  };
}

const EVENTS = {
  create: ['MembersCreated', 'Created'],
  delete: ['MembersDeleted', 'Deleted'],
  change: ['MembersChanged', 'Changed in place:'],
  adopt: ['MembersAdopted', 'Adopted'],
  release: ['MembersReleased', 'Released, because they no longer have the label of the set:'],
} as const satisfies Partial<Record<SetAction['type'], [AnyReason, string]>>;

/** One Event for each kind of action that was carried out, however many members it changed. */
export function eventsOfActions(done: readonly SetAction[]): EventNote[] {
  return Object.entries(EVENTS).flatMap(([type, [reason, verb]]) => {
    const names = done.filter((action) => action.type === type).map(memberNameOf);
    return names.length === 0 ? [] : [eventOf({ reason, message: `${verb} ${listNames(names)}` })];
  });
}
