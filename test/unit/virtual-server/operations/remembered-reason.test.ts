/** What the next process knows a danger from: calls that fail do not take its place. */
import { describe, expect, it } from 'vitest';
import { HAND_OVER_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { HELD, KNOWN, memo, NOW, SERVER, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Given } from '../../../fixtures/visits.ts';

const failures: [string, Given][] = [
  ['the provider does not answer', { answers: { server: new ProviderError('PROVIDER_UNREACHABLE', 'reset') } }],
  [
    'the Secret is gone',
    {
      key: {
        ok: false,
        error: { reason: 'SecretNotFound', message: 'Secret key does not exist', advice: '', retryAfterMs: 1000 },
      },
    },
  ],
  ['the operator only observes', { observes: 'reporting', answers: { server: SERVER } }],
];

describe.each(failures)('while %s', (_what, failing) => {
  it('a server that the provider may be cancelling stays one, and is not handed over after a restart', async () => {
    const end = { state: 'answered', identifier: 'srv1', said: 'cancelled', since: -1e9, askedAt: 0 } as const;
    const object = webWith(KNOWN, { deleting: true, status: { serverStatus: 'running' } });
    const asked = await visit(object, { answers: { server: SERVER }, memo: memo({ end }) });
    expect(shownBy(asked).reason).toBe('CancellationUnconfirmed');
    const failed = await visit(asked.object as VirtualServer, failing);
    expect(failed.calls).not.toContain('delete');
    const { metadata, ...rest } = failed.object as VirtualServer;
    const annotations = { ...metadata.annotations, [HAND_OVER_ANNOTATION]: 'web-back' };
    const restarted = await visit({ ...rest, metadata: { ...metadata, annotations } }, { answers: { server: SERVER } });
    expect(shownBy(restarted)).toMatchObject({
      reason: 'CancellationUnconfirmed',
      message: expect.stringContaining('no other object can take it over') as string,
    });
  });

  it('a server in doubt stays one, and is not cancelled after a restart', async () => {
    const object = webWith({ ...HELD, fingerprint: {} }, { deleting: true, status: { identifier: 'srv1' } });
    const denied = await visit(object, { answers: { server: DENIED } });
    expect(shownBy(denied).reason).toBe('AbsenceUnproven');
    const failed = await visit(denied.object as VirtualServer, { ...failing, now: NOW + 60_000 });
    expect(shownBy(failed).reason).toBe('AbsenceUnproven');
    // Another server appears under the identifier.
    const restarted = await visit(failed.object as VirtualServer, { answers: { server: SERVER, removed: 'ok' } });
    expect(restarted.calls).not.toContain('delete');
    expect(shownBy(restarted).reason).toBe('IdentityUnproven');
  });
});

it('a doubt that only a condition of format 1 tells stays one while the API server refuses the record', async () => {
  const told = { type: 'Ready', status: 'Unknown', reason: 'IdentityUnproven', message: 'may be another' } as const;
  const conditions = [{ ...told, lastTransitionTime: '2026-01-01T00:00:00Z' }];
  const { format: _format, ...own } = { ...HELD, format: 1, fingerprint: {} };
  const object = webWith(own, { deleting: true, status: { identifier: 'srv1', conditions, record: own } });
  const refusesMetadata = new KubeError('Forbidden', 'denied by a policy', { status: 403 });
  const denied = await visit(object, { answers: { server: DENIED }, refusesMetadata, fails: true });
  expect(denied.calls).toContain('refused');
  expect(shownBy(denied).reason).toBe('WriteRefused');
  const since = '2026-01-01T00:00:00Z';
  expect(denied.object?.status?.record).toMatchObject({
    doubt: { identifier: 'srv1', since },
  });
  // Another server appears under the identifier.
  const restarted = await visit(denied.object as VirtualServer, { answers: { server: SERVER, removed: 'ok' } });
  expect(restarted.calls).not.toContain('delete');
  expect(shownBy(restarted).reason).toBe('IdentityUnproven');
});
