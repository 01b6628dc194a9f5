/** Without a key, no operation calls the provider; each is planned again for when the key may be there. */
import { describe, expect, it } from 'vitest';
import { SERVER_GONE_ANNOTATION } from '../../../src/api/names.ts';
import { HELD, TASKED, adopting, web, webWith } from '../../fixtures/decision.ts';
import { shownBy, visit } from '../../fixtures/visits.ts';

const READY = { serverStatus: 'running' };
const noKey = { ok: false, error: { reason: 'SecretNotFound', message: 'no Secret', retryAfterMs: 5 } } as const;

describe('without a key', () => {
  it.each([
    { operation: 'order', object: web() },
    { operation: 'adopt', object: web(adopting('srv1')) },
    { operation: 'follow', object: webWith(TASKED) },
    { operation: 'look', object: webWith(HELD, { status: READY }) },
    { operation: 'cancel', object: webWith(HELD, { status: READY, deleting: true }) },
    {
      operation: 'cancel',
      object: webWith(HELD, { status: READY, spec: { expiresAt: '2026-01-01T00:00:00Z' } }),
    },
  ])('$operation gives the reason and the time of the next try', async ({ operation, object }) => {
    const visited = await visit(object, { key: noKey });
    expect(visited.calls).toEqual(['write']);
    expect(visited.object?.metadata).toEqual(object.metadata);
    expect(shownBy(visited).reason).toBe('SecretNotFound');
    expect(shownBy(visited).message).toMatch(/^no Secret\./);
    expect(visited.memo.plan?.operation).toBe(operation);
    expect(visited.requeueAfterMs).toBe(5);
  });

  const gone = { annotations: { [SERVER_GONE_ANNOTATION]: 'srv1' } };

  it('your annotation that the server is gone releases no object that is not being deleted', async () => {
    const visited = await visit(webWith(HELD, { ...gone, status: READY }), { key: noKey });
    expect(shownBy(visited).reason).toBe('SecretNotFound');
  });
});
