/** A server that is shown as removed for a while, such as during a move, and that is locked in that time: another DELETE cancels it later. */
import { expect, it } from 'vitest';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { PRICED, NOW, SERVER, webWith } from '../../../fixtures/decision.ts';
import { visit, type Visited } from '../../../fixtures/visits.ts';

const MINUTE = 60_000;
it.each([
  ['409 another task of the server runs', new ResponseError(409, 'Server is locked: another task is running', {})],
  ['400', new ResponseError(400, 'not now', {})],
])('is cancelled once the provider shows it again as it was (%s)', async (_, busy) => {
  let last: Visited | undefined;
  let now = NOW;
  let cancelled = false;
  const object = webWith(PRICED, { deleting: true, status: { identifier: 'srv1', serverStatus: 'running' } });
  for (let i = 0; i < 40; i += 1) {
    const minute = (now - NOW) / MINUTE;
    const isMoved = i > 0 && minute < 15;
    last = await visit(last?.object ?? object, {
      definition: 'kept',
      listsServers: true,
      now,
      ...(last && { memo: last.memo }),
      answers: {
        server: { ...SERVER, status: isMoved ? 'removed' : 'running' },
        servers: ['srv1'],
        // The first one never arrives.
        removed: i === 0 ? new ProviderError('PROVIDER_TIMEOUT', 'x') : isMoved ? busy : 'ok',
        after: isMoved ? SERVER : new ResponseError(404, '404', { code: 'PROVIDER_NOT_FOUND' }),
      },
    });
    cancelled ||= i > 0 && !isMoved && last.calls.includes('delete');
    if (last.object === undefined) break;
    now += Math.max(1000, last.requeueAfterMs ?? 10 * MINUTE);
  }
  expect(cancelled).toBe(true);
});
