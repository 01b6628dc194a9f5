/** Every observable state of a VirtualServerSet, produced by its decision room, and what a GitOps tool should report for it. */
import type { EventNote } from '../../src/controller/conditions.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { ProviderError } from '../../src/provider/error.ts';
import { eventsOf, planSet, type SetAction } from '../../src/virtual-server-set/decision/plan.ts';
import { manifestOf } from '../../src/virtual-server-set/decision/template.ts';
import { healthy, stuck, suspended, unseen, working, type Verdict } from './verdicts.ts';
import { member, NOW, webSet, type MemberShape, type SetShape } from './virtual-server-set.ts';
import { stored, storedWith } from './virtual-server.ts';
import { visit, type Given } from './visits.ts';

const HOUR_MS = 3_600_000;
const NEW_IMAGE = { image: 'debian-14.qcow2/minimal' };

const QUOTA =
  'virtualservers.vps-operator.dev "web-2" is forbidden: exceeded quota: servers, requested: ' +
  'count/virtualservers.vps-operator.dev=1, used: count/virtualservers.vps-operator.dev=2, limited: ' +
  'count/virtualservers.vps-operator.dev=2';

/** The set as the API server stores it before the operator has seen it. */
const created = (shape: SetShape = {}): VirtualServerSet => ({
  ...webSet(shape),
  status: { observedGeneration: -1 },
});
/** The same set after an edit of its spec. */
const edited = ({ status, metadata }: VirtualServerSet, shape: SetShape): VirtualServerSet => {
  const next = webSet(shape);
  return { ...next, metadata: { ...metadata, generation: metadata.generation + 1 }, ...(status && { status }) };
};
/** The same set after a foreground deletion, which keeps it until its members are gone. */
const deleted = ({ metadata, ...set }: VirtualServerSet): VirtualServerSet => ({
  ...set,
  metadata: { ...metadata, generation: metadata.generation + 1, deletionTimestamp: '2026-01-02T00:00:00Z' },
});
/** The set with the status that the operator writes. */
const reconciled = (set: VirtualServerSet, objects: VirtualServer[], now = NOW): VirtualServerSet => ({
  ...set,
  status: planSet(set, { objects, live: true }, now).status,
});
const members = (set: VirtualServerSet, shapes: MemberShape[]): VirtualServer[] =>
  shapes.map((shape, ordinal) => member(set, ordinal, shape));

/** A member with the status that the operator writes for a single server. */
async function visited(set: VirtualServerSet, ordinal: number, given?: Given): Promise<VirtualServer> {
  const { metadata, spec } = manifestOf(set, ordinal);
  const { name, labels, annotations, ownerReferences } = metadata;
  const { object } = await visit(
    stored(name, storedWith({ metadata: { labels, annotations, ownerReferences }, spec })),
    given,
  );
  if (object === undefined) throw new Error('the member is gone');
  return object;
}

/** The set whose first action the API server answers with this message. */
function rejected(set: VirtualServerSet, objects: VirtualServer[], message: string): VirtualServerSet {
  const seen = { objects, live: true };
  const [action] = planSet(set, seen, NOW).actions;
  if (action === undefined) throw new Error('the plan has no action');
  return { ...set, status: planSet(set, seen, NOW, { action, message }).status };
}

/** The name of a state begins with the reason; a suffix after an underscore distinguishes variants. */
export async function setStates(): Promise<Record<string, VirtualServerSet>> {
  const set = created();
  const up: MemberShape = { price: 9.5 };
  const three = members(set, [up, up, up]);
  const ready = reconciled(set, three);
  const rolling = edited(ready, { spec: NEW_IMAGE });
  const scaling = reconciled(set, members(set, [up, { reason: 'Creating', message: 'A task is running' }]));
  const wrong = edited(ready, { spec: { diskSize: 15 } });
  const one = edited(ready, { replicas: 1 });
  const lostAnswer = new ProviderError('PROVIDER_TIMEOUT', 'no answer within 60s');
  const unresolved = [
    ...three.slice(0, 2),
    await visited(set, 2, { answers: { order: { kind: 'unknown', error: lostAnswer } } }),
  ];
  const guarded = three.map((object) => ({ ...object, spec: { ...object.spec, deletionProtection: true } }));
  const paused = (shape: SetShape = {}): VirtualServerSet => edited(ready, { paused: true, ...shape });
  const gone = 'The provider no longer knows server srv1: it answered 404 three times over 5 minutes.';
  return {
    // Not reconciled yet: a new set, an edit, a deletion.
    new: set,
    edited: edited(ready, { replicas: 5 }),
    terminating: deleted(ready),

    Available: ready,
    Available_zero: reconciled(edited(ready, { replicas: 0 }), []),
    Available_protected: reconciled(edited(ready, { spec: { deletionProtection: true } }), guarded),
    Scaling: scaling,
    RollingOut: reconciled(rolling, [
      ...three,
      member(rolling, 3, { reason: 'Creating', message: 'A task is running' }),
    ]),
    MembersUnavailable: reconciled(ready, [
      ...three.slice(0, 2),
      member(set, 2, { reason: 'ServerMissing', message: gone }),
    ]),
    MemberUnresolved: reconciled(ready, unresolved),
    MemberUnresolved_paused: reconciled(paused(), unresolved),
    MemberBlocked: reconciled(wrong, [...three, await visited(wrong, 3)]),
    MemberRejected: rejected(set, three.slice(0, 2), QUOTA),
    DeletionBlocked: reconciled(one, guarded),
    NameTaken: reconciled(set, [...three.slice(0, 2), stored('web-2'), stored('web-3')]),
    ProgressDeadlineExceeded: reconciled(scaling, members(set, [up, { reason: 'Creating' }]), NOW + 2 * HOUR_MS),
    Deleting: reconciled(deleted(ready), members(set, [{ deleting: true }, { deleting: true }, { deleting: true }])),

    Paused: reconciled(paused({ replicas: 5 }), three),
    Paused_ready: reconciled(paused(), three),
    Paused_new: created({ paused: true }),
    Paused_edited: edited(reconciled(paused(), three), { paused: true, replicas: 5 }),
  };
}

/** The Events that report what a step did to the members, by reason. */
export function setEvents(): Record<string, EventNote> {
  const set = created();
  const objects = members(set, [{}, {}, {}]);
  const { actions } = planSet(created({ replicas: 3 }), { objects: [], live: true }, NOW);
  const version = ({ metadata: { name, uid, resourceVersion } }: VirtualServer) => ({ name, uid, resourceVersion });
  const one = objects.slice(2).map(version);
  const done: SetAction[] = [
    ...actions,
    ...one.map((object) => ({ type: 'delete' as const, ...object })),
    ...one.map((object) => ({ type: 'adopt' as const, ...object })),
    ...one.map((object) => ({ type: 'release' as const, owner: 0, ...object })),
  ];
  return Object.fromEntries(eventsOf(done).map((event) => [event.reason, event]));
}

/** Written by hand, like VERDICTS. */
export const SET_VERDICTS: Record<string, Verdict> = {
  new: unseen,
  edited: unseen,
  terminating: { ...unseen, kstatus: 'Terminating' },

  Available: healthy,
  Available_zero: healthy,
  Available_protected: healthy,
  Scaling: working,
  RollingOut: working,
  MembersUnavailable: working,
  MemberUnresolved: stuck,
  MemberUnresolved_paused: stuck,
  MemberBlocked: stuck,
  MemberRejected: stuck,
  DeletionBlocked: stuck,
  NameTaken: stuck,
  ProgressDeadlineExceeded: stuck,
  Deleting: { ...working, kstatus: 'Terminating' },

  Paused: suspended,
  Paused_ready: { ...suspended, flux: 'Current', kstatus: 'Current' },
  // Unlike a server, a paused set is observed, so nothing is known of this spec yet.
  Paused_new: unseen,
  Paused_edited: unseen,
};
