/** The person who looks after parked objects in the simulation, and says truthfully what the service shows. */
import {
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  START_ANEW_ANNOTATION,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { orphanName } from '../../src/decision/inputs.ts';
import { currentReason } from '../../src/decision/verdict.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { identifierOf } from './oracles.ts';

/** A minute, and another one since the clock that wrote the time of the attempt may be that far off. */
const PATIENCE_MS = 150_000;

/** What the truth is, beside what the operator believes. */
export interface Truth {
  /** Identifiers of servers that somebody cancelled in the customer panel. */
  removed: Set<string>;
  /** By SSH key: attempts that a person let be made again, because the server of the object is gone. */
  again: Map<unknown, Set<string>>;
  /** By uid: when somebody last changed what guards the server; a DELETE that is under way cannot know. */
  guardedAt: Map<string, number>;
  /** By uid: when somebody last gave the server more time. */
  extendedAt: Map<string, number>;
}

export class Caretaker {
  readonly #api: ApiServer;
  readonly #service: Simulation;
  readonly #truth: Truth;
  readonly #now: () => number;
  readonly #tell: (what: string) => void;

  constructor(api: ApiServer, service: Simulation, truth: Truth, now: () => number, tell: (what: string) => void) {
    this.#api = api;
    this.#service = service;
    this.#truth = truth;
    this.#now = now;
    this.#tell = tell;
  }

  /** Does what the condition of the object asks for, if it asks for anything. */
  resolve(object: VirtualServer): void {
    const { namespace, name, uid } = object.metadata;
    const reason = currentReason(object.status?.conditions);
    const { attempt, attemptedAt, orphans } = object.status?.record ?? {};
    // A request that was cut off may arrive later than its sender knows: whoever looks at the service waits a little.
    if (attemptedAt !== undefined && this.#now() - Date.parse(attemptedAt) < PATIENCE_MS) return;
    if (reason === 'RecordMismatch') {
      this.#tell(`start ${namespace}/${name} anew`);
      this.#api.annotate(namespace, name, { [START_ANEW_ANNOTATION]: uid });
    }
    if ((reason === 'CreateOutcomeUnknown' || reason === 'TaskNotFound') && attempt !== undefined) {
      const identifier = this.#serverOf(object);
      if (identifier === undefined) {
        this.#excuse(object, attempt);
        this.#tell(`not-created ${attempt} for ${namespace}/${name}`);
        this.#api.annotate(namespace, name, { [NOT_CREATED_ANNOTATION]: attempt });
      } else {
        this.#tell(`adopt ${identifier} by ${namespace}/${name}`);
        this.#api.annotate(namespace, name, { [ADOPT_ANNOTATION]: identifier });
      }
    }
    if (reason === 'OrphanedServer' && orphans !== undefined) {
      this.#cancelUnheld(object);
      const handled = orphans.map(orphanName).join(',');
      this.#tell(`orphan-handled ${handled} of ${namespace}/${name}`);
      this.#api.annotate(namespace, name, { [ORPHAN_HANDLED_ANNOTATION]: handled });
    }
    // Whom they wanted to adopt has gone meanwhile.
    if (reason === 'ServerNotVisible' && this.#serverOf(object) === undefined) {
      if (attempt !== undefined) this.#excuse(object, attempt);
      this.#tell(`no longer adopt by ${namespace}/${name}`);
      this.#api.annotate(namespace, name, {
        [ADOPT_ANNOTATION]: null,
        ...(attempt !== undefined && { [NOT_CREATED_ANNOTATION]: attempt }),
      });
    }
    if (reason === 'IdentifierInUse') this.#api.annotate(namespace, name, { [ADOPT_ANNOTATION]: null });
    if (reason === 'InvalidSpec') this.#api.editSpec(namespace, name, { product: 'vps-1gb' });
  }

  #excuse({ spec }: VirtualServer, attempt: string): void {
    const key = spec.sshKeys?.[0];
    if (!this.#service.ledger.creates().some(({ body }) => body.ssh_keys === key)) return;
    this.#truth.again.set(key, (this.#truth.again.get(key) ?? new Set()).add(attempt));
  }

  /** In the customer panel. */
  #cancelUnheld(object: VirtualServer): void {
    const held = new Set(this.#api.list().map(identifierOf));
    for (const identifier of this.#serversOf(object).filter((one) => !held.has(one))) {
      this.#tell(`remove server ${identifier}, which nobody holds`);
      this.#service.fleet.removeServer(identifier);
      this.#truth.removed.add(identifier);
    }
  }

  #serverOf(object: VirtualServer): string | undefined {
    return this.#serversOf(object)[0];
  }

  /** Those that were ordered for this object and are alive, or will be when their task ends. */
  #serversOf({ spec }: VirtualServer): string[] {
    const created = this.#service.ledger.creates().filter(({ body }) => body.ssh_keys === spec.sshKeys?.[0]);
    const { removed } = this.#truth;
    return created
      .map(({ identifier }) => identifier)
      .filter((identifier) => !removed.has(identifier) && this.#isThere(identifier));
  }

  #isThere(identifier: string): boolean {
    return this.#service.ledger.cancels({ identifier }).length === 0;
  }
}
