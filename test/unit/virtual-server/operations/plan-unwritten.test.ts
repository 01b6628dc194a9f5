/** The pause after an order that the provider has refused holds although the API server refuses to store it. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { CreateOutcome } from '../../../../src/provider/types.ts';
import { CreateLimit } from '../../../../src/virtual-server/shared/limits.ts';
import { KNOWN, NOW, web, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const HOUR = 3_600_000;
const refusal = new KubeError('Forbidden', 'a policy forbids it', { status: 403 });
const rejected = {
  kind: 'refused',
  status: 400,
  error: new ResponseError(400, 'no such product', { said: 'no' }),
} as const;
const limited = {
  kind: 'notCreated',
  error: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', { retryAfterMs: HOUR }),
} as const;

/** Visits five seconds apart, whose first one begins at `object`. */
async function repeated(object: VirtualServer, given: Given, times = 8): Promise<Visited & { seen: string[] }> {
  const seen: string[] = [];
  let last = await visit(object, { ...given, fails: true });
  seen.push(...last.calls);
  for (let n = 1; n < times; n++) {
    last = await visit(last.object ?? object, { ...given, fails: true, memo: last.memo, now: NOW + n * 5_000 });
    seen.push(...last.calls);
  }
  return { ...last, seen };
}
const count = (calls: readonly string[], call: string): number => calls.filter((one) => one === call).length;

describe.each<[string, CreateOutcome & object]>([
  ['refused', rejected],
  ['told to wait an hour', limited],
])('an order that was %s', (_, order) => {
  it.each([
    ['order', { answers: { order } }],
    ['named', { ordersNamed: true, answers: { named: order as typeof limited } }],
  ] as const)('is not sent again while the status cannot be written (%s)', async (call, given) => {
    const waits = await repeated(web({}), { ...given, refusesStatus: refusal });
    expect(count(waits.seen, call)).toBe(1);
    const { object = web({}), memo } = waits;
    // The status tells it as soon as it can be written, and the order follows in time.
    const told = await visit(object, { ...given, memo, now: NOW + 120_000 });
    expect(told.requests).toEqual([]);
    expect(shownBy(told).reason).toBe(order.kind === 'refused' ? 'CreateRejected' : 'ProviderRateLimited');
    expect((await visit(object, { ...given, memo, now: NOW + HOUR + 1 })).requests).toHaveLength(1);
  });

  it('is not sent again while the end of its claim cannot be written', async () => {
    const named = order as typeof limited;
    const given: Given = { ordersNamed: true, answers: { named, server: DENIED, servers: [] } };
    // The claim is written, and then no metadata.
    let written = 0;
    const first = await visit(web({}), {
      ...given,
      get refusesMetadata() {
        written += 1;
        return written > 1 ? refusal : (undefined as unknown as KubeError);
      },
      fails: true,
    });
    expect(count(first.calls, 'named')).toBe(1);
    const { seen } = await repeated(first.object ?? web({}), { ...given, memo: first.memo });
    expect(seen).not.toContain('named');
  });
});

it('a read after which the provider asks for a pause is not repeated while the status cannot be written', async () => {
  const server = new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', { retryAfterMs: HOUR });
  const { seen } = await repeated(webWith(KNOWN), { answers: { server, task: server }, refusesStatus: refusal });
  expect(count(seen, 'read') + count(seen, 'poll')).toBe(1);
});

it.each([
  ['order', { answers: { order: rejected } }],
  ['named', { ordersNamed: true, answers: { named: rejected } }],
] as const)('--max-creates-per-hour counts an order that was refused (%s)', async (_, given) => {
  const limit = new CreateLimit(1);
  await visit(web({}), { ...given, limit });
  expect(limit.reserve('default', 'of-another', 1)).toHaveProperty('freeInMs');
});

it.each([
  ['order', { answers: { order: limited } }],
  ['named', { ordersNamed: true, answers: { named: limited } }],
] as const)(
  '--max-creates-per-hour does not count an order that was certainly not carried out (%s)',
  async (_, given) => {
    const limit = new CreateLimit(1);
    await visit(web({}), { ...given, limit });
    expect(limit.reserve('default', 'of-another', 1)).not.toHaveProperty('freeInMs');
  },
);
