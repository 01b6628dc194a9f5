/** Servers that may be left behind without an object that can hold them. */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import { FINALIZER, RECORD_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { holdsSomething, knownRecord } from '../decision/known-record.ts';
import type { Logger } from '../../base/logger.ts';
import { counter, type Metrics } from '../../base/metrics.ts';
import type { Journal } from '../journal/journal.ts';
import type { Kube } from '../kube.ts';
import type { Objects } from './objects.ts';

const LOST = counter(
  'vps_operator_lost_servers_total',
  'Finalizers that someone else removed while a server may have existed. The log names the servers.',
);

/** Reports objects that are gone and may have left a server behind. */
export class Losses {
  readonly #journal: Journal;
  readonly #log: Logger;
  readonly #leads: () => boolean;
  readonly #metrics: Metrics;
  /** Finalizers that others removed while a server may have existed. */
  #forced = 0;

  constructor(journal: Journal, log: Logger, leads: () => boolean, metrics: Metrics) {
    this.#journal = journal;
    this.#log = log;
    this.#leads = leads;
    this.#metrics = metrics;
    metrics.begin(LOST, {});
  }

  /** The operator removes the record together with the finalizer, so a record that is left means a removal by force. */
  report(object: VirtualServer): void {
    // A deposed leader cannot know what its successor released.
    if (!this.#leads()) return;
    const { namespace, name, uid, finalizers, annotations } = object.metadata;
    // An earlier process may have released what only it knew about, so only entries of this process count.
    const note = this.#journal.entries(uid).findLast((entry) => entry.own && entry.state !== 'minted');
    const record = annotations?.[RECORD_ANNOTATION] === undefined ? undefined : knownRecord(object);
    const left = record !== undefined && holdsSomething(record) ? record : note;
    if (left === undefined || record?.expiredAt !== undefined) return;
    const { attempt, task } = left;
    const identifier = record?.identifier;
    this.#forced += 1;
    this.#metrics.add(LOST, {});
    const fields = { namespace, name, uid, identifier, task, attempt, total: this.#forced };
    // If the operator's finalizer was the last one, the watch shows only the version before its removal.
    const seen = finalizers?.includes(FINALIZER) !== true;
    const what = seen ? 'finalizer was removed by force' : 'object is gone and was not released by this process';
    this.#log.error(fields, `${what}: a server may be left that no object refers to`);
  }

  /** Reports attempts of an earlier process whose objects disappeared while no operator was watching. */
  reportUnseen(objects: readonly VirtualServer[]): void {
    const present = new Set(objects.map((object) => object.metadata.uid));
    for (const uid of this.#journal.uids()) {
      if (present.has(uid)) continue;
      for (const { namespace, name, attempt, task, state } of this.#journal.entries(uid)) {
        if (state === 'minted') continue;
        this.#log.error(
          { namespace, name, uid, attempt, task },
          'the journal has an attempt whose object does not exist',
        );
      }
    }
  }
}

export interface UnrecordedOptions {
  kube: Pick<Kube, 'getVirtualServer'>;
  journal: Journal;
  log: Logger;
  objects: Objects;
  /** Records what the journal knows and the object does not have yet. */
  restore: (object: VirtualServer) => Promise<void>;
}

/** Accepted orders whose task is not in the object's record yet, when the process is about to end. */
export class Unrecorded {
  readonly #options: UnrecordedOptions;

  constructor(options: UnrecordedOptions) {
    this.#options = options;
  }

  /** Tries once to record all of them; false while any is left. */
  async record(): Promise<boolean> {
    const left = this.#left();
    if (left.length === 0) return true;
    const objects = left.map(({ namespace, name }) => `${namespace}/${name}`);
    this.#options.log.error({ objects }, 'tasks are not recorded yet: retrying');
    for (const { namespace, name, uid } of left) await this.#recordTask(namespace, name, uid);
    return this.#left().length === 0;
  }

  /** Accepted creates whose task is not in the object's record yet. */
  #left(): { namespace: string; name: string; uid: string }[] {
    const { journal } = this.#options;
    return journal.uids().flatMap((uid) => {
      const lacking = journal
        .entries(uid)
        .find((entry) => entry.own && entry.state === 'task' && !this.#isRecorded(entry));
      return lacking === undefined ? [] : [{ namespace: lacking.namespace, name: lacking.name, uid }];
    });
  }

  #isRecorded({
    namespace,
    name,
    uid,
    task,
  }: {
    namespace: string;
    name: string;
    uid: string;
    task?: TaskNumber;
  }): boolean {
    const object = this.#options.objects.newest(`${namespace}/${name}`);
    if (object?.metadata.uid !== uid) return true;
    const record = knownRecord(object);
    const others = [...(record?.orphans ?? []), ...(record?.failed ?? [])];
    return record?.task === task || others.some((other) => other.task === task);
  }

  async #recordTask(namespace: string, name: string, uid: string): Promise<void> {
    try {
      const live = await this.#options.kube.getVirtualServer(namespace, name);
      if (live?.metadata.uid === uid) await this.#options.restore(live);
      else await this.#giveUp(namespace, name, uid);
    } catch (error) {
      this.#options.log.warn({ namespace, name, uid, err: error }, 'task not recorded');
    }
  }

  /** The object is gone and cannot record the task, so the log must. */
  async #giveUp(namespace: string, name: string, uid: string): Promise<void> {
    const { journal, log } = this.#options;
    for (const { attempt, task } of journal.entries(uid)) {
      log.error(
        { namespace, name, uid, attempt, task },
        'object is gone: a server may be left that no object refers to',
      );
    }
    await journal.drop(uid);
  }
}
