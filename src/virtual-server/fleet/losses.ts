/** Reports servers that may be left behind without an object that can hold them. */
import { FINALIZER, RECORD_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { holdsSomething, knownRecord } from '../decision/record.ts';
import type { Logger } from '../../base/logger.ts';
import { counter, type Metrics } from '../../base/metrics.ts';
import type { Journal } from '../journal/journal.ts';

const LOST = counter(
  'vps_operator_lost_servers_total',
  'Finalizers that someone else removed while a server may have existed. The log names the servers.',
);

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
