/** Says aloud what may have been left behind where nobody can hold it any more. */
import { FINALIZER, RECORD_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { holdsSomething, knownRecord } from '../decision/record.ts';
import type { Logger } from '../../base/logger.ts';
import type { ServerInstruments } from '../instruments.ts';
import type { Journal } from '../journal/journal.ts';

export class Losses {
  readonly #journal: Journal;
  readonly #log: Logger;
  readonly #leads: () => boolean;
  readonly #instruments: Pick<ServerInstruments, 'serverLost'>;
  /** Finalizers that somebody else took off while a server may have been there. */
  #forced = 0;

  constructor(journal: Journal, log: Logger, leads: () => boolean, instruments: Pick<ServerInstruments, 'serverLost'>) {
    this.#journal = journal;
    this.#log = log;
    this.#leads = leads;
    this.#instruments = instruments;
  }

  /** The operator takes the record off together with the finalizer: who leaves the record took the finalizer off by force. */
  report(object: VirtualServer): void {
    // Whom another process has replaced meanwhile cannot tell what that one has released.
    if (!this.#leads()) return;
    const { namespace, name, uid, finalizers, annotations } = object.metadata;
    // What only an earlier process knew of may have been released by it in good order.
    const note = this.#journal.entries(uid).findLast((entry) => entry.own && entry.state !== 'minted');
    const record = annotations?.[RECORD_ANNOTATION] === undefined ? undefined : knownRecord(object);
    const left = record !== undefined && holdsSomething(record) ? record : note;
    if (left === undefined || record?.expiredAt !== undefined) return;
    const { attempt, task } = left;
    const identifier = record?.identifier;
    this.#forced += 1;
    this.#instruments.serverLost();
    const fields = { namespace, name, uid, identifier, task, attempt, total: this.#forced };
    // Where ours was the last finalizer, the watch shows the object as it was before somebody took it off.
    const seen = finalizers?.includes(FINALIZER) !== true;
    const what = seen ? 'finalizer was removed by force' : 'object is gone and was not released by this process';
    this.#log.error(fields, `${what}: a server may be left that no object refers to`);
  }

  /** Attempts of an earlier process whose objects went away while nobody looked. */
  reportUnseen(objects: readonly VirtualServer[]): void {
    const present = new Set(objects.map((object) => object.metadata.uid));
    for (const uid of this.#journal.uids()) {
      if (present.has(uid)) continue;
      for (const { namespace, name, attempt, task, state } of this.#journal.entries(uid)) {
        if (state === 'minted') continue;
        this.#log.error(
          { namespace, name, uid, attempt, task },
          'journal knows of an attempt whose object is not to be seen',
        );
      }
    }
  }
}
