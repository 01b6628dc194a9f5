/** Shows everything about one server on one screen. Pure. */
import { timestamp } from '../../base/timestamp.ts';
import { withoutPointer } from '../../api/documentation.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { ServerRecord } from '../../api/record.ts';
import { unknownAnnotations } from '../../virtual-server/decision/annotations.ts';
import { expiryOf } from '../../virtual-server/decision/expiry.ts';
import { timeOf, type EventView } from './cluster.ts';
import { nextSteps } from './next-steps.ts';
import { recordOf } from './order.ts';
import { bar, duration } from './progress.ts';
import { conditionOf, isCurrent, readiness, stalled } from './readiness.ts';
import { clean, type Paint } from './terminal.ts';
import { inWords, joined, sentences } from './words.ts';

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

type Row = [label: string, ...values: (string | number | undefined)[]];

/** Omits empty sections. */
export function screen(input: ScreenInput): string[] {
  const sections = [head(input), warnings(input), facts(input), conditions(input), events(input), next(input)];
  return sections.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function head({ object, now, paint }: ScreenInput): string[] {
  const { metadata } = object;
  const { status, reason, message } = readiness(object);
  const colour = status === 'True' ? paint.good : stalled(object) ? paint.bad : paint.busy;
  const age = duration(now - Date.parse(metadata.creationTimestamp));
  const deleting = metadata.deletionTimestamp === undefined ? '' : ', being deleted';
  const isStale = conditionOf(object, 'Ready') !== undefined && !isCurrent(object);
  const stale = isStale ? ', the operator has not reported on the last change yet' : '';
  const title = `${paint.strong(metadata.name)} in ${metadata.namespace}, ${age} old${deleting}${stale}`;
  const state = `${status === 'True' ? 'Ready' : 'Not ready'}: ${clean(reason)}`;
  const [headline = '', ...more] = sentences(message);
  return [title, `${colour(state)}  ${joined([headline])}`, ...(more.length === 0 ? [] : [`  ${joined(more)}`])];
}

function warnings({ object, paint }: ScreenInput): string[] {
  return unknownAnnotations(object.metadata).map((warning) => paint.bad(clean(warning)));
}

function facts({ object, where, paint }: ScreenInput): string[] {
  const { metadata, spec, status = {} } = object;
  const { task, specs, zone, adminConsole } = status;
  const record = recordOf(object);
  const identifier = status.identifier ?? record?.identifier;
  const open = record?.identifier === undefined ? record : undefined;
  const rows: Row[] = [
    ['Task', task && `${task.id}  ${bar(task.percent)}  ${task.message ?? ''}`, left(task?.secondsRemaining)],
    ['Server', identifier, status.serverStatus, status.name, zone && `zone ${zone.code ?? zone.name ?? ''}`],
    ['Address', ...(status.ipv6 ?? []), ...(status.ipv4 ?? [])],
    ['SSH', status.ssh && `kubectl vps ssh ${metadata.name}${where}`, status.ssh && `(ssh ${status.ssh})`],
    ['Console', adminConsole && `${adminConsole.username} at ${adminConsole.hostname}`],
    ['Secret', conditionOf(object, 'ConnectionSecret')?.status === 'True' ? spec.connectionSecretName : undefined],
    ['Requested', `${spec.product}, ${spec.image}, disk ${spec.diskSize}`],
    ['Expires', ends(object, record)],
    ['Actual', has(status.product, specs), status.price === undefined ? undefined : `price ${status.price}`],
    ['Attempt', open?.attempt, claimed(open?.attemptedAt)],
    ...(record?.orphans ?? []).map(({ task: id, attempt, identifier: orphan }): Row => [
      'Orphan',
      [id && `task ${id}`, attempt && `attempt ${attempt}`, orphan].filter(Boolean).join(', '),
    ]),
  ];
  return rows.flatMap(([label, ...values]) => {
    const words = values.map((value) => clean(String(value ?? ''))).filter((value) => value !== '');
    return words.length === 0 ? [] : [`${paint.faint(label.padEnd(10))} ${words.join('  ')}`];
  });
}

/** When the operator cancels the server. A ttl counts from the moment the server is first ready. */
function ends(object: VirtualServer, record: ServerRecord | undefined): string | undefined {
  const at = expiryOf(object, record);
  if (at !== undefined) return record?.expiredAt === undefined ? timestamp(at) : undefined;
  return object.spec.ttl === undefined ? undefined : `${object.spec.ttl} after the server is first ready`;
}

function left(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : `about ${duration(seconds * 1000)} left`;
}

function claimed(at: string | undefined): string | undefined {
  return at === undefined ? undefined : `started at ${at}`;
}

type Specs = NonNullable<NonNullable<VirtualServer['status']>['specs']>;

function has(product: string | undefined, specs: Specs | undefined): string | undefined {
  const { cores, ram, diskSize, diskType } = specs ?? {};
  const parts = [
    product,
    diskSize === undefined ? undefined : `disk ${diskSize}${diskType === undefined ? '' : ` ${diskType}`}`,
    cores === undefined ? undefined : `${cores} cores`,
    ram === undefined ? undefined : `RAM ${ram}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** Without Ready, which the head shows. */
function conditions({ object, now, paint }: ScreenInput): string[] {
  const others = (object.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  if (others.length === 0) return [];
  const shown = readiness(object).message;
  const lines = others.map(({ type, status, reason, message, lastTransitionTime }) => {
    const since = duration(now - Date.parse(lastTransitionTime));
    // The reason may be newer than the status.
    // What is not the verdict has no commands below.
    const words = type === 'Collectible' ? clean(withoutPointer(message)) : inWords(message);
    return `  ${clean(type)}=${status} for ${since}, now ${clean(reason)}${message === shown ? '' : `  ${words}`}`;
  });
  return [paint.strong('Conditions'), ...lines];
}

function events({ object, events: list, now, paint }: ScreenInput): string[] {
  if (list === undefined) return [paint.faint('No Events: you are not allowed to read them.')];
  if (list.length === 0) return [];
  const shown = new Set([
    readiness(object).message,
    ...(object.status?.conditions ?? []).map(({ message }) => message),
  ]);
  const lines = list.map((event) => {
    const ago = duration(now - timeOf(event)).padStart(4);
    const { reason = '', message = '' } = event;
    const words = shown.has(message) ? '' : `  ${inWords(message)}`;
    shown.add(message);
    return `  ${ago} ago  ${clean(reason)}${words}`;
  });
  return [paint.strong('Events'), ...lines];
}

function next({ object, now, where, paint }: ScreenInput): string[] {
  const steps = nextSteps(object, where, now);
  return steps.length === 0 ? [] : [paint.strong('What you can do'), ...steps.map((step) => `  ${clean(step)}`)];
}
