/** Annotates many objects in order, and continues after a failure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { tell, type Context } from '../cluster/context.ts';
import { CommandError, MovedError } from '../terminal/failure.ts';
import { clean } from '../terminal/terminal.ts';

export interface AnnotationChange {
  /** As the user was shown it. */
  object: VirtualServer;
  /** The object, as the user knows it. */
  what: string;
  /** What the command says after the write. */
  done: string;
  /** Rejects with MovedError if the object has changed since it was read. */
  write: (object: VirtualServer) => Promise<void>;
  /** Reads the object again; undefined if the command would now do something else with it. */
  look: () => Promise<VirtualServer | undefined>;
}

/** How often an object is annotated while the operator writes it. */
const ATTEMPTS = 5;

/** Reports each change. Resolves with the objects that were not annotated. */
export async function annotateAll(context: Context, changes: readonly AnnotationChange[]): Promise<string[]> {
  const failed: string[] = [];
  for (const change of changes) {
    const { what, done } = change;
    try {
      await annotate(change);
      tell(context, [clean(`${what} ${done}`)]);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      failed.push(what);
      tell(context, [clean(`${what} is not annotated: ${error.message}`)]);
    }
  }
  return failed;
}

/** The operator may report the object at any time, for example for the first time after a restore. */
async function annotate({ object, write, look }: AnnotationChange): Promise<void> {
  const { uid, generation } = object.metadata;
  let newest = object;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await write(newest);
      return;
    } catch (error) {
      if (!(error instanceof MovedError) || attempt === ATTEMPTS) throw error;
      const now = await look();
      if (now?.metadata.uid !== uid || now.metadata.generation !== generation) throw error;
      newest = now;
    }
  }
}
