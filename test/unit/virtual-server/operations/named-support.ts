/** Helpers for the tests of orders under an identifier. */
import type { ServerRecord } from '../../../../src/api/record.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';

/** The next visit of the same process, or of another one that knows nothing. */
export function next(before: Visited, now: number, given: Given, process: 'same' | 'other' = 'same'): Promise<Visited> {
  if (before.object === undefined) throw new Error('the object is gone');
  return visit(before.object, { ordersNamed: true, now, ...(process === 'same' && { memo: before.memo }), ...given });
}

export const recordIn = ({ object }: Visited): ServerRecord | undefined => object && knownRecord(object);
export const sentIn = ({ calls }: Visited): number => calls.filter((call) => call === 'named').length;

export function deleted({ object, ...visited }: Visited): Visited {
  if (object === undefined) throw new Error('the object is gone');
  const metadata = { ...object.metadata, deletionTimestamp: '2026-01-02T00:00:10Z' };
  return { ...visited, object: { ...object, metadata } };
}
