/**
 * The newest known version of every object in one namespace and of its catalog, from a watch and from answers to the
 * operator and to people.
 */
import { currentReason } from '../../src/api/conditions.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import type { TaskNumber } from '../../src/base/exact-numbers.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import { isOlder } from '../../src/kube/resource.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import type { World } from './labels.ts';
import { allowedBy } from './sets.ts';
import { recordOf } from '../fixtures/records.ts';

export class KnownObjects implements World {
  /** The catalog written last; no scenario has more than one. */
  catalog: ServerCatalog | undefined;
  /** The set written last; no scenario has more than one. */
  set: VirtualServerSet | undefined;
  /** How many servers the set has allowed at most so far. */
  mostAllowed: number | undefined;
  /** By uid: every list of host keys that the status has had, in order; empty if the status was wiped. */
  readonly hostKeys = new Map<string, string[]>();
  readonly #byName = new Map<string, VirtualServer>();
  readonly #gone = new Set<string>();
  /** By SSH keys: the uids of all objects that have asked for a server with them; members of a set share them. */
  readonly #asking = new Map<string, Set<string>>();
  /** Its ledger shows by SSH key which object a server was ordered for. */
  readonly #simulator: Simulator;

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
  }

  saw(object: VirtualServer): void {
    const { name, uid, deletionTimestamp, finalizers = [] } = object.metadata;
    const keys = sshKeysOf(object);
    this.#asking.set(keys, (this.#asking.get(keys) ?? new Set()).add(uid));
    const known = this.#byName.get(name);
    if (this.#gone.has(uid) || (known !== undefined && !isNewer(object, known))) return;
    // The write that removes the last finalizer returns an object that no longer exists.
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.gone(object);
    else this.#byName.set(name, object);
    const history = this.hostKeys.get(uid) ?? [];
    const now = (object.status?.sshHostKeys ?? []).map(({ key }) => key).join();
    if (now !== (history.at(-1) ?? '')) this.hostKeys.set(uid, [...history, now]);
  }

  sawCatalog(catalog: ServerCatalog): void {
    if (this.catalog === undefined || isNewer(catalog, this.catalog)) this.catalog = catalog;
  }

  sawSet(set: VirtualServerSet): void {
    this.mostAllowed = Math.max(this.mostAllowed ?? 0, allowedBy(set));
    if (this.set === undefined || isNewer(set, this.set)) this.set = set;
  }

  gone({ metadata: { name, uid } }: VirtualServer): void {
    this.#gone.add(uid);
    if (this.#byName.get(name)?.metadata.uid === uid) this.#byName.delete(name);
  }

  all(): VirtualServer[] {
    return [...this.#byName.values()];
  }

  object(name: string): VirtualServer | undefined {
    return this.#byName.get(name);
  }

  /** The reason for the object's present generation; undefined until the operator has reported on it. */
  reason(name: string): string | undefined {
    const object = this.object(name);
    const isCurrent = object?.status?.conditions?.some(
      ({ type, observedGeneration }) => type === 'Ready' && observedGeneration === object.metadata.generation,
    );
    return isCurrent === true ? currentReason(object?.status?.conditions) : undefined;
  }

  holder(what: { identifier: string } | { task: TaskNumber }): VirtualServer | undefined {
    const identifier =
      'identifier' in what
        ? what.identifier
        : this.#simulator.ledger.creates().find(({ task }) => task === what.task)?.identifier;
    const task = 'task' in what ? what.task : undefined;
    return this.all().find((object) => {
      const record = recordOf(object);
      return record !== undefined && (record.identifier === identifier || (task !== undefined && record.task === task));
    });
  }

  ordering(sshKeys: unknown): VirtualServer | undefined {
    const asking = this.all().filter((object) => sshKeysOf(object) === sshKeys);
    return asking.find(isOrdering) ?? asking[0];
  }

  /** How many objects have asked for a server with these SSH keys so far. */
  asked(sshKeys: unknown): number {
    return this.#asking.get(String(sshKeys))?.size ?? 0;
  }
}

/** As an order sends them. */
export function sshKeysOf({ spec }: VirtualServer): string {
  return spec.sshKeys?.join('\n') ?? '';
}

/** Whether the object has an open attempt, of which it knows no result. */
export function isOrdering(object: VirtualServer): boolean {
  const { attempt, task, identifier } = recordOf(object) ?? {};
  return attempt !== undefined && task === undefined && identifier === undefined;
}

function isNewer(a: KubeObject, b: KubeObject): boolean {
  return isOlder(b.metadata.resourceVersion, a.metadata.resourceVersion);
}
