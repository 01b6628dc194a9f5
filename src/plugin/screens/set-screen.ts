/** Shows a set and its members as a tree on one screen. Pure. */
import { SET_KIND } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Situation } from '../../virtual-server-set/decision/situation.ts';
import type { EventView } from '../cluster/cluster.ts';
import { duration } from './progress.ts';
import { serverReadiness, setReadiness, stalled, verdict } from '../state/readiness.ts';
import { Said } from '../terminal/said.ts';
import { conditions, events, facts, head, next, sectioned, type Row, type Shown } from './screen-parts.ts';
import { upToDate } from '../state/let-go.ts';
import { needy, noteOf, setSteps } from '../state/set-steps.ts';
import { columns } from '../terminal/table.ts';
import { clean, type Paint } from '../terminal/terminal.ts';
import { priceText } from '../state/totals.ts';
import { requestText } from '../state/requested.ts';

interface SetScreenInput {
  situation: Situation;
  /** Undefined if the user may not read Events. */
  events: readonly EventView[] | undefined;
  /** Flags that select the same namespace in kubectl, such as ` -n team`. */
  where: string;
  paint: Paint;
}

/** Omits empty sections. */
export function setScreen({ situation, events: list, where, paint }: SetScreenInput): string[] {
  const { set, now } = situation;
  const shown = { object: set, readiness: setReadiness(set), events: list, now, paint, said: new Said() };
  return sectioned([
    head(shown, `set/${set.metadata.name}, a ${SET_KIND}`),
    facts(rows(situation), paint),
    tree(situation, paint),
    stuckMembers(situation, shown),
    conditions(shown),
    events(shown),
    next(setSteps(situation, where), paint),
  ]);
}

/** The counts are those of the operator, so that they agree with its message. */
function rows({ set: { spec, status = {} } }: Situation): Row[] {
  const { template, strategy, replicas } = spec;
  const { maxSurge, maxUnavailable } = strategy.rollingUpdate;
  const { currentRevision, updateRevision } = status;
  const counts = [
    ['exist', status.replicas],
    ['ready', status.readyReplicas],
    ['updated', status.updatedReplicas],
    ['available', status.availableReplicas],
    ['being deleted', status.terminatingReplicas || undefined],
    ['unresolved', status.unresolvedReplicas || undefined],
  ] as const;
  const known = counts.flatMap(([word, count]) => (count === undefined ? [] : [`${count} ${word}`]));
  return [
    ['Members', [`${replicas} wanted`, ...known].join(', ')],
    ['Template', requestText(template.spec)],
    ['Revision', currentRevision === updateRevision ? updateRevision : `from ${currentRevision} to ${updateRevision}`],
    ['Strategy', `${strategy.type}, maxSurge ${maxSurge}, maxUnavailable ${maxUnavailable}`],
  ];
}

const HEADER = ['NAME', 'READY', 'REASON', 'UPDATED', 'AVAILABLE', 'SERVER', 'PRICE', 'AGE'];

function tree(situation: Situation, paint: Paint): string[] {
  const { set, now, limits, members, updated, isAvailable } = situation;
  const { status, reason } = setReadiness(set);
  const { updatedReplicas, availableReplicas, price } = set.status ?? {};
  const of = (count: number | undefined): string => (count === undefined ? '' : `${count}/${limits.replicas}`);
  const age = (since: number): string => duration(now - since);
  const root = [
    `set/${set.metadata.name}`,
    status,
    reason,
    of(updatedReplicas),
    of(availableReplicas),
    '',
    money(price),
  ];
  const ordered = [...members].sort((a, b) => (a.ordinal ?? Infinity) - (b.ordinal ?? Infinity));
  const leaves = ordered.map((member, index) => {
    const object = upToDate(member.object);
    return [
      `${index === ordered.length - 1 ? '└─' : '├─'} ${member.name}`,
      member.deleting ? 'False' : serverReadiness(object).status,
      reasonOf(member.deleting, object),
      yesNo(updated.includes(member)),
      yesNo(isAvailable(member)),
      object.status?.identifier ?? '',
      money(member.price),
      age(member.createdAt),
    ];
  });
  const lines = columns(HEADER, [[...root, age(Date.parse(set.metadata.creationTimestamp))], ...leaves]);
  return price === undefined ? lines : [...lines, paint.faint("prices in the provider's unit")];
}

/** Every member that needs you, and why. */
function stuckMembers(situation: Situation, { paint, said }: Shown): string[] {
  const lines = needy(situation).map((member) => {
    const { reason = '', message = '' } = noteOf(member) ?? {};
    return clean(`${member.name}  ${reason}  ${said.say(message)}`);
  });
  return lines.length === 0 ? [] : [paint.strong('Members that need you'), ...lines.map((line) => `  ${line}`)];
}

/** A member keeps its last reason until the operator sees that it is being deleted. */
function reasonOf(deleting: boolean, object: VirtualServer): string {
  return deleting && stalled(object) === undefined ? 'Deleting' : verdict(object).reason;
}

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');
const money = (price: number | undefined): string => (price === undefined ? '' : priceText(price));
