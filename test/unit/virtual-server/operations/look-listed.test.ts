/** A resync that needs no read: the list has the server as the last read has shown it. */
import { describe, expect, it } from 'vitest';
import { REBOOT_ANNOTATION, RECONCILE_AT_ANNOTATION } from '../../../../src/api/names.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import type { AccountServer } from '../../../../src/provider/types.ts';
import { KNOWN, NOW, SERVER, TIMING, webWith, type Shape } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const { resyncMs } = TIMING;
const NAMED = { ...SERVER, name: 'shop' };
const LISTED: AccountServer = { identifier: SERVER.identifier, name: 'shop', product: SERVER.product };
const listing = (listed: NonNullable<Given['answers']>['listed'] = [LISTED]): Given => ({
  listsServers: true,
  answers: { server: NAMED, listed },
});

/** The first look, with all that it writes. */
async function first(shape: Shape = {}, given: Given = listing()): Promise<Visited> {
  const { object, memo } = await visit(webWith(KNOWN, shape), given);
  return visit(object as NonNullable<typeof object>, { now: NOW + 1000, memo, ...given });
}
/** The next visit of the same process, `resyncs` after the first. */
function later({ object, memo }: Visited, resyncs: number, given: Given = listing()): Promise<Visited> {
  if (object === undefined) throw new Error('the object is gone');
  return visit(object, { now: NOW + resyncs * resyncMs, memo, ...given });
}

describe('a server that the last read has shown running', () => {
  it('is not read while the list has it, and stays Available', async () => {
    const ready = await first();
    const again = await later(ready, 1);
    expect(again.calls).toEqual([]);
    expect(shownBy(again).reason).toBe('Available');
    expect(again.requeueAfterMs).toBeGreaterThan(0.8 * resyncMs);
  });

  it('is read at every third resync all the same', async () => {
    const second = await later(await first(), 1);
    const third = await later(second, 2);
    expect(third.calls).toEqual([]);
    const fourth = await later(third, 3);
    expect(fourth.calls).toEqual(['read']);
    expect((await later(fourth, 4)).calls).toEqual([]);
  });

  it.each<[string, Given['answers']]>([
    ['is not in the list', { server: NAMED, listed: [] }],
    ['has another product', { server: NAMED, listed: [{ ...LISTED, product: 'VPSX8' }] }],
    ['has another name', { server: NAMED, listed: [{ ...LISTED, name: 'other' }] }],
    ['is dormant', { server: NAMED, listed: [{ ...LISTED, isDormant: true }] }],
    ['cannot be listed', { server: NAMED, listed: new ProviderError('PROVIDER_TIMEOUT', 'no answer') }],
    ['no longer has a list', { server: NAMED }],
  ])('is read if it %s', async (_, answers) => {
    const again = await later(await first(), 1, { listsServers: true, answers });
    expect(again.calls[0]).toBe('read');
  });

  it('is read if the last answer was one page of the list, which is not read in vain', async () => {
    const again = await later(await first(), 1, { ...listing(), listsOnePage: true });
    expect(again.calls[0]).toBe('read');
  });

  it('is read if you ask for it, or change something', async () => {
    const ready = await first();
    const object = webWith(KNOWN, { annotations: { [RECONCILE_AT_ANNOTATION]: 'now' }, status: ready.object?.status });
    const again = await visit(object, { now: NOW + resyncMs, memo: ready.memo, ...listing() });
    expect(again.calls[0]).toBe('read');
  });

  it('is restarted at the time that you have asked for, however late', async () => {
    const dueMs = 1.5 * resyncMs;
    const annotations = { [REBOOT_ANNOTATION]: new Date(NOW + dueMs).toISOString() };
    const given = listing();
    let last = await first({ annotations }, { ...given, answers: { ...given.answers, power: 'accepted' } });
    let at = 1000;
    while (!last.calls.includes('reboot') && at <= dueMs) {
      at += last.requeueAfterMs ?? Infinity;
      last = await later(last, at / resyncMs, { ...given, answers: { ...given.answers, power: 'accepted' } });
    }
    expect(last.calls).toContain('reboot');
    expect(at).toBeLessThan(dueMs + 60_000);
  });

  it.each([
    ['is read for a day', '2026-01-01T23:00:00Z', ['read']],
    ['is not read after that', '2025-12-31T23:00:00Z', []],
  ])('beside a failed order %s', async (_what, attemptedAt, calls) => {
    const failed = [{ attempt: 'a0', attemptedAt, identifier: 'old1' }];
    const own = { ...KNOWN, failed };
    const given: Given = {
      listsServers: true,
      answers: { server: [NAMED, DENIED], listed: [LISTED], servers: ['srv1'] },
    };
    const { object, memo } = await visit(webWith(own, { status: { serverStatus: 'running' } }), given);
    const ready = await visit(object as NonNullable<typeof object>, { now: NOW + 1000, memo, ...given });
    expect((await later(ready, 1, given)).calls.slice(0, 1)).toEqual(calls);
  });

  it('is read with a key of another account', async () => {
    const again = await later(await first(), 1, { ...listing(), account: 'another' });
    expect(again.calls[0]).toBe('read');
  });

  it('is read if its status was wiped', async () => {
    const ready = await first();
    const object = { ...ready.object, status: { observedGeneration: 1 } } as typeof ready.object;
    const again = await later({ ...ready, object }, 1);
    expect(again.calls).toContain('read');
    expect(again.object?.status).toMatchObject({ ipv6: SERVER.ipv6 });
  });

  it('is read if its namespace has a limit in money', async () => {
    const again = await later(await first(), 1, { ...listing(), maxPrice: 100 });
    expect(again.calls[0]).toBe('read');
  });

  it('gets its verdict back that another writer has removed', async () => {
    const ready = await first();
    const conditions = ready.object?.status?.conditions?.map((condition) =>
      condition.type === 'Ready' ? { ...condition, reason: 'ObserveOnly', status: 'Unknown' as const } : condition,
    );
    const object = {
      ...(ready.object as object),
      status: { ...ready.object?.status, conditions },
    } as typeof ready.object;
    const again = await later({ ...ready, object }, 1);
    expect(again.calls).toEqual(['write']);
    expect(shownBy(again).reason).toBe('Available');
  });
});

it.each<[string, Shape, Partial<typeof SERVER>]>([
  ['whose SSH server is checked', { spec: { sshCheck: 'Proxy' } }, {}],
  ['whose connection Secret is kept', { spec: { connectionSecretName: 'web-login' } }, {}],
  ['that does not run', {}, { status: 'shut down' }],
  [
    'whose failed order may still lead to one',
    { annotated: { ...KNOWN, failed: [{ attempt: 'a0', identifier: 'srv0' }] } },
    {},
  ],
])('a server %s is read at every resync', async (_, shape, changed) => {
  const given: Given = {
    ...listing(),
    answers: { ...listing().answers, server: { ...NAMED, ...changed } },
    probe: { ok: true, value: { banner: 'SSH-2.0-x' } },
  };
  const again = await later(await first(shape, given), 1, given);
  expect(again.calls).toContain('read');
});

it('is not found in the list after a read has denied it', async () => {
  const ready = await first();
  const denied = await later(ready, 3, { listsServers: true, answers: { server: DENIED, servers: [], listed: [] } });
  expect(shownBy(denied).reason).toBe('AbsenceUnproven');
  expect((await later(denied, 3.5)).calls[0]).toBe('read');
});
