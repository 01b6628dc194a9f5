/** What happened to a server, in the order of time: creation, order, conditions, Events, end. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { knownRecord } from '../../virtual-server/decision/known-record.ts';
import { timeOfEvent, type EventView } from '../cluster/cluster.ts';
import { duration } from './progress.ts';
import { endOfObject, upToDate } from '../state/let-go.ts';
import { inWords } from '../state/readiness.ts';
import { Said } from '../terminal/said.ts';
import { clean, type Paint } from '../terminal/terminal.ts';

interface Entry {
  /** ms since the epoch. */
  at: number;
  text: string;
  /** What the operator says; several conditions and Events say the same. */
  message?: string;
}

/** A pause this long gets a separate line (ms). */
const PAUSE_MS = 60_000;

/** `events`: undefined if the user may not read them. Lines of `TIME  WHAT`, the oldest first. */
export function timeline(object: VirtualServer, events: readonly EventView[] | undefined, paint: Paint): string[] {
  const entries = [...life(object), ...conditions(object), ...(events ?? []).map(ofEvent)]
    .filter(({ at }) => Number.isFinite(at) && at > 0)
    .sort((a, b) => a.at - b.at);
  const said = new Said();
  const lines = entries.flatMap(({ at, text, message = '' }, index) => {
    const pause = index === 0 ? 0 : at - (entries[index - 1]?.at ?? at);
    const news = said.say(message);
    const line = `${new Date(at).toISOString().slice(0, 19)}Z  ${clean(text)}${news === '' ? '' : `: ${news}`}`;
    return pause < PAUSE_MS ? [line] : [paint.faint(`                      … ${duration(pause)}`), line];
  });
  return events === undefined ? [...lines, paint.faint('No Events: you are not allowed to read them.')] : lines;
}

function life(object: VirtualServer): Entry[] {
  const { creationTimestamp, deletionTimestamp } = object.metadata;
  const isOver = endOfObject(object) !== undefined;
  const wait = isOver ? '' : ': since then it waits for its server to be cancelled or released';
  const { attempt, attemptedAt, task, readyAt, missingAt, expiredAt, identifier, mode } = knownRecord(object) ?? {};
  const server = identifier === undefined ? 'the server' : `server ${identifier}`;
  const known: [string | undefined, string][] = [
    [creationTimestamp, 'the object was created'],
    [attemptedAt, `order ${attempt ?? ''} began${task === undefined ? '' : `; its task is ${task}`}`],
    [readyAt, `${server} was first ready${mode === 'adopt' ? ', and had been adopted' : ''}`],
    [missingAt, `${server} counted as gone`],
    [expiredAt, `${server} was cancelled because it expired`],
    [deletionTimestamp, `the object was deleted${wait}`],
  ];
  return known.flatMap(([time, text]) => (time === undefined ? [] : [{ at: Date.parse(time), text }]));
}

function conditions(object: VirtualServer): Entry[] {
  const isOver = endOfObject(object) !== undefined;
  const past = isOver ? (object.status?.conditions ?? []) : [];
  return [
    ...past.map(({ type, status, lastTransitionTime }) => ({
      at: Date.parse(lastTransitionTime),
      text: `${type} became ${status}`,
    })),
    ...(upToDate(object).status?.conditions ?? []).map((condition) => ({
      at: Date.parse(condition.lastTransitionTime),
      // The reason may be newer than the status.
      text: isOver
        ? `now ${condition.reason}`
        : `${condition.type} became ${condition.status}; now ${condition.reason}`,
      message: inWords(condition),
    })),
  ];
}

function ofEvent(event: EventView): Entry {
  const { count = 1, reason = '', message = '' } = event;
  const repeated = count > 1 ? ` (${count} times)` : '';
  return { at: timeOfEvent(event), text: `Event ${reason}${repeated}`, message };
}
