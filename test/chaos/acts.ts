/** Steps that many scenarios share. */
import type { Stage } from './stage.ts';

export async function begin(stage: Stage): Promise<void> {
  await stage.people.putSecret();
  await stage.start();
}

export async function removed(stage: Stage, name: string): Promise<void> {
  await stage.people.remove(name);
  await stage.gone(name);
}
