/** Finds the VirtualServers that concern a set, without walking through all of them. */
import { SET_KIND, SET_LABEL } from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { VirtualServerSet } from '../api/virtual-server-set.ts';
import { keyOf } from '../kube/resource.ts';
import type { Informer } from '../controller/informer.ts';
import { limitsOf } from './decision/limits.ts';
import { nameOf, givingSet } from './decision/template.ts';

export interface CandidatesOptions {
  servers: Pick<Informer<VirtualServer>, 'subscribe'>;
  /** The newest known version of a VirtualServer, by key. */
  newest: (key: string) => VirtualServer | undefined;
  sets: Pick<Informer<VirtualServerSet>, 'get'>;
}

export class Candidates {
  readonly #options: CandidatesOptions;
  /** Keys of VirtualServers by the key of each set that controls them or that their label names. */
  readonly #bySet = new Map<string, Set<string>>();

  constructor(options: CandidatesOptions) {
    this.#options = options;
    options.servers.subscribe({
      onUpsert: (key, object, previous) => {
        if (previous !== undefined) this.#remove(key, previous);
        for (const set of claims(object)) this.#bySet.set(set, (this.#bySet.get(set) ?? new Set()).add(key));
      },
      onGone: (key, last) => this.#remove(key, last),
    });
  }

  /** The keys of the sets whose next step may depend on this object. */
  setsOf(object: VirtualServer): string[] {
    const { namespace, name } = object.metadata;
    const namesake = givingSet(name);
    const keys = namesake === undefined ? claims(object) : new Set([...claims(object), `${namespace}/${namesake}`]);
    return [...keys].filter((key) => this.#options.sets.get(key) !== undefined);
  }

  /** The newest known versions of everything that `planSet` has to see: members, orphans, and holders of a name. */
  of(set: VirtualServerSet): VirtualServer[] {
    const { namespace, name } = set.metadata;
    const keys = new Set(this.#bySet.get(keyOf(set)));
    const { servers } = limitsOf(set.spec);
    for (let ordinal = 0; ordinal < servers; ordinal += 1) keys.add(`${namespace}/${nameOf(name, ordinal)}`);
    return [...keys].flatMap((key) => this.#options.newest(key) ?? []);
  }

  #remove(key: string, object: VirtualServer): void {
    for (const set of claims(object)) {
      const keys = this.#bySet.get(set);
      keys?.delete(key);
      if (keys?.size === 0) this.#bySet.delete(set);
    }
  }
}

const NONE: readonly string[] = [];

function claims({ metadata: { namespace, labels, ownerReferences = [] } }: VirtualServer): readonly string[] {
  // Most objects belong to no set.
  if (labels === undefined && ownerReferences.length === 0) return NONE;
  const owners = ownerReferences.filter(({ kind, controller }) => kind === SET_KIND && controller === true);
  const label = labels?.[SET_LABEL];
  const names = new Set([...owners.map(({ name }) => name), ...(label === undefined ? [] : [label])]);
  return [...names].map((name) => `${namespace}/${name}`);
}
