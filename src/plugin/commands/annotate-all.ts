/** Annotates many objects in order, and continues after a failure. */
import { tell, type Context } from '../cluster/context.ts';
import { CommandError } from '../terminal/failure.ts';
import { clean } from '../terminal/terminal.ts';

export interface AnnotationChange {
  /** The object, as the user knows it. */
  what: string;
  /** What the command says after the write. */
  done: string;
  write: () => Promise<void>;
}

/** Reports each change. Resolves with the objects that were not annotated. */
export async function annotateAll(context: Context, changes: readonly AnnotationChange[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { what, done, write } of changes) {
    try {
      await write();
      tell(context, [clean(`${what} ${done}`)]);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      failed.push(what);
      tell(context, [clean(`${what} is not annotated: ${error.message}`)]);
    }
  }
  return failed;
}
