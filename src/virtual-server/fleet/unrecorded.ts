/** Accepted creates whose task is not in the object's record yet, when the process is about to end. */
import type { Kube } from '../kube.ts';
import type { Logger } from '../../base/logger.ts';
import { knownRecord } from '../decision/record.ts';
import type { Journal } from '../journal/journal.ts';
import type { Objects } from './objects.ts';
import type { Visits } from '../visits.ts';

export interface UnrecordedOptions {
  kube: Pick<Kube, 'getVirtualServer'>;
  journal: Journal;
  log: Logger;
  objects: Objects;
  visits: Visits;
}

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
    task?: number;
  }): boolean {
    const object = this.#options.objects.newest(`${namespace}/${name}`);
    if (object?.metadata.uid !== uid) return true;
    const record = knownRecord(object);
    return record?.task === task || record?.orphans?.some((orphan) => orphan.task === task) === true;
  }

  async #recordTask(namespace: string, name: string, uid: string): Promise<void> {
    try {
      const live = await this.#options.kube.getVirtualServer(namespace, name);
      if (live?.metadata.uid === uid) await this.#options.visits.restore(live);
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
