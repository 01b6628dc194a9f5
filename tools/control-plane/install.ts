/** Moves finished programs into the cache. */
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Both folders must be on the same file system: each rename is atomic, so a reader never runs an incomplete program.
 */
export async function install(from: string, folder: string, names: string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of names) await rename(join(from, name), join(folder, name));
}
