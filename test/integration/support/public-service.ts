/** Worlds whose provider answers as public documents and clients of it tell. */
import type { TestContext } from 'vitest';
import type { SimulatorOptions } from '../../../src/simulator/index.ts';
import { mirrorIn, type ServerRecord } from '../../../src/api/record.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

export const SERVER = '/beta/vps/servers/{identifier}';
export const TASK = '/beta/queue/vps/{task}';

/** Both ways in which orders go. */
export const WAYS = ['named', 'anonymous'] as const;
export type Way = (typeof WAYS)[number];

/** The order itself. */
export const orderIn = (way: Way) =>
  ({ method: 'POST', route: way === 'named' ? SERVER : '/beta/vps/servers' }) as const;

type Options = WorldOptions & Pick<SimulatorOptions, 'variants'> & { orders?: Way };

/** For tests that run side by side, because they mostly wait. */
export function publicWorld(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  { variants = {}, simulator, orders = 'named', flags = [], ...options }: Options = {},
): Promise<World> {
  const way = orders === 'anonymous' ? ['--orders=anonymous'] : [];
  return createWorld({
    ...options,
    flags: [...way, ...flags],
    onTestFinished,
    simulator: { api: 'public', variants, ...simulator },
  });
}

interface Totals {
  ordered: number;
  cancelled: number;
  alive: number;
}

/** How many servers were ordered and cancelled so far, and how many exist. */
export function totals({ simulator }: World): Totals {
  const { ledger } = simulator;
  return { ordered: ledger.creates().length, cancelled: ledger.cancelCount, alive: simulator.aliveServers().length };
}

/** The record, once the task of the object has named a server. */
export async function named(world: World, name: string): Promise<Partial<ServerRecord>> {
  const { status } = await world.waitFor(name, (object) => mirrorIn(object.status)?.identifier !== undefined);
  return mirrorIn(status) ?? {};
}
