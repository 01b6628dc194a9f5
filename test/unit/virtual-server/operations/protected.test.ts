/** A deleted object whose server is protected: only the cancellation waits. */
import { expect, it } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../../src/api/names.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import {
  ATTEMPTED,
  CATALOG,
  HELD,
  KNOWN,
  NOW,
  SERVER,
  TASKED,
  TIMING,
  adopting,
  opened,
  web,
  webWith,
} from '../../../fixtures/decision.ts';
import { FINALIZER } from '../../../../src/api/names.ts';
import { DENIED, shownBy, visit, type Visited } from '../../../fixtures/visits.ts';

const doomed = { deleting: true, spec: { deletionProtection: true } } as const;
const fails = new ResponseError(500, 'failed: no room', { said: 'no room' });

it('obeys the adoption that its message advises, and cancels nothing', async () => {
  const own = opened(ATTEMPTED, 'CreateOutcomeUnknown', 'no answer within 60s');
  const waits = await visit(webWith(own, doomed), {});
  const asks = await visit(waits.object ?? web(), { memo: waits.memo, now: NOW + 300_000 });
  expect(shownBy(asks).message).toContain(ADOPT_ANNOTATION);
  const answers = { server: SERVER };
  const adopted = await visit(webWith(own, { ...doomed, ...adopting('srv1') }), {
    memo: asks.memo,
    now: NOW + 600_000,
    answers,
  });
  expect(adopted.calls).toContain('read');
  expect(adopted.calls).not.toContain('delete');
  expect(shownBy(adopted).reason).toBe('DeletionProtected');
});

it('obeys the adoption of an object that has lost its record', async () => {
  const object = web({ finalizers: [FINALIZER], ...doomed, ...adopting('srv1') });
  const adopted = await visit(object, { answers: { server: SERVER } });
  expect(adopted.calls).not.toContain('delete');
  expect(shownBy(adopted).reason).toBe('DeletionProtected');
});

it('polls its task until the server is known, and says that the server stays', async () => {
  const runs = await visit(webWith(TASKED, doomed), { answers: { task: { state: 'pending', identifier: 'srv1' } } });
  expect(runs.calls).toContain('poll');
  expect(shownBy(runs)).toMatchObject({
    reason: 'DeletionProtected',
    message: expect.stringContaining('Task 7 is running') as string,
  });
  const over = { task: { state: 'complete', identifier: 'srv1' }, server: SERVER } as const;
  const known = await visit(runs.object ?? web(), { memo: runs.memo, now: NOW + 60_000, answers: over });
  expect(known.calls).not.toContain('delete');
  expect(shownBy(known).reason).toBe('DeletionProtected');
});

it('makes no call for a server that was read', async () => {
  const object = webWith(KNOWN, { ...doomed, status: { serverStatus: 'running' } });
  expect((await visit(object, {})).calls).toEqual(['write']);
});

it('is released once its order has failed and the absence of its server is proven', async () => {
  const answers = { task: fails, server: DENIED, servers: [], products: CATALOG.products };
  let visited: Visited = await visit(webWith(HELD, doomed), { answers, listsCreating: true });
  let ms = 0;
  for (; visited.object !== undefined && ms < 3 * 3_600_000; ms += TIMING.pollMs) {
    const { object, memo } = visited;
    visited = await visit(object, { memo, now: NOW + ms, answers, listsCreating: true });
    expect(visited.calls).not.toContain('delete');
  }
  expect(visited.object).toBeUndefined();
  expect(ms).toBeGreaterThan(TIMING.absenceMs);
});
