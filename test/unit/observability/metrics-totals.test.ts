import { describe, expect, it } from 'vitest';
import { FINALIZER } from '../../../src/api/names.ts';
import type { VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import type { Condition } from '../../../src/api/meta.ts';
import { countTotals } from '../../../src/observability/metrics.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const NONE = {
  servers: [],
  price: 0,
  namespaces: new Map(),
  expiring: 0,
  parkedCreates: 0,
  orphans: 0,
  deleting: 0,
  oldestDeletionMs: 0,
};

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
}

const withStatus = (name: string, status: VirtualServerStatus) => stored(name, storedWith({ status }));
const conditions = (...list: Condition[]): VirtualServerStatus => ({ conditions: list });
const ready = condition('Ready', 'True', 'Available');

describe('the totals', () => {
  it('is empty without objects', () => {
    expect(countTotals([], NOW)).toEqual(NONE);
  });

  it('is counted by Ready status and current reason', () => {
    const objects = [
      stored('new'),
      withStatus('a', conditions(ready)),
      withStatus('b', conditions(ready)),
      withStatus('blind', conditions(ready, condition('Stalled', 'True', 'InvalidCredentials'))),
      withStatus(
        'slow',
        conditions(condition('Ready', 'False', 'Creating'), condition('Reconciling', 'True', 'Creating')),
      ),
    ];
    expect(countTotals(objects, NOW).servers).toEqual([
      { ready: 'Unknown', reason: 'Pending', count: 1 },
      { ready: 'True', reason: 'Available', count: 2 },
      { ready: 'True', reason: 'InvalidCredentials', count: 1 },
      { ready: 'False', reason: 'Creating', count: 1 },
    ]);
  });

  it('counts an object that only other finalizers keep as one that is being deleted, whatever its last status says', () => {
    const stale = conditions(
      ready,
      condition('Stalled', 'True', 'SecretInvalid'),
      condition('Expiring', 'True', 'ExpiresSoon'),
    );
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x.example/y'] };
    expect(countTotals([stored('web', storedWith({ metadata, status: stale }))], NOW)).toEqual({
      ...NONE,
      servers: [{ ready: 'False', reason: 'Deleting', count: 1 }],
    });
  });

  it('counts unknown reasons and statuses under a fixed name', () => {
    const odd = condition('Ready', 'Perhaps' as Condition['status'], 'toString');
    expect(countTotals([withStatus('odd', conditions(odd))], NOW).servers).toEqual([
      { ready: 'Unknown', reason: 'Other', count: 1 },
    ]);
  });

  it('is summed by namespace', () => {
    const running = (name: string, namespace: string, price?: number) =>
      stored(
        name,
        storedWith({
          metadata: { namespace },
          status: { serverStatus: 'running', ...(price !== undefined && { price }) },
        }),
      );
    const { namespaces } = countTotals([running('a', 'x', 4.5), running('b', 'x', 1), running('c', 'y')], NOW);
    expect([...namespaces]).toEqual([
      ['x', { servers: 2, price: 5.5 }],
      ['y', { servers: 1, price: 0 }],
    ]);
  });

  it('counts servers that expire soon', () => {
    const near = withStatus('near', conditions(ready, condition('Expiring', 'True', 'ExpiresSoon')));
    expect(countTotals([near, withStatus('far', conditions(ready))], NOW).expiring).toBe(1);
  });

  it.each([
    { what: 'a running server', status: { serverStatus: 'running', price: 4.5 }, price: 4.5 },
    {
      what: 'a running server whose status has another case',
      status: { serverStatus: ' Running', price: 4.5 },
      price: 4.5,
    },
    { what: 'a stopped server', status: { serverStatus: 'stopped', price: 4.5 }, price: 0 },
    { what: 'a server that was never read', status: { price: 4.5 }, price: 0 },
    { what: 'a server without a price', status: { serverStatus: 'running' }, price: 0 },
    { what: 'a server whose price is a string', status: { serverStatus: 'running', price: '4.5' }, price: 0 },
    { what: 'a server whose price is not a number', status: { serverStatus: 'running', price: NaN }, price: 0 },
  ])('costs $price for $what', ({ status, price }) => {
    expect(countTotals([withStatus('web', status as VirtualServerStatus)], NOW).price).toBe(price);
  });

  it('adds no cost for a server that is gone or released by the operator', () => {
    const status = { serverStatus: 'running', price: 4.5 };
    const missing = { ...status, record: { owner: 'uid', mode: 'create', missingAt: '2026-01-01T00:00:00Z' } };
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['other/finalizer'] };
    const objects = [withStatus('missing', missing), stored('let-go', storedWith({ metadata, status }))];
    expect(countTotals(objects, NOW).price).toBe(0);
  });

  it('counts a parked order if only a user can find out whether a server exists', () => {
    const parked = ['CreateOutcomeUnknown', 'TaskNotFound', 'TaskFailed', 'TaskInUse'];
    const since = '2026-01-01T00:00:00Z';
    const records = [...parked, 'CreateRejected', 'CreateInFlight', 'TaskOverdue'].map((reason) => ({
      open: { reason, since },
    }));
    const objects = [...records, { createFailure: { said: 'Out of stock' } }].map((more) =>
      withStatus('web', { record: { owner: 'uid-of-web', mode: 'create', ...more } }),
    );
    expect(countTotals(objects, NOW).parkedCreates).toBe(parked.length + 1);
  });

  it('counts the orphans in records, but not those in a copied record', () => {
    const record = { owner: 'uid-of-web', mode: 'create' as const, orphans: [{ task: 7 }, { task: 8 }] };
    expect(countTotals([withStatus('web', { record }), withStatus('copy', { record })], NOW).orphans).toBe(2);
  });

  it('counts the deletions that wait for the operator, and reports the age of the oldest', () => {
    const deleted = (name: string, deletionTimestamp: string, finalizers: string[]) =>
      stored(name, storedWith({ metadata: { deletionTimestamp, finalizers } }));
    const objects = [
      stored('web'),
      deleted('young', '2026-01-01T00:59:00Z', [FINALIZER]),
      deleted('old', '2026-01-01T00:50:00Z', [FINALIZER, 'other/finalizer']),
      deleted('let-go', '2026-01-01T00:00:00Z', ['other/finalizer']),
      deleted('of-a-clock-that-is-ahead', '2026-01-01T01:00:05Z', [FINALIZER]),
    ];
    expect(countTotals(objects, NOW)).toMatchObject({ deleting: 3, oldestDeletionMs: 600_000 });
  });

  it('counts the age of a deletion from the end of its delay', () => {
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [FINALIZER] };
    const spec = { deletionDelay: '1h' };
    const delayed = (cancelsAt: string) => [stored('web', storedWith({ metadata, spec, status: { cancelsAt } }))];
    expect(countTotals(delayed('2026-01-01T00:59:00Z'), NOW).oldestDeletionMs).toBe(60_000);
    expect(countTotals(delayed('2026-01-01T02:00:00Z'), NOW).oldestDeletionMs).toBe(0);
    // Written before the deletion, about its expiry.
    const undelayed = [stored('web', storedWith({ metadata, status: { cancelsAt: '2026-01-01T02:00:00Z' } }))];
    expect(countTotals(undelayed, NOW).oldestDeletionMs).toBe(3_600_000);
  });
});
