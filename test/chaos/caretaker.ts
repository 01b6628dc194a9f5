/** The simulated person who resolves parked objects, with annotations or with the kubectl plugin. */
import { ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION } from '../../src/api/names.ts';
import type { Arena } from './arena.ts';
import { isOrdering, sshKeysOf, type KnownObjects } from './objects.ts';
import type { Panel } from './panel.ts';
import type { People } from './people.ts';
import { asks, resolve } from './person.ts';
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
  readonly #options: CaretakerOptions;

  constructor(options: CaretakerOptions) {
    this.#options = options;
  }

  /** Does what the objects' conditions currently ask for. */
  async look(): Promise<void> {
    const { objects, panel, people, traffic } = this.#options;
    for (const object of objects.all()) {
      const keys = sshKeysOf(object);
      const others = objects.all().filter((other) => other !== object && sshKeysOf(other) === keys);
      const annotations = resolve(object, {
        serverOf: () => panel.serverOf(object, others),
        // The answer to another order with these keys may not be in its record yet.
        onItsWay: () => traffic.isOnItsWay(keys) || others.some((other) => isOrdering(other) && !asks(other)),
      });
      if (annotations === undefined) continue;
      const words = this.hasPlugin ? wordsFor(annotations) : undefined;
      if (words === undefined) await people.edit(object.metadata.name, { annotations });
      else await this.#runPlugin(object.metadata.name, words);
    }
  }

  async #runPlugin(name: string, words: readonly string[]): Promise<void> {
    const { arena, namespace, people, violated } = this.#options;
    const complaint = await runPlugin(arena, namespace, ['resolve', name, ...words, '--yes']);
    if (complaint !== undefined) violated([complaint]);
    // The next look at the object must already see this write.
    await people.viewOf(name);
  }
}

/** Arguments for the plugin; undefined if the plugin has no command for these annotations. */
function wordsFor(annotations: Record<string, string>): string[] | undefined {
  if (annotations[NOT_CREATED_ANNOTATION] !== undefined) return ['--not-created'];
  const identifier = annotations[ADOPT_ANNOTATION];
  return identifier === undefined ? undefined : ['--adopt', identifier];
}
