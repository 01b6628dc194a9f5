/**
 * What to do about the power of a server that was just read, so that it becomes what `spec.power` asks for, and what the object
 * shows until then. The operator never switches a server off by force unless an annotation asks for it. Pure.
 */
import { powerStateOf, type PowerState } from '../../api/server-state.ts';
import type { Held } from '../../api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { backoffDelay } from '../../base/backoff.ts';
import { durationText } from '../../base/duration.ts';
import { cut, ended } from '../../base/text.ts';
import type { Verdict } from '../../controller/conditions.ts';
import type { Server } from '../../provider/types.ts';
import { clockOf } from './expiry.ts';
import { isRecent } from './live-read.ts';
import { withEvidence, type Memo, type PowerAnswer, type PowerCall, type PowerEvidence } from './memo.ts';
import { askedAt, traitsOf, withOnce, ONCE, type Once } from './once.ts';
import { recordedPrice } from './price.ts';
import type { Timing } from './types.ts';
import type { OwnView, View } from './view.ts';

type Wanted = NonNullable<VirtualServerSpec['power']>;

/** What each call does, after "to". */
export const ASKS: Readonly<Record<PowerCall, (identifier: string) => string>> = {
  'power-on': (identifier) => `start server ${identifier}`,
  wake: (identifier) => `wake server ${identifier}`,
  shutdown: (identifier) => `shut server ${identifier} down`,
  'power-off': (identifier) => `switch server ${identifier} off by force`,
  dormant: (identifier) => `make server ${identifier} dormant`,
  reboot: (identifier) => `restart server ${identifier}`,
};

export interface PowerStep {
  /** In place of what the state of the server means otherwise. */
  verdict?: Verdict;
  evidence: PowerEvidence | undefined;
  /** Also notes what an annotation asks for in vain. */
  record: Held;
  /** ms until there is something to do at a time that an annotation names; Infinity: there is none. */
  afterMs: number;
}

/** After this time, a server that is not as asked needs attention (ms). */
const BLOCKED_MS = 5 * 60_000;

/** The pauses between two equal calls; after a failure, the first one is shorter. */
const AGAIN = { baseMs: 2 * 60_000, maxMs: 60 * 60_000, jitter: [1, 1] } as const;
const AFTER_FAILURE_MS = 10_000;

/** `wait`: no call helps now. Undefined: the server is as asked. */
export function missingCall(wanted: Wanted, state: PowerState): PowerCall | 'wait' | undefined {
  switch (wanted) {
    case 'On':
      if (state === 'on') return undefined;
      if (state === 'off') return 'power-on';
      return state === 'dormant' ? 'wake' : 'wait';
    case 'Off':
      if (state === 'off') return undefined;
      if (state === 'on') return 'shutdown';
      return state === 'dormant' ? 'wake' : 'wait';
    case 'Dormant':
      if (state === 'dormant') return undefined;
      return state === 'starting' || state === 'unknown' ? 'wait' : 'dormant';
  }
}

/** For a server that was read with this account, and that is this object's. `record`: after the read. */
export function powerStep(at: View, record: Held, server: Server, account: string): PowerStep {
  const { object, inputs, monotonic } = at;
  const { power: wanted } = object.spec;
  const state = powerStateOf(server.status, server.isDormant);
  const before = evidenceOf(at, record);
  const missing = wanted && missingCall(wanted, state);
  const due = dueOf(at, missing, state, record, before?.last);
  const current = withSkipped(at, record, wanted, state);
  const isAsAsked = missing === undefined;
  const since = isAsAsked ? monotonic : (before?.since ?? monotonic);
  const isKept =
    !isAsAsked || due !== undefined || (before?.last !== undefined && traitsOf(before.last.call).isRestart);
  const evidence: PowerEvidence | undefined = isKept
    ? {
        identifier: record.identifier,
        inputs,
        since,
        last: before?.last,
        due: due && { call: due, product: productAwake(at, record, server), account, readAt: monotonic },
      }
    : undefined;
  const verdict = isAsAsked
    ? asAsked(wanted, record)
    : verdictOf(at, { identifier: record.identifier, status: server.status, state }, evidence);
  const afterMs = untilAsked(at, current);
  return { ...(verdict && { verdict }), evidence, record: current, afterMs };
}

/** A dormant server may be shown as another product, which does not cost what the limit in money counts. */
function productAwake({ object }: View, record: Held, { product, isDormant }: Server): string {
  const before = isDormant === true ? recordedPrice(record)?.product : undefined;
  return before ?? product ?? object.spec.product;
}

/** What this process knows of these inputs. */
function evidenceOf({ memo, inputs }: View, { identifier }: Held): PowerEvidence | undefined {
  const { power } = memo.evidence;
  return power?.identifier === identifier && power.inputs === inputs ? power : undefined;
}

function dueOf(
  at: View,
  missing: PowerCall | 'wait' | undefined,
  state: PowerState,
  record: Held,
  last: PowerEvidence['last'],
): PowerCall | undefined {
  const call = callOf(at, missing, state, record);
  if (call === undefined || last?.call !== call) return call;
  return last.answer.state === 'notOffered' || at.monotonic < againAt(last, at.timing) ? undefined : call;
}

function callOf(
  at: View,
  missing: PowerCall | 'wait' | undefined,
  state: PowerState,
  record: Held,
): PowerCall | undefined {
  const { object } = at;
  const isForced = object.spec.power === 'Off' && missing !== undefined && state !== 'dormant';
  if (isForced && isDue(at, record, 'forceOff')) return 'power-off';
  if (missing !== undefined) return missing === 'wait' ? undefined : missing;
  return state === 'on' && isDue(at, record, 'reboot') ? 'reboot' : undefined;
}

function againAt({ at, count, answer }: NonNullable<PowerEvidence['last']>, { pollMs }: Timing): number {
  if (!('said' in answer)) return at + backoffDelay(count - 1, AGAIN, 0);
  const pause = backoffDelay(count - 1, { ...AGAIN, baseMs: Math.min(AFTER_FAILURE_MS, pollMs) }, 0);
  return at + Math.max(answer.retryAfterMs, pause);
}

const isDue = (at: View, record: Held, once: Once): boolean =>
  (askedAt(at.object, record, once) ?? Infinity) <= clockOf(at);

/** A restart of a server that is off, and force where nothing has to be switched off, count as done: later they would surprise you. */
function withSkipped(at: View, record: Held, wanted: Wanted | undefined, state: PowerState): Held {
  const isOff = state === 'off' || state === 'dormant';
  const isVain: Readonly<Record<Once, boolean>> = { reboot: isOff, forceOff: isOff || wanted !== 'Off' };
  const skipped = ONCE.filter((once) => isVain[once] && isDue(at, record, once));
  return skipped.reduce((kept, once) => withOnce(kept, at.object, once, { answer: 'Skipped' }), record);
}

function untilAsked(at: View, record: Held): number {
  const times = ONCE.map((once) => askedAt(at.object, record, once) ?? Infinity);
  const left = Math.min(...times) - clockOf(at);
  return left > 0 ? left : Infinity;
}

function asAsked(wanted: Wanted | undefined, { identifier }: Held): Verdict | undefined {
  if (wanted === 'Off')
    return { reason: 'PoweredOff', message: `Server ${identifier} is off, as spec.power asks. It still costs money` };
  if (wanted !== 'Dormant') return undefined;
  const message = `Server ${identifier} is dormant, as spec.power asks: it is off, and keeps its disk and addresses`;
  return { reason: 'Dormant', message };
}

/** What the object shows while a change in place goes first; undefined unless the operator starts the server after that. */
export function startsAfterChange({ spec }: VirtualServer, server: Server): Verdict | undefined {
  const { identifier, status = '', isDormant } = server;
  if (spec.power !== 'On' || powerStateOf(status, isDormant) !== 'off') return undefined;
  const isNow = `Server ${identifier} has the status "${cut(status, 128)}", and spec.power is On`;
  return { reason: 'Starting', message: `${isNow}. The operator first changes the server, and then starts it` };
}

interface Shown {
  identifier: string;
  status: string | undefined;
  state: PowerState;
}

/** What the object shows while its server is not as asked; undefined: what the state of the server means otherwise. */
export function verdictOf(
  { object, monotonic }: View,
  { identifier, status = '', state }: Shown,
  power: PowerEvidence | undefined,
): Verdict | undefined {
  const wanted = object.spec.power ?? 'On';
  const { last, since = monotonic, due } = power ?? {};
  const call = due?.call ?? last?.call;
  const asked = `spec.power is ${wanted}`;
  const isNow = `Server ${identifier} has the status "${cut(status, 128)}", and ${asked}`;
  if (last?.answer.state === 'notOffered' && (due === undefined || due.call === last.call))
    return { reason: 'PowerUnavailable', message: unavailable(asked, last.call, identifier) };
  if (call === undefined && state === 'unknown') return undefined;
  if (last?.answer.state === 'refused') return { reason: 'PowerBlocked', message: refused(asked, last, identifier) };
  const failure = last?.answer.state === 'failed' ? `. The last request failed: ${last.answer.said}` : '';
  if (monotonic - since >= BLOCKED_MS)
    return { reason: 'PowerBlocked', message: `${blocked(object, isNow, last, since, monotonic)}${failure}` };
  const reason = wanted === 'On' ? 'Starting' : 'Stopping';
  const next =
    call === undefined ? 'waits until this changes' : `asks the provider to ${ASKS[call](identifier)}, and waits`;
  return { reason, message: `${isNow}. The operator ${next}${failure}` };
}

function unavailable(asked: string, call: PowerCall, identifier: string): string {
  return (
    `${asked}, but the provider API has no call to ${ASKS[call](identifier)}. The operator asks again once you change the object. ` +
    "Until then, switch the server in the provider's control panel"
  );
}

function refused(asked: string, { call, answer }: NonNullable<PowerEvidence['last']>, identifier: string): string {
  const said = 'said' in answer ? answer.said : '';
  return `${asked}, but the provider refused to ${ASKS[call](identifier)}: ${ended(said)} The operator retries with growing pauses`;
}

function blocked(
  { metadata: { name } }: VirtualServer,
  isNow: string,
  last: PowerEvidence['last'],
  since: number,
  now: number,
): string {
  // In steps that grow, so that the text does not change at each read.
  const forMs = BLOCKED_MS * 2 ** Math.floor(Math.log2((now - since) / BLOCKED_MS));
  const head = `${isNow}, for more than ${durationText(forMs)}`;
  if (last?.call !== 'shutdown') return `${head}. The operator keeps checking`;
  return (
    `${head}: the system of the server may ignore the request to shut down. The operator repeats the request, and never switches a server off by force on its own. ` +
    `Shut the server down from inside, or switch it off by force, which may lose data, with \`kubectl vps stop ${name} --force\``
  );
}

/** The call that the last read has shown to be missing; undefined: none, or the read is too old. */
export function dueCall(view: OwnView): PowerCall | undefined {
  const { own, memo, inputs, monotonic } = view;
  const { power } = memo.evidence;
  if (power?.due === undefined || power.identifier !== own.identifier || power.inputs !== inputs) return undefined;
  return isRecent(power.due.readAt, monotonic) ? power.due.call : undefined;
}

/** Only another read can tell which call is missing. */
export function withoutDue(memo: Memo): Memo {
  const { power } = memo.evidence;
  return power?.due === undefined ? memo : withEvidence(memo, { power: { ...power, due: undefined } });
}

/** The memo after the call. */
export function withCall(memo: Memo, call: PowerCall, answer: PowerAnswer, now: number): Memo {
  const { power } = memo.evidence;
  if (power === undefined) return memo;
  const count = power.last?.call === call ? power.last.count + 1 : 1;
  return withEvidence(memo, { power: { ...power, due: undefined, last: { call, count, at: now, answer } } });
}
