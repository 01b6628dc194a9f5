/** Records that earlier versions of the operator wrote, of each kind, as this version reads them, rewrites them and acts on them. */
import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import {
  RECORD_FORMAT,
  formatRecord,
  parseRecord,
  phaseOf,
  type PhaseName,
  type ServerRecord,
} from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../src/provider/error.ts';
import { inThisFormat } from '../../../src/virtual-server/decision/format-1.ts';
import { knownRecord, viewRecord } from '../../../src/virtual-server/decision/known-record.ts';
import { NOW, web } from '../../fixtures/decision.ts';
import { LEFT } from '../../fixtures/format-1.ts';
import { visit } from '../../fixtures/visits.ts';

interface Said {
  phase: PhaseName;
  identifier?: string;
  doubt?: 'AbsenceUnproven' | 'IdentityUnproven';
  open?: string;
  /** Other fields that decide about money. */
  has?: (keyof ServerRecord)[];
}
const IN_DOUBT: Said = { phase: 'held', identifier: 'srv1', doubt: 'AbsenceUnproven' };
const HELD: Said = { phase: 'held', identifier: 'srv1' };

/** What each record says. */
const SAID: Record<string, Said> = {
  'the order was refused': { phase: 'unordered' },
  'an order has failed': { phase: 'unordered', has: ['failed', 'settled'] },
  'the order created nothing, as you said': { phase: 'unordered', has: ['settled'] },
  'the process died while it sent the order': { phase: 'claimed' },
  'the answer was lost': { phase: 'claimed', open: 'CreateOutcomeUnknown' },
  'the task runs': { phase: 'following' },
  'the task is not found': { phase: 'following', open: 'TaskNotFound' },
  'another object has the task': { phase: 'following', open: 'TaskInUse' },
  'the order has failed': { phase: 'following', has: ['createFailure'] },
  'the task has named the server': HELD,
  'the server is ready': { ...HELD, has: ['fingerprint'] },
  'the server is in doubt': { ...IN_DOUBT, has: ['fingerprint'] },
  'another server is shown': { ...IN_DOUBT, doubt: 'IdentityUnproven', open: 'IdentityUnproven', has: ['fingerprint'] },
  'the server is gone': { ...IN_DOUBT, has: ['missingAt', 'fingerprint'] },
  'the order has failed after it named the server': { ...HELD, has: ['createFailure'] },
  adopted: { ...HELD, has: ['fingerprint'] },
  'adopted in place of a lost order': { ...HELD, has: ['fingerprint', 'settled'] },
  'adopted, with the task as an orphan': { ...HELD, has: ['fingerprint', 'orphans', 'settled'] },
  'taken over from a deleted object': { ...HELD, has: ['fingerprint', 'takenFrom'] },
  'expires with a ttl': { ...HELD, has: ['fingerprint', 'readyAt'] },
  'its expiry is blocked': { ...HELD, has: ['fingerprint'] },
  paused: { ...HELD, has: ['fingerprint'] },
  'is being deleted, and protected while in doubt': IN_DOUBT,
  'cancelled, but not released': { ...IN_DOUBT, has: ['fingerprint'] },
  expired: { ...HELD, has: ['expiredAt'] },
};
/** Where a version that left doubts to the conditions says something else. */
const SHOWN_ALONE: Record<string, Partial<Said>> = {
  'another server is shown': { open: undefined },
  // The time of absence says more than the doubt before it.
  'the server is gone': { doubt: undefined },
  // That version showed the protection in place of the doubt, so no copy has the doubt.
  'is being deleted, and protected while in doubt': { doubt: undefined },
};

const cases = (['stored', 'shown'] as const).flatMap((version) =>
  Object.entries(LEFT[version]).map(([kind, left]) => ({ version, kind, left })),
);

const readBy = (object: VirtualServer): ServerRecord => {
  const view = viewRecord(object, []);
  if (view.kind !== 'own') throw new Error(`the record is ${view.kind}`);
  return view.record;
};

/** The object with other copies of its record. */
function copied(object: VirtualServer, copies: { annotation?: ServerRecord; mirror?: ServerRecord }): VirtualServer {
  const { annotation, mirror } = copies;
  const annotations = {
    ...object.metadata.annotations,
    ...(annotation && { [RECORD_ANNOTATION]: formatRecord(annotation) }),
  };
  const status = { conditions: [], ...object.status, ...(mirror && { record: { ...mirror } }) };
  return { ...object, metadata: { ...object.metadata, annotations }, status };
}

it('has the same kinds of both versions, and says of each what it means', () => {
  const kinds = Object.keys(SAID).sort();
  expect(Object.keys(LEFT.stored).sort()).toEqual(kinds);
  // A double of that version could not refuse a write.
  expect(Object.keys(LEFT.shown).sort()).toEqual(kinds.filter((kind) => kind !== 'cancelled, but not released'));
});

describe.each(cases)('a record of format 1 with doubts $version: $kind', ({ version, kind, left }) => {
  const object = web(left);
  const {
    phase,
    identifier,
    doubt,
    open,
    has = [],
  } = { ...(SAID[kind] as Said), ...(version === 'shown' && SHOWN_ALONE[kind]) };
  const annotated = parseRecord(object.metadata.annotations?.[RECORD_ANNOTATION]);

  it('says what it said', () => {
    expect(annotated).toMatchObject({ ok: true, value: { format: 1 } });
    const record = readBy(object);
    expect(knownRecord(object)).toEqual(record);
    expect(phaseOf(record)).toBe(phase);
    expect(record.identifier).toBe(identifier);
    expect(record.doubt?.reason).toBe(doubt);
    expect(record.open?.reason).toBe(open);
    for (const field of has) expect(record, field).toHaveProperty(field);
  });

  it('says the same once it is rewritten, also if only one copy is', () => {
    const record = readBy(object);
    const status = { conditions: [], ...object.status, record: { ...record } };
    const next = inThisFormat({ record, status });
    const rewritten = next.record;
    expect(rewritten).toEqual({ ...record, format: RECORD_FORMAT });
    const annotation = rewritten;
    const mirror = rewritten;
    for (const copies of [{ annotation, mirror }, { annotation }, { mirror }])
      expect(readBy(copied(object, copies))).toEqual(rewritten);
  });

  it('says the same after a visit that cannot reach the provider, which orders and cancels nothing', async () => {
    const silence = new ProviderError('PROVIDER_UNREACHABLE', 'connection refused');
    const before = readBy(object);
    const answers = { task: silence, server: silence, products: silence, catalog: silence };
    const visited = await visit(object, { answers, now: NOW + 3_600_000 });
    expect(visited.requests).toEqual([]);
    expect(visited.calls).not.toContain('delete');
    const after = visited.object && readBy(visited.object);
    expect(after).toMatchObject({ ...before, format: expect.any(Number) as number });
    if (phase !== 'unordered') expect(visited.object?.metadata.finalizers).toContain(FINALIZER);
  });
});
