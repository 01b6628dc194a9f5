/** What records of format 1 left to the conditions, and what a write of this version makes of them. */
import { describe, expect, it } from 'vitest';
import type { ReadyReason } from '../../../../src/api/conditions.ts';
import { REASONS } from '../../../../src/api/conditions.ts';
import { QUESTIONS } from '../../../../src/api/open.ts';
import { RECORD_FORMAT, type ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { compose } from '../../../../src/virtual-server/decision/compose.ts';
import { fromFormat1, inThisFormat } from '../../../../src/virtual-server/decision/format-1.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { HELD, NOW, SERVER, TASKED, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit } from '../../../fixtures/visits.ts';

const EARLIER = { ...HELD, format: 1 };
const SINCE = '2026-01-02T00:00:00Z';
const READY = Object.keys(REASONS).filter((reason) => 'ready' in REASONS[reason as ReadyReason]) as ReadyReason[];

/** The object as an earlier version left it: the reason says what its record does not. */
function left(own: ServerRecord, reason: ReadyReason, subject?: string): VirtualServer {
  const object = webWith(own);
  const verdict = { reason, message: 'As an earlier version left it', subject };
  const status = compose(object, { record: own, verdict }, NOW);
  return { ...object, status: { ...status, record: own } };
}

describe('a record of format 1', () => {
  it.each(['AbsenceUnproven', 'IdentityUnproven', 'ServerMissing', 'ReleaseRefused'] as const)(
    'has the doubt that %s tells',
    (reason) => {
      const kind = reason === 'IdentityUnproven' ? reason : 'AbsenceUnproven';
      const doubt = { identifier: 'srv1', reason: kind, since: SINCE };
      expect(fromFormat1(EARLIER, left(EARLIER, reason))).toEqual({ ...EARLIER, format: RECORD_FORMAT, doubt });
    },
  );

  it('has no doubt about a server that counts as missing already', () => {
    const missing = { ...EARLIER, missingAt: SINCE };
    expect(fromFormat1(missing, left(missing, 'ServerMissing'))).toBe(missing);
  });

  it.each(QUESTIONS.filter((reason) => !['IdentityUnproven', 'IdentifierInUse'].includes(reason)))(
    'has the open question that %s tells',
    (reason) => {
      const tasked = { ...TASKED, format: 1 };
      const open = fromFormat1(tasked, left(tasked, reason as ReadyReason, 'the cause')).open;
      const cause = reason === 'CreateOutcomeUnknown' ? { cause: 'the cause' } : {};
      expect(open).toEqual({ attempt: 'a1', reason, since: SINCE, ...cause });
    },
  );

  it('has no question that an earlier order left in the conditions', () => {
    const tasked = { ...TASKED, format: 1 };
    const before = left({ ...tasked, attempt: 'a0' }, 'CreateOutcomeUnknown');
    expect(fromFormat1(tasked, before)).toBe(tasked);
  });

  it.each(READY)('says everything once this version has written it, although %s shows', (reason) => {
    expect(fromFormat1(HELD, left(HELD, reason))).toBe(HELD);
    const next = inThisFormat({ record: EARLIER, status: { record: EARLIER } });
    expect(next).toEqual({ record: HELD, status: { record: HELD } });
  });

  it('keeps its doubt over any other reason of this version, because that version writes it down first', async () => {
    const blank = { ...EARLIER, fingerprint: {} };
    const doubtful = left(blank, 'AbsenceUnproven');
    const deleting = { ...doubtful, metadata: { ...doubtful.metadata, deletionTimestamp: SINCE } };
    const first = await visit(deleting, { answers: { server: DENIED } });
    expect(knownRecord(first.object ?? deleting)).toMatchObject({
      format: RECORD_FORMAT,
      doubt: { identifier: 'srv1' },
    });
    const covered = { ...deleting, ...first.object };
    const verdict = { reason: 'DeletionProtected', message: 'Something else is more urgent' } as const;
    const status = compose(covered, { record: knownRecord(covered), verdict }, NOW);
    const acted = await visit({ ...covered, status }, { answers: { server: SERVER, removed: 'ok' } });
    expect(acted.calls).not.toContain('delete');
    expect(shownBy(acted).reason).toBe('IdentityUnproven');
  });
});
