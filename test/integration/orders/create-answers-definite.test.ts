/** Answers to a create that prove that no server exists: refusals wait for another spec, others are retried. */
import { describe, expect, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, CREATE, isEditable, phase, sent, stalled, triesWithGrowingPauses } from '../support/creates.ts';
import { condition, createWorld, type World } from '../support/world.ts';

/** Checks that no attempt is left, so that a crash now parks nothing and a typo can be fixed. */
async function expectNoAttempt(world: World, name: string): Promise<void> {
  const object = await world.get(name);
  expect(object && attemptOf(object)).toBeUndefined();
  expect(await isEditable(world, name)).toBe(true);
}

describe('a create that the provider refuses', () => {
  it.for([400, 402, 403, 404, 405, 413, 415, 422])(
    'waits for a changed spec after %i, and tries the changed spec at once',
    async (status) => {
      const world = await createWorld();
      world.simulator.faults.inject({
        match: CREATE,
        action: { kind: 'status', status, body: { message: 'no such luck' } },
      });
      await world.create(virtualServer('web'));
      const object = await world.waitForReason('web', 'CreateRejected', 'Stalled');
      expect(phase(object)).toBe('False/-/True');
      expect(stalled(object).message).toContain(
        `Ordering the server failed: the provider answered ${status}: no such luck`,
      );
      expect(stalled(object).message.includes('every hour')).toBe(status === 402 || status === 403);
      await expectNoAttempt(world, 'web');
      await world.passedBy('web');
      expect(sent(world)).toHaveLength(1);

      await world.patch('web', { spec: { product: 'vps-2gb' } });
      await world.waitForReason('web', 'Available', 'Ready');
      expect(sent(world)).toHaveLength(2);
      expect(world.simulator.ledger.creates().map(({ body }) => body.product)).toEqual(['vps-2gb']);
    },
  );

  it('is retried when a user asks for it, and refused again without a flood of calls', async () => {
    const world = await createWorld();
    const fault = world.simulator.faults.inject({
      match: CREATE,
      times: Infinity,
      action: { kind: 'status', status: 402 },
    });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'CreateRejected', 'Stalled');
    await world.annotate('web', { 'reconcile-at': 'now' });
    const refused = () => world.log.filter(({ step, error }) => step === 'order' && error !== undefined).length;
    await world.until(() => refused() === 2, 'the second refusal to be logged');
    await world.passedBy('web');
    expect(fault.count).toBe(2);
    await expectNoAttempt(world, 'web');
  });

  it('can be deleted without further calls', async () => {
    const world = await createWorld();
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'status', status: 422 } });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'CreateRejected', 'Stalled');
    const before = world.simulator.ledger.requestCount;
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.requestCount).toBe(before);
  });

  it("does not count against the namespace's create limit", async () => {
    const world = await createWorld({ flags: ['--max-creates-per-hour=1'] });
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'status', status: 400 } });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'CreateRejected', 'Stalled');
    await world.create(virtualServer('db'));
    await world.waitForReason('db', 'Available', 'Ready');
  });
});

describe('a create that is answered with 429', () => {
  const HOUR_AHEAD = new Date(Date.now() + 60 * 60_000).toUTCString();

  it.for(['3600', HOUR_AHEAD])('is not retried before Retry-After: %s', async (retryAfter) => {
    const world = await createWorld();
    const headers = { 'retry-after': retryAfter };
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'status', status: 429, headers } });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'ProviderRateLimited', 'Reconciling');
    expect(phase(object)).toBe('False/True/-');
    expect(condition(object, 'Ready')?.message).toContain('Nothing was ordered');
    await expectNoAttempt(world, 'web');
    await world.passedBy('web');
    expect(sent(world)).toHaveLength(1);
  });

  it.for<Record<string, string>>([{ 'retry-after': '2' }, { 'retry-after': '0' }, {}])(
    'is retried without help after %o',
    async (headers) => {
      const world = await createWorld();
      world.simulator.faults.inject({ match: CREATE, action: { kind: 'status', status: 429, headers } });
      await world.create(virtualServer('web'));
      await world.waitForReason('web', 'Available', 'Ready');
      const [first, second, ...more] = sent(world);
      expect(more).toEqual([]);
      const pauseMs = (second?.at ?? 0) - (first?.at ?? 0);
      expect(pauseMs).toBeGreaterThanOrEqual(headers['retry-after'] === '2' ? 2000 : 900);
      expect(world.simulator.aliveServers()).toHaveLength(1);
    },
  );
});

describe('a create that is answered with 401', () => {
  it('is retried with a new token, and creates one server', async () => {
    const world = await createWorld();
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'status', status: 401 } });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(2);
    expect(world.simulator.ledger.logins()).toHaveLength(2);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('is not created while every token is refused, makes few calls, and recovers', async () => {
    const world = await createWorld();
    const fault = world.simulator.faults.inject({
      match: CREATE,
      times: Infinity,
      action: { kind: 'status', status: 401 },
    });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'Unauthorized', 'Stalled');
    expect(phase(object)).toBe('False/-/True');
    await expectNoAttempt(world, 'web');
    for (let visit = 0; visit < 5; visit++) await world.passedBy('web');
    // Each try takes two calls and a login.
    expect(fault.count).toBeLessThanOrEqual(2 * triesWithGrowingPauses(world, sent(world)[0]?.at ?? 0));
    expect(world.simulator.ledger.logins().length).toBeLessThanOrEqual(1 + fault.count / 2);
    fault.remove();
    await world.annotate('web', { 'reconcile-at': 'now' });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});
