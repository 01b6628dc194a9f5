/** What the simulated provider shows for a while must not change what its servers cost: orders are judged by that. */
import { expect, it } from 'vitest';
import { Simulation } from '../../../src/simulator/index.ts';
import { Absences } from '../../lives/absences.ts';
import { ApiMisfortunes } from '../../lives/api-misfortunes.ts';
import { ApiServer } from '../../lives/api-server.ts';
import type { Truth } from '../../lives/caretaker.ts';
import { LateServers } from '../../lives/late-servers.ts';
import { OTHER_ACCOUNT, OWN_ACCOUNT } from '../../lives/misfortunes.ts';
import { Orders } from '../../lives/orders.ts';
import { Ownership } from '../../lives/ownership.ts';
import type { WorldApi } from '../../lives/provider-api.ts';
import { Random } from '../../lives/random.ts';

const PRICE = 12;

it.each(['awake', 'dormant'])('ends odd prices with what a server cost before that is %s', (state) => {
  const world: WorldApi = { api: 'public', variants: { asleep: 'cheaper' } };
  const random = new Random(1);
  const clock = { now: () => 0, sleep: () => Promise.resolve() };
  const simulation = new Simulation({
    ...world,
    clock,
    accounts: [
      { name: OWN_ACCOUNT, keys: ['key', 'key-2'].map((keyId) => ({ keyId, secret: 'secret' })) },
      { name: OTHER_ACCOUNT, keys: [{ keyId: 'other', secret: 'secret' }] },
    ],
  });
  const { identifier } = simulation.fleet.addServer(OWN_ACCOUNT, { price: PRICE, dormant: state === 'dormant' });
  const costs = (): unknown => simulation.fleet.find(OWN_ACCOUNT, identifier)?.object.price;

  const shown: string[] = [];
  const tell = (what: string): void => {
    if (what.startsWith(`server ${identifier} shows`)) shown.push(what);
  };
  const [api, orders] = [new ApiServer(clock.now), new Orders()];
  const ownership = new Ownership(api, simulation, orders);
  const truth = { late: new Set<number>() } as Truth;
  const late = new LateServers({ api, simulation, truth, ownership, random, tell });
  const absences = new Absences(true);
  const later = (): void => undefined;
  const parts = { simulation, orders, world, random, absences, late, now: clock.now, later, tell };
  const misfortunes = new ApiMisfortunes(parts);
  for (let act = 0; act < 100; act++) misfortunes.act();
  expect(shown.length).toBeGreaterThan(1);
  expect(costs()).not.toBe(PRICE);

  misfortunes.end();
  simulation.fleet.updateServer(identifier, { dormant: false });
  expect(costs()).toBe(PRICE);
});
