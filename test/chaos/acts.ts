/** Steps that many scenarios share. */
import type { Exchange } from './exchange.ts';
import type { Stage } from './stage.ts';

export const isCreate = ({ method, path }: Exchange): boolean => method === 'POST' && path.endsWith('/servers');

export async function begin(stage: Stage): Promise<void> {
  await stage.people.putSecret();
  await stage.start();
}

export async function removed(stage: Stage, name: string): Promise<void> {
  await stage.people.remove(name);
  await stage.gone(name);
}
