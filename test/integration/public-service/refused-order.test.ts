/** Orders that the public service refuses: the message of the object begins with the provider's text. */
import { expect, it, vi } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, sent, stalled } from '../support/creates.ts';
import { orderIn, publicWorld, totals, WAYS } from '../support/public-service.ts';
import { condition } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const REFUSED = [400, 402, 403, 422].map((status) => ({ status, reason: 'CreateRejected' }));
const UNKNOWN = [409, 503].map((status) => ({ status, reason: 'CreateOutcomeUnknown' }));
const textOf = (status: number): string => `The words of the provider, ${status}`;

const refusals = WAYS.flatMap((orders) =>
  [...REFUSED, ...(orders === 'anonymous' ? UNKNOWN : [])].map((refusal) => ({ orders, ...refusal })),
);

it.concurrent.for(refusals)(
  '$orders: an order that gets $status is $reason, and the text of the provider comes first',
  async ({ orders, status, reason }, context) => {
    const world = await publicWorld(context, { orders });
    const text = textOf(status);
    world.simulator.faults.inject({ match: orderIn(orders), action: { kind: 'error', status, text } });
    await world.create(virtualServer('web'));
    const parked = await world.waitForReason('web', reason, 'Stalled');
    expect(stalled(parked).message.startsWith(`${text} (the provider answered ${status} to the order)`)).toBe(true);
    await world.passedBy('web');
    expect(sent(world, orderIn(orders))).toHaveLength(1);
    expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });

    // What follows a refusal, and what only you can say.
    if (reason === 'CreateRejected') await world.patch('web', { spec: { product: 'VPSX8' } });
    else await world.annotate('web', { 'not-created': attemptOf(parked) ?? '' });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  },
);

it.concurrent.for([409, 503])(
  'a named order that gets %i shows the text of the provider, and leads to one server without a person',
  async (status, context) => {
    const world = await publicWorld(context);
    const match = orderIn('named');
    world.simulator.faults.inject({ match, action: { kind: 'error', status, text: textOf(status) } });
    await world.create(virtualServer('web'));
    await world.waitFor('web', (object) => condition(object, 'Ready')?.reason === 'Creating');
    await world.waitForReason('web', 'Available', 'Ready');
    const told = (await world.events('web')).map(({ reason }) => reason);
    expect(told).not.toContain('CreateOutcomeUnknown');
    const identifiers = sent(world, match).map(({ param }) => param);
    // The identifier may be in use after a 409, so the next order has another one.
    expect(new Set(identifiers).size).toBe(status === 409 ? 2 : 1);
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  },
);

const SOLD_OUT = [
  { orders: 'named', outOfStock: 400, reason: 'CreateRejected' },
  { orders: 'named', outOfStock: 503, reason: 'Creating' },
  { orders: 'named', outOfStock: 'task', reason: 'CreateFailed' },
  { orders: 'anonymous', outOfStock: 400, reason: 'CreateRejected' },
  { orders: 'anonymous', outOfStock: 503, reason: 'CreateOutcomeUnknown' },
  { orders: 'anonymous', outOfStock: 'task', reason: 'CreateFailed' },
] as const;

it.concurrent.for(SOLD_OUT)(
  '$orders: a product that is out of stock ($outOfStock) is $reason',
  async ({ orders, outOfStock, reason }, context) => {
    const world = await publicWorld(context, { orders, variants: { outOfStock }, flags: ['--absence-grace=1m'] });
    world.simulator.provider.setStock('VPSX4', false);
    await world.create(virtualServer('web'));
    const says = /^No host has room for this product/;
    const parked = await world.waitFor(
      'web',
      (object) => condition(object, 'Ready')?.reason === reason && says.test(condition(object, 'Ready')?.message ?? ''),
    );
    expect(condition(parked, 'Ready')?.reason).toBe(reason);
    expect(totals(world)).toEqual({ ordered: outOfStock === 'task' ? 1 : 0, cancelled: 0, alive: 0 });
    if (reason !== 'Creating') return;
    world.simulator.provider.setStock('VPSX4', true);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  },
);
