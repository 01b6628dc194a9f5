/** What a set would do after an apply: its own planner, step by step, as if every new server became ready. Pure. */
import { keysProblem } from '../../api/public-key.ts';
import { isPaused } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import { mergePatched } from '../cluster/merge-patch.ts';
import { conditionOf, setReadiness } from '../state/readiness.ts';
import { plural } from '../state/totals.ts';
import {
  changedFields,
  endingsOf,
  changeInPlaceOf,
  limitText,
  orderProblem,
  priceOfOrder,
  stillWaits,
  type PlannedChange,
  type Scene,
} from './plan-servers.ts';
import { powerChangeOf, powerOfNew } from './plan-power.ts';
import { memberNameOf, planSet, type SetAction } from '../../virtual-server-set/decision/set-plan.ts';
import { groupsOf, situationOf } from '../../virtual-server-set/decision/situation.ts';
import { manifestOf } from '../../virtual-server-set/decision/template.ts';

/** More steps than any set needs: each one but the last creates or deletes a member. */
const MAX_STEPS = 10_000;

interface Changed {
  before: VirtualServer;
  after: VirtualServer;
}

interface Rollout {
  created: string[];
  deleted: string[];
  /** The deleted members, as they are when they are deleted: an update may have come before. */
  gone: VirtualServer[];
  /** Members that get a change that needs no new server. */
  updated: string[];
  /** Members that get what an order sends in place. */
  inPlace: Changed[];
  /** Members with another `spec.power`. */
  switched: Changed[];
  adopted: string[];
  /** The most servers at one time. */
  most: number;
  /** Why it stops before it is done; undefined: it does not. */
  stop: string | undefined;
}

/** Plays the planner on the objects of the namespace. `orders`: whether new members get servers. */
export function playRollout(
  given: VirtualServerSet,
  objects: readonly VirtualServer[],
  now: number,
  orders = true,
): Rollout {
  // No time passes in a plan.
  const set = { ...given, spec: { ...given.spec, minReadySeconds: 0 } };
  let present = objects.filter(({ metadata }) => metadata.namespace === set.metadata.namespace).map(ready);
  const done: SetAction[] = [];
  const gone: VirtualServer[] = [];
  const inPlace: Changed[] = [];
  const switched: Changed[] = [];
  let most = 0;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const { actions } = planSet(set, { objects: present, live: true }, now);
    for (const action of actions) {
      const member = (): VirtualServer | undefined =>
        present.find(({ metadata }) => action.type !== 'create' && metadata.uid === action.uid);
      const before = member();
      if (action.type === 'delete' && before !== undefined) gone.push(before);
      present = perform(action, present, { now, set, orders });
      const after = member();
      if (before === undefined || after === undefined) continue;
      if (action.type === 'change') inPlace.push({ before, after });
      if (before.spec.power !== after.spec.power) switched.push({ before, after });
    }
    most = Math.max(most, groupsOf(set, present).members.length);
    done.push(...actions);
    const left = present.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (actions.length === 0 && left.length === present.length) break;
    present = left;
  }
  const named = (type: SetAction['type']): string[] => [
    ...new Set(done.filter((action) => action.type === type).map(memberNameOf)),
  ];
  const situation = situationOf(set, groupsOf(set, present), now);
  const rest = planSet(set, { objects: present, live: true }, now).status;
  const ready0 = rest.conditions?.find(({ type }) => type === 'Ready');
  const isDone = ready0?.status === 'True' || set.spec.paused || set.metadata.deletionTimestamp !== undefined;
  const waits = situation.outdated.length > 0 && set.spec.strategy.type === 'OnDelete';
  return {
    created: named('create'),
    deleted: named('delete'),
    gone,
    updated: named('update').filter((name) => !inPlace.some(({ before }) => before.metadata.name === name)),
    inPlace,
    switched,
    adopted: named('adopt'),
    most,
    stop: waits
      ? `with OnDelete, ${keeping(situation.outdated.length)}`
      : isDone
        ? undefined
        : (ready0?.summary ?? ready0?.message),
  };
}

/** A member that nothing stops becomes ready in the end. */
function ready(object: VirtualServer): VirtualServer {
  const isStuck = conditionOf(object, 'Stalled') !== undefined || conditionOf(object, 'OrphanedServer') !== undefined;
  const isUnknown = conditionOf(object, 'Ready')?.status === 'Unknown';
  if (isStuck || isUnknown || isPaused(object)) return object;
  const conditions = object.status?.conditions?.filter(({ type }) => !['Ready', 'Reconciling'].includes(type)) ?? [];
  const isReady = {
    type: 'Ready',
    status: 'True',
    reason: 'Available',
    message: '',
    lastTransitionTime: EPOCH,
  } as const;
  return { ...object, status: { ...object.status, conditions: [...conditions, isReady] } };
}

const EPOCH = '1970-01-01T00:00:00Z';

function perform(
  action: SetAction,
  objects: readonly VirtualServer[],
  { now, set, orders }: { now: number; set: VirtualServerSet; orders: boolean },
): VirtualServer[] {
  const time = new Date(now).toISOString();
  if (action.type === 'create') {
    const { manifest } = action;
    const { name } = manifest.metadata;
    const made = { uid: `planned-${name}`, resourceVersion: '0', generation: 1, creationTimestamp: time };
    const member = { ...manifest, metadata: { ...manifest.metadata, ...made } };
    return [...objects, orders ? ready(member) : member];
  }
  return objects.map((object) => {
    if (object.metadata.uid !== action.uid) return object;
    const { metadata, spec } = object;
    switch (action.type) {
      case 'delete':
        return { ...object, metadata: { ...metadata, deletionTimestamp: time } };
      case 'adopt': {
        const { name, uid } = set.metadata;
        const ownerReferences = [{ kind: set.kind, name, uid, controller: true as const }];
        return { ...object, metadata: { ...metadata, ownerReferences } };
      }
      case 'release':
        return { ...object, metadata: { ...metadata, ownerReferences: [] } };
      case 'update':
      case 'change': {
        const { metadata: changed, spec: fields } = action.patch;
        const annotations = Object.fromEntries(
          Object.entries({ ...metadata.annotations, ...changed.annotations }).flatMap(([key, value]) =>
            value === null ? [] : [[key, value]],
          ),
        );
        const generation = metadata.generation + 1;
        const conditions = object.status?.conditions?.filter(({ type }) => type !== 'ChangePending');
        const status = { ...object.status, observedGeneration: generation, conditions };
        const patched = mergePatched(spec, fields) as typeof spec;
        return { ...object, metadata: { ...metadata, annotations, generation }, spec: patched, status };
      }
    }
  });
}

/** `before`: the set in the cluster; `after`: what an apply makes of it. */
export function outcomeOfSet(
  before: VirtualServerSet | undefined,
  after: VirtualServerSet,
  scene: Scene,
): Pick<PlannedChange, 'verb' | 'detail' | 'ordered' | 'cancelled' | 'resized'> {
  const fields = before === undefined ? '' : changedFields(before, after);
  if (before !== undefined && fields === '') {
    const ready = setReadiness(before);
    const detail = ready.status === 'True' ? '' : stillWaits(ready.reason);
    return { verb: 'none', detail, ordered: [], cancelled: [] };
  }
  const hoped = playRollout(after, scene.servers, scene.now);
  const isToOrder = hoped.created.length > 0 || keysProblem(after.spec.template.spec) !== undefined;
  const problem = isToOrder ? orderProblem(manifestOf(after, 0), scene) : undefined;
  const isRefused = problem?.isCertain === true;
  // Some strategies delete a member before its replacement is ready.
  const { created, deleted, gone, updated, inPlace, switched, adopted, most, stop } = isRefused
    ? playRollout(after, scene.servers, scene.now, false)
    : hoped;
  const price = priceOfOrder(manifestOf(after, 0), scene);
  const present = new Set(scene.servers.map(({ metadata }) => metadata.uid));
  const { cancelled, stays } = endingsOf(
    gone.filter(({ metadata }) => present.has(metadata.uid)),
    scene,
  );
  const ordered = created.map((name) => ({ name, ...price }));
  const changes = inPlace.map(({ before: was, after: is }) => ({
    name: was.metadata.name,
    ...changeInPlaceOf(was, is, scene),
  }));
  const resized = changes.flatMap((change) => change.resized ?? []);
  const details = [
    fields,
    isRefused ? problem.text : '',
    created.length > 0 && !isRefused ? `orders ${listed(created)}` : '',
    created.length > 0 && !isRefused ? powerOfNew(after.spec.template.spec, true, 'each new server') : '',
    created.length > 0 && !isRefused ? limitText(after.metadata.namespace, scene) : '',
    adopted.length > 0 ? `adopts ${listed(adopted)} as members` : '',
    cancelled.length > 0 ? `cancels ${listed(cancelled.map(({ name }) => name))}` : '',
    stays.length > 0
      ? `deletes ${listed(stays)}, whose ${stays.length === 1 ? 'server is' : 'servers are'} not cancelled`
      : '',
    created.length > 0 && deleted.length > 0 && !isRefused ? `at most ${plural(most, 'server')} at once` : '',
    ...inPlaceTexts(changes, isRefused ? problem.text : ''),
    updated.length > 0 ? `changes ${listed(updated)} without a new server` : '',
    ...powerTexts(switched, scene),
    isRefused ? '' : (problem?.text ?? changes.find(({ unchecked }) => unchecked !== undefined)?.unchecked ?? ''),
    after.spec.paused ? 'the set is paused: it changes no member' : '',
    stop === undefined || isRefused ? '' : `then ${stop}`,
  ];
  const detail = details.filter((text) => text !== '').join('; ');
  if (isRefused) return { verb: 'refuse', detail, ordered: [], cancelled };
  const does = { ordered: created.length > 0, cancelled: cancelled.length > 0, deleted: deleted.length > 0 };
  const isImpossible = changes.some(({ impossible }) => impossible !== undefined);
  const verb = verbOf({ ...does, isImpossible });
  return { verb, detail, ordered, cancelled, ...(resized.length > 0 && { resized }) };
}

/** What becomes of the power of the members, those with the same state together. */
function powerTexts(switched: readonly Changed[], scene: Scene): string[] {
  const texts = switched.map(({ before, after }) => ({
    name: after.metadata.name,
    text: powerChangeOf(before, after, scene, 'its server'),
  }));
  return [...Map.groupBy(texts, ({ text }) => text)].map(
    ([text, members]) => `${listed(members.map(({ name }) => name))}: ${text}`,
  );
}

/** What becomes of the servers, those with the same future together. `told`: what the row says already. */
function inPlaceTexts(changes: readonly { name: string; text: string; impossible?: string }[], told: string): string[] {
  const groups = Map.groupBy(changes, ({ text, impossible }) => JSON.stringify([text, impossible]));
  return [...groups.values()].map((members) => {
    const [{ text, impossible } = {}, ...others] = members;
    const names = listed(members.map(({ name }) => name));
    if (impossible !== undefined)
      return `cannot change ${names} in place${withoutReason(impossible) === withoutReason(told) ? '' : `: ${impossible}`}`;
    if (text === '') return `changes ${names} in place`;
    return `changes ${names} ${text}${others.length === 0 ? '' : ' each'}`;
  });
}

/** The same is wrong with an order and with a change in place, under different reasons. */
const withoutReason = (text: string): string => text.replace(/^\w+: /, '');

function verbOf(does: Record<'ordered' | 'cancelled' | 'deleted' | 'isImpossible', boolean>): PlannedChange['verb'] {
  // The set orders and cancels the other members all the same.
  if (does.isImpossible) return 'refuse';
  if (does.ordered) return does.cancelled ? 'replace' : 'order';
  if (does.cancelled) return 'cancel';
  return does.deleted ? 'release' : 'change';
}

const SHOWN = 8;

/** The first few names, and how many there are beyond. */
function listed(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return more > 0 ? `${names.slice(0, SHOWN).join(', ')} and ${more} more` : names.join(', ');
}

function keeping(count: number): string {
  return count === 1
    ? '1 member keeps the old template until you delete it'
    : `${count} members keep the old template until you delete them`;
}
