/**
 * Writes Events in the background. No step waits for them, and none is repeated within ten minutes unless spec has changed
 * since: what is done twice is told twice. While objects are visited, Events wait, because those who wait for a server or its
 * end wait for the API server too.
 */
import { hostname } from 'node:os';
import { MAX_MESSAGE } from '../api/meta.ts';
import { API_VERSION, GROUP } from '../api/names.ts';
import { pause } from '../base/backoff.ts';
import { durationText } from '../base/duration.ts';
import { ended } from '../base/text.ts';
import type { EventNote } from './conditions.ts';
import type { Client } from '../kube/client.ts';
import { microTime, type Event } from '../kube/kinds.ts';
import type { KubeObject } from '../kube/resource.ts';
import type { Logger } from '../base/logger.ts';
import type { Timers } from '../base/timers.ts';

const REPEAT_MS = 10 * 60_000;
/** The same for an Event after a change of spec (ms), in case two tools overwrite each other's spec. */
const REPEAT_AFTER_CHANGE_MS = 1_000;
const REMEMBERED = 10_000;
/** The oldest Event is dropped if more wait, such as for an API server that answers none: they take 1 kB of memory each. */
const MAX_WAITING = 10_000;
/** Maximum number of concurrent requests: writes of objects need the connections too, and Events can wait. */
const MAX_IN_FLIGHT = 3;
/** How long one Event lets visits go first (ms), so that at least three are sent each second. */
const YIELD_MS = 1_000;
/** How often an Event checks whether objects are still visited (ms). */
const CHECK_MS = 100;
/** The API server rejects a longer `reportingInstance`. */
const MAX_INSTANCE = 128;
const REPORTED = {
  reportingController: `${GROUP}/operator`,
  reportingInstance: `${hostname()}-${process.pid}`.slice(-MAX_INSTANCE),
};

interface Sent {
  at: number;
  generation: number;
}

export class EventRecorder {
  readonly #events: Pick<Client<Event>, 'create'>;
  readonly #timers: Timers;
  readonly #log: Logger;
  /** By object and text, the oldest first. */
  readonly #sent = new Map<string, Sent>();
  readonly #waiting: Event[] = [];
  /** By uid: the last Event about an object, while it waits. */
  readonly #last = new Map<string, Event>();
  readonly #senders = new Set<Promise<void>>();
  readonly #isBusy: () => boolean;
  /** Fires when Events wait for nothing any longer. */
  readonly #flushing = new AbortController();
  #sending = 0;

  /** `isBusy`: true while objects are visited, or wait for a visit. */
  constructor(events: Pick<Client<Event>, 'create'>, timers: Timers, log: Logger, isBusy = (): boolean => false) {
    this.#events = events;
    this.#timers = timers;
    this.#log = log;
    this.#isBusy = isBusy;
  }

  record(kind: string, { metadata }: KubeObject, action: string, notes: readonly EventNote[]): void {
    const { namespace, name, uid, resourceVersion, generation } = metadata;
    const about = {
      metadata: { namespace, generateName: `${name}-` },
      ...REPORTED,
      regarding: { apiVersion: API_VERSION, kind, namespace, name, uid, resourceVersion },
      action,
    };
    for (const { type, reason, note, follows } of notes) {
      if (this.#isRepeated(`${uid} ${reason} ${note}`, generation)) continue;
      const eventTime = microTime(this.#timers.now());
      const event = { ...about, eventTime, type, reason, note };
      if (follows !== undefined && this.#joins(event, follows)) continue;
      this.#waiting.push(event);
      this.#last.set(uid, event);
      if (this.#waiting.length > MAX_WAITING) this.#drop();
      if (this.#sending >= MAX_IN_FLIGHT) continue;
      this.#sending += 1;
      const sender = this.#send().finally(() => this.#senders.delete(sender));
      this.#senders.add(sender);
    }
  }

  /** Resolves when the API server has answered every Event. From now on, none waits for visits. */
  async flush(): Promise<void> {
    this.#flushing.abort();
    await Promise.all(this.#senders);
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      // An Event stays in the line until it is sent, so that the next one about its object can join it.
      if (this.#isBusy()) await this.#yield();
      const event = this.#next();
      if (event === undefined) break;
      const { regarding, reason } = event;
      // The API server accepts no Events in a terminating namespace; the condition and the log carry the same text.
      await this.#events
        .create(event)
        .catch((error: unknown) => this.#log.debug({ ...regarding, reason, err: error }, 'failed to write an Event'));
    }
    // In the same tick that found the queue empty, so that a later Event starts a new sender.
    this.#sending -= 1;
  }

  /** Takes the oldest one from the line. */
  #next(): Event | undefined {
    const event = this.#waiting.shift();
    const uid = event?.regarding.uid;
    if (uid !== undefined && this.#last.get(uid) === event) this.#last.delete(uid);
    return event;
  }

  #drop(): void {
    const event = this.#next();
    this.#log.debug({ ...event?.regarding, reason: event?.reason }, `dropped an Event: over ${MAX_WAITING} waited`);
  }

  /** One Event instead of two, if the one before still waits: it keeps its place in the line. */
  #joins(event: Event, follows: string): boolean {
    const before = this.#last.get(event.regarding.uid);
    if (before?.reason !== follows) return false;
    const afterMs = Date.parse(event.eventTime) - Date.parse(before.eventTime);
    const note = `${ended(before.note)} After ${durationText(afterMs)}: ${event.note}`;
    if (Buffer.byteLength(note) > MAX_MESSAGE) return false;
    Object.assign(before, event, { note });
    return true;
  }

  async #yield(): Promise<void> {
    const { signal } = this.#flushing;
    const end = this.#timers.monotonic() + YIELD_MS;
    while (this.#isBusy() && this.#timers.monotonic() < end && !signal.aborted)
      await pause(CHECK_MS, signal, this.#timers);
  }

  #isRepeated(text: string, generation: number): boolean {
    const now = this.#timers.monotonic();
    for (const [old, { at }] of this.#sent) {
      if (now - at < REPEAT_MS && this.#sent.size < REMEMBERED) break;
      this.#sent.delete(old);
    }
    const last = this.#sent.get(text);
    if (last !== undefined && (last.generation === generation || now - last.at < REPEAT_AFTER_CHANGE_MS)) return true;
    // A Map keeps the place of a key that is only set again.
    this.#sent.delete(text);
    this.#sent.set(text, { at: now, generation });
    return false;
  }
}
