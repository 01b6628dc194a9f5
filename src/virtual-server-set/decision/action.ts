/** What a step of a set does to its members, and the Events that report it. Pure. */
import type { AnyReason } from '../../api/conditions.ts';
import { eventOf, type EventNote } from '../../controller/conditions.ts';
import type { Manifest, MemberPatch } from './template.ts';
import { list } from './words.ts';

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
  | ({ type: 'delete' } & Version)
  | { type: 'create'; manifest: Manifest };

export const memberNameOf = (action: SetAction): string =>
  action.type === 'create' ? action.manifest.metadata.name : action.name;

/** The API server rejected this action, and will again until somebody changes something. */
export interface Rejection {
  action: SetAction;
  message: string;
}

const EVENTS = {
  create: ['MembersCreated', 'Created'],
  delete: ['MembersDeleted', 'Deleted'],
  adopt: ['MembersAdopted', 'Adopted'],
  release: ['MembersReleased', 'Released, because they no longer have the label of the set:'],
} as const satisfies Partial<Record<SetAction['type'], [AnyReason, string]>>;

/** One Event for each kind of action that was carried out, however many members it changed. */
export function eventsOf(done: readonly SetAction[]): EventNote[] {
  return Object.entries(EVENTS).flatMap(([type, [reason, verb]]) => {
    const names = done.filter((action) => action.type === type).map(memberNameOf);
    return names.length === 0 ? [] : [eventOf({ reason, message: `${verb} ${list(names)}` })];
  });
}
