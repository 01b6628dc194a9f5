/** Shows everything about one server on one screen. Pure. */
import { timestamp } from '../../base/duration.ts';
import type { VirtualServer, VirtualServerStatus } from '../../api/virtual-server.ts';
import type { ServerRecord } from '../../api/record.ts';
import { annotationMeant, unknownAnnotations } from '../../virtual-server/decision/inputs.ts';
import { expiryOf } from '../../virtual-server/decision/expiry.ts';
import { cancelIsForbidden } from '../../virtual-server/decision/view.ts';
import type { EventView } from '../cluster/cluster.ts';
import { upToDate } from '../state/let-go.ts';
import { nextSteps } from '../state/next-steps.ts';
import { unless } from '../state/ends.ts';
import { powerOf, recordOf } from '../state/recorded-order.ts';
import { bar, duration, inTime, timeLeft } from './progress.ts';
import { conditionOf, serverReadiness } from '../state/readiness.ts';
import { Said } from '../terminal/said.ts';
import { conditions, events, facts, head, next, sectioned, type Row } from './screen-parts.ts';
import { setArgument, setOf } from '../state/set-members.ts';
import { clean, type Paint } from '../terminal/terminal.ts';
import { plural, priceText } from '../state/totals.ts';
import { requestText } from '../state/requested.ts';

interface ScreenInput {
  object: VirtualServer;
  /** Undefined if the user may not read Events. */
  events: readonly EventView[] | undefined;
  /** ms since the epoch. */
  now: number;
  /** Flags that select the same namespace in kubectl, such as ` -n team`. */
  where: string;
  paint: Paint;
}

/** Omits empty sections. */
export function screen(given: ScreenInput): string[] {
  const input = { ...given, object: upToDate(given.object) };
  const { object, now, where, paint } = input;
  const shown = { ...input, readiness: serverReadiness(object), said: new Said() };
  return sectioned([
    head(shown, object.metadata.name),
    warnings(input),
    facts(rows(shown), paint),
    conditions(shown),
    events(shown),
    next(nextSteps(object, where, now), paint),
  ]);
}

function warnings({ object, paint }: ScreenInput): string[] {
  return unknownAnnotations(object.metadata).map((name) => {
    const meant = annotationMeant(name);
    const advice = meant === undefined ? 'it has no effect on a server that exists' : `did you mean ${meant}?`;
    return paint.bad(clean(`Unknown annotation ${name}; ${advice}`));
  });
}

function rows({ object, where, now, said }: ScreenInput & { said: Said }): Row[] {
  const { metadata, spec, status = {} } = object;
  const { task, specs, zone, adminConsole } = status;
  const record = recordOf(object);
  const identifier = status.identifier ?? record?.identifier;
  const open = record?.identifier === undefined ? record : undefined;
  const set = setOf(object);
  // A server that is off answers no SSH.
  const ssh = ['off', 'dormant'].includes(powerOf(object)) ? undefined : status.ssh;
  return [
    ['Task', task && `${task.id}  ${bar(task.percent)}`, said.say(task?.message ?? ''), timeLeft(task, now)],
    ['Server', identifier, status.serverStatus, status.name, zone && `zone ${zone.code ?? zone.name ?? ''}`],
    ['Address', ...(status.ipv6 ?? []), ...(status.ipv4 ?? [])],
    ['SSH', ssh && `kubectl vps ssh ${metadata.name}${where}`, ssh && `(ssh ${ssh})`],
    ['Console', adminConsole && `${adminConsole.username} at ${adminConsole.hostname}`],
    ['Secret', conditionOf(object, 'ConnectionSecret')?.status === 'True' ? spec.connectionSecretName : undefined],
    ['Requested', requestText(spec)],
    ['Expires', ends(object, record, now)],
    ['Cancels', cancels(object, now)],
    [
      'Actual',
      has(status.product, specs),
      status.price === undefined ? undefined : `price ${priceText(status.price)}`,
      unitless(status),
    ],
    ['Attempt', open?.attempt, claimed(open?.attemptedAt, now)],
    ...(record?.orphans ?? []).map(({ task: id, attempt, identifier: orphan }): Row => [
      'Orphan',
      [id && `task ${id}`, attempt && `attempt ${attempt}`, orphan].filter(Boolean).join(', '),
    ]),
    ['Set', set && `kubectl vps status ${setArgument(set)}${where}`],
  ];
}

/** When the operator cancels the server. A ttl counts from the moment the server is first ready. */
function ends(object: VirtualServer, record: ServerRecord | undefined, now: number): string | undefined {
  const at = expiryOf(object, record);
  const { ttl } = object.spec;
  if (record?.expiredAt !== undefined || (at === undefined && ttl === undefined)) return undefined;
  const keeps = cancelIsForbidden(object);
  if (at === undefined) return `${ttl} after the server is first ready${unless(keeps)}`;
  return keeps === undefined ? `${inTime(at - now)} (${timestamp(at)})` : `at ${timestamp(at)}${unless(keeps)}`;
}

/** When the operator cancels the server of a deleted object that keeps it for a while. */
function cancels({ metadata, spec, status }: VirtualServer, now: number): string | undefined {
  const isLater = metadata.deletionTimestamp !== undefined && spec.deletionDelay !== undefined;
  const at = isLater ? status?.cancelsAt : undefined;
  return at === undefined ? undefined : `${inTime(Date.parse(at) - now)} (${at})`;
}

function claimed(at: string | undefined, now: number): string | undefined {
  return at === undefined ? undefined : `started ${duration(now - Date.parse(at))} ago`;
}

/** The provider documents no unit of these. */
function unitless({ price, specs }: VirtualServerStatus): string | undefined {
  const isShown = [price, specs?.ram, specs?.diskSize].some((value) => value !== undefined);
  return isShown ? `(in the provider's units)` : undefined;
}

type Specs = NonNullable<NonNullable<VirtualServer['status']>['specs']>;

function has(product: string | undefined, specs: Specs | undefined): string | undefined {
  const { cores, ram, diskSize, diskType } = specs ?? {};
  const parts = [
    product,
    diskSize === undefined ? undefined : `disk ${diskSize}${diskType === undefined ? '' : ` ${diskType}`}`,
    cores === undefined ? undefined : plural(cores, 'core'),
    ram === undefined ? undefined : `RAM ${ram}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}
