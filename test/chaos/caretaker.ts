/** The simulated user who resolves parked objects, with annotations or with the kubectl plugin. */
import { ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION } from '../../src/api/names.ts';
import { currentReason } from '../../src/api/conditions.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { recordOf } from '../fixtures/records.ts';
import {
  isInUse,
  isSaid,
  isUnanswered,
  wordsAboutOrder,
  wordsAboutOrphans,
  wordsAboutUse,
  type Words,
} from '../oracles/person.ts';
import type { Arena } from './arena.ts';
import { isOrdering, sshKeysOf, type KnownObjects } from './objects.ts';
import type { Panel } from './panel.ts';
import type { People } from './people.ts';
import { runPlugin } from './plugin.ts';
import type { Traffic } from './traffic.ts';

interface CaretakerOptions {
  arena: Arena;
  namespace: string;
  objects: KnownObjects;
  panel: Panel;
  people: People;
  traffic: Traffic;
  violated: (violations: readonly string[]) => void;
}

export class Caretaker {
  /** Whether to use `kubectl vps resolve`. */
  hasPlugin = false;
  /** Whether the caretaker has said anything about an order. */
  hasAnswered = false;
  /** Whether no order may ask a person. */
  asksNobody = false;
  /** Objects that the operator has to resolve without help. */
  leaves: (object: VirtualServer) => boolean = () => false;
  readonly #options: CaretakerOptions;

  constructor(options: CaretakerOptions) {
    this.#options = options;
  }

  /** Does what the objects' conditions currently ask for. */
  async look(): Promise<void> {
    for (const object of this.#options.objects.all()) {
      if (this.asksNobody && isAsking(object) && !isProvable(object))
        this.#options.violated([`${object.metadata.name} asks a person: ${currentReason(object.status?.conditions)}`]);
      const said = this.#answer(object);
      if (said === undefined) continue;
      const words = this.hasPlugin ? wordsFor(said) : undefined;
      if (words === undefined) await this.#options.people.edit(object.metadata.name, { annotations: said });
      else await this.#runPlugin(object.metadata.name, words);
    }
  }

  /** What to say next; undefined if everything is said. */
  #answer(object: VirtualServer): Words | undefined {
    const { objects, panel, traffic } = this.#options;
    const orphans = wordsAboutOrphans(object);
    if (orphans !== undefined && !isSaid(object, orphans)) return orphans;
    const keys = sshKeysOf(object);
    const others = objects.all().filter((other) => other !== object && sshKeysOf(other) === keys);
    // A request that was cut off may arrive later than its sender knows, and the answer to another order with these keys may
    // not be in its record yet.
    const mayCome = traffic.isOnItsWay(keys) || others.some((other) => isOrdering(other) && !isUnanswered(other));
    const hasQuestion = isInUse(object) || (isUnanswered(object) && !this.asksNobody);
    if (!hasQuestion || mayCome || this.leaves(object)) return undefined;
    const server = panel.serverOf(object, others);
    const words = isInUse(object) ? wordsAboutUse(object, server) : wordsAboutOrder(object, server);
    if (words === undefined || isSaid(object, words)) return undefined;
    this.hasAnswered = true;
    return words;
  }

  async #runPlugin(name: string, words: readonly string[]): Promise<void> {
    const { arena, namespace, people, violated } = this.#options;
    const complaint = await runPlugin(arena, namespace, ['resolve', name, ...words, '--yes']);
    if (complaint !== undefined) violated([complaint]);
    // The next look at the object must already see this write.
    await people.viewOf(name);
  }
}

/** An order that has ended asks nothing, though status may say for a moment that it does. */
const isAsking = (object: VirtualServer): boolean => isUnanswered(object) && recordOf(object)?.attempt !== undefined;

/** The operator can prove by the list of servers that the order has created none. */
export const isProvable = (object: VirtualServer): boolean =>
  currentReason(object.status?.conditions) === 'CreateFailed' && recordOf(object)?.identifier !== undefined;

/** Arguments for the plugin; undefined if the plugin has no command for these annotations. */
function wordsFor(said: Words): string[] | undefined {
  if (said[NOT_CREATED_ANNOTATION] !== undefined) return ['--not-created'];
  const identifier = said[ADOPT_ANNOTATION];
  return typeof identifier === 'string' ? ['--adopt', identifier] : undefined;
}
