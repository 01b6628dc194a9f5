/** Tokens: short lifetimes in both notations, revoked tokens, and failing logins. */
import { describe, expect, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { sent, triesWithGrowingPauses } from '../support/creates.ts';
import { createWorld, type World } from '../support/world.ts';

const LOGIN = { route: '/login' } as const;
const POLL = { route: '/beta/queue/vps/{task}' } as const;
const NAMES = ['a', 'b', 'c', 'd', 'e'];

async function polls(world: World, more: number): Promise<void> {
  const count = () => world.simulator.ledger.requests({ ...POLL, status: 200 }).length;
  const from = count();
  await world.until(() => count() >= from + more, `${more} polls`);
}

function refusals(world: World): number {
  return world.simulator.ledger.requests({ status: 401 }).length;
}

describe('a token with a short lifetime', () => {
  it.for(['sliding', 'issue'] as const)('is renewed in time when its lifetime counts from %s', async (tokenExpiry) => {
    const world = await createWorld({ simulator: { tokenLifetimeSeconds: 1, tokenExpiry, taskDurationMs: 2500 } });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Available', 'Ready');
    await world.delete('web');
    await world.waitGone('web');
    const logins = world.simulator.ledger.logins();
    const seconds = ((logins.at(-1)?.at ?? 0) - (logins[0]?.at ?? 0)) / 1000;
    expect(logins.length).toBeGreaterThan(2);
    // One login per 0.8 s, plus one for each token that expired on the way because the machine was busy.
    expect(logins.length).toBeLessThanOrEqual(1 + Math.ceil(seconds / 0.7) + refusals(world));
    expect(sent(world)).toHaveLength(1);
  });

  it('is replaced after the first refusal if it expires earlier than the provider said', async () => {
    const world = await createWorld({
      simulator: { tokenLifetimeSeconds: 1, tokenExpiry: 'issue', taskDurationMs: 2500 },
    });
    const lie = (body: unknown): object => ({ ...(body as object), expires_in: 3600 });
    world.simulator.faults.inject({ match: LOGIN, times: Infinity, action: { kind: 'body', body: lie } });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Available', 'Ready');
    expect(refusals(world)).toBeGreaterThan(0);
    expect(world.simulator.ledger.logins()).toHaveLength(1 + refusals(world));
    expect(sent(world)).toHaveLength(1);
  });
});

describe('a revoked token', () => {
  it('is replaced by one login for all servers that are being created', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    for (const name of NAMES) await world.create(virtualServer(name));
    for (const name of NAMES) await world.waitFor(name, (object) => object.status?.record?.identifier !== undefined);
    world.simulator.accounts.forgetTokens();
    await polls(world, 20);
    expect(refusals(world)).toBeGreaterThan(0);
    expect(refusals(world)).toBeLessThanOrEqual(NAMES.length);
    expect(world.simulator.ledger.logins()).toHaveLength(2);
    for (const name of NAMES) expect((await world.get(name))?.status?.conditions?.[0]?.reason).toBe('Creating');
  });

  it("does not prevent a server's cancellation", async () => {
    const world = await createWorld();
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Available', 'Ready');
    world.simulator.accounts.forgetTokens();
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.ledger.logins()).toHaveLength(2);
  });
});

describe('a login that fails', () => {
  it.for([
    { name: '500', action: { kind: 'status', status: 500 }, reason: 'ProviderUnavailable' },
    { name: '503 with Retry-After: 0', action: retryAfter(503), reason: 'ProviderUnavailable' },
    { name: '429 with Retry-After: 0', action: retryAfter(429), reason: 'ProviderRateLimited' },
    { name: 'a reset', action: { kind: 'reset' }, reason: 'ProviderUnavailable' },
    { name: 'HTML', action: { kind: 'garbage', form: 'html' }, reason: 'ProviderProtocolError' },
    { name: 'no token', action: { kind: 'body', body: { token_type: 'bearer' } }, reason: 'ProviderProtocolError' },
    { name: '400 other than invalid_client', action: invalidRequest(), reason: 'ProviderUnavailable' },
  ] as const)('claims nothing, makes few calls, and is retried: $name', async ({ action, reason }) => {
    const world = await createWorld();
    const fault = world.simulator.faults.inject({ match: LOGIN, times: Infinity, action });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', reason);
    expect(object.metadata.finalizers).toBeUndefined();
    for (let visit = 0; visit < 5; visit++) await world.passedBy('web');
    const [first] = world.simulator.ledger.requests(LOGIN);
    expect(fault.count).toBeLessThanOrEqual(triesWithGrowingPauses(world, first?.at ?? 0));
    fault.remove();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });
});

function retryAfter(status: number) {
  return { kind: 'status', status, headers: { 'retry-after': '0' } } as const;
}

function invalidRequest() {
  return { kind: 'status', status: 400, body: { error: 'invalid_request', error_description: 'no' } } as const;
}
