/** Orders that the public service refuses: the message of the object begins with the provider's text. */
import { expect, it, vi } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, CREATE, sent, stalled } from '../support/creates.ts';
import { publicWorld, totals } from '../support/public-service.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const REFUSED = [400, 402, 403, 422].map((status) => ({ status, reason: 'CreateRejected' }));
const UNKNOWN = [409, 503].map((status) => ({ status, reason: 'CreateOutcomeUnknown' }));

it.concurrent.for([...REFUSED, ...UNKNOWN])(
  'an order that gets $status is $reason, and the text of the provider comes first',
  async ({ status, reason }, context) => {
    const world = await publicWorld(context);
    const text = `The words of the service, ${status}`;
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'error', status, text } });
    await world.create(virtualServer('web'));
    const parked = await world.waitForReason('web', reason, 'Stalled');
    expect(stalled(parked).message.startsWith(`${text} (the provider answered ${status} to the order)`)).toBe(true);
    await world.passedBy('web');
    expect(sent(world)).toHaveLength(1);
    expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });

    // What follows a refusal, and what only you can say.
    if (reason === 'CreateRejected') await world.patch('web', { spec: { product: 'VPSX8' } });
    else await world.annotate('web', { 'not-created': attemptOf(parked) ?? '' });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  },
);

it.concurrent.for([
  { outOfStock: 400, reason: 'CreateRejected' },
  { outOfStock: 503, reason: 'CreateOutcomeUnknown' },
  { outOfStock: 'task', reason: 'CreateFailed' },
] as const)('a product that is out of stock ($outOfStock) is $reason', async ({ outOfStock, reason }, context) => {
  const world = await publicWorld(context, { variants: { outOfStock }, flags: ['--absence-grace=1m'] });
  world.simulator.provider.setStock('VPSX4', false);
  await world.create(virtualServer('web'));
  const parked = await world.waitForReason('web', reason, 'Stalled');
  expect(stalled(parked).message).toMatch(/^No host has room for this product/);
  expect(totals(world)).toEqual({ ordered: outOfStock === 'task' ? 1 : 0, cancelled: 0, alive: 0 });
});
