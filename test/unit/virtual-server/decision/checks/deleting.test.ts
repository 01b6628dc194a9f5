import { FINALIZER } from '../../../../../src/api/names.ts';
import {
  adopting,
  ACCOUNT,
  ATTEMPTED,
  HELD,
  NOW,
  OTHER_KEY,
  TASKED,
  denials,
  facts,
  withKey,
  memo,
  record,
  web,
  webWith,
} from '../../../../fixtures/decision.ts';
import { cancels, park, planned, verifyChecks, type CheckCase } from './support.ts';

const READY = { serverStatus: 'running' };
const MISSING = { ...HELD, missingAt: '2026-01-01T12:00:00Z' };
const orphaned = { ...HELD, orphans: [{ task: 3 }] };
const gone = (identifier: string) => ({ state: 'gone', identifier, wasRequested: false }) as const;
const fresh = web();
const ready = webWith(HELD, { status: READY });
const deletingReady = webWith(HELD, { status: READY, deleting: true });

const cases: CheckCase[] = [
  {
    check: 'finalizerIsGone',
    reason: 'the operator ignores an object that only other finalizers keep',
    object: web({ mirror: HELD, finalizers: ['example.org/other'], deleting: true }),
    operation: { type: 'wait' },
  },
  {
    check: 'finalizerIsGone',
    reason: "the operator's finalizer is there",
    object: deletingReady,
    operation: undefined,
  },
  { check: 'finalizerIsGone', reason: 'the object is not deleted', object: fresh, operation: undefined },
  {
    check: 'nothingIsOwed',
    reason: 'the order created nothing, so the release needs no key',
    object: webWith(record({ account: ACCOUNT }), { deleting: true }),
    operation: { type: 'release', why: 'nothingCreated', record: record({ account: ACCOUNT }) },
  },
  {
    check: 'nothingIsOwed',
    reason: 'an orphan is unresolved',
    object: webWith(record({ orphans: [{ attempt: 'a0' }] }), { deleting: true }),
    operation: park('OrphanedServer'),
  },
  {
    check: 'nothingIsOwed',
    reason: 'an attempt is unresolved',
    object: webWith(ATTEMPTED, { deleting: true }),
    operation: undefined,
  },
  {
    check: 'nothingIsOwed',
    reason: 'you named the server of a lost record, so the operator must adopt it first',
    object: web({ finalizers: [FINALIZER], deleting: true, ...adopting('srv1') }),
    operation: undefined,
  },
  {
    check: 'serverIsRetained',
    reason: 'the server is left running',
    object: webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    operation: { type: 'release', why: 'retained', record: HELD },
  },
  {
    check: 'serverIsRetained',
    reason: 'an attempt may have created a server without a known identifier',
    object: webWith(ATTEMPTED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    operation: undefined,
  },
  {
    check: 'serverIsRetained',
    reason: 'a task is followed until its server is known',
    object: webWith(TASKED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    operation: undefined,
  },
  { check: 'serverIsRetained', reason: 'the policy is Delete', object: deletingReady, operation: undefined },
  {
    check: 'serverIsProtected',
    reason: 'nothing is cancelled while it is protected',
    object: webWith(HELD, { deleting: true, spec: { deletionProtection: true } }),
    operation: park('DeletionProtected'),
  },
  {
    check: 'serverIsProtected',
    reason: 'nothing would be cancelled under Retain',
    object: webWith(TASKED, { deleting: true, spec: { deletionProtection: true, deletionPolicy: 'Retain' } }),
    operation: undefined,
  },
  {
    check: 'serverIsProtected',
    reason: 'protection matters only for a deletion',
    object: webWith(HELD, { spec: { deletionProtection: true } }),
    operation: undefined,
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'the server is cancelled',
    object: deletingReady,
    given: withKey(),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'it was cancelled',
    object: deletingReady,
    given: facts({ memo: memo({ end: { state: 'confirmed', identifier: 'srv1' } }) }),
    operation: { type: 'release', why: 'cancelled', record: HELD },
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'another server was cancelled',
    object: deletingReady,
    given: withKey({ memo: memo({ end: { state: 'confirmed', identifier: 'srv0' } }) }),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'another server is gone',
    object: deletingReady,
    given: withKey({ memo: memo({ end: gone('srv0') }) }),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'a DELETE whose answer was lost is no proof',
    object: deletingReady,
    given: withKey({ memo: memo({ end: { state: 'requested', identifier: 'srv1' } }) }),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: "the provider's word alone is no proof",
    object: deletingReady,
    given: withKey({
      memo: memo({ end: { state: 'answered', identifier: 'srv1', said: 'ok', since: 0, askedAt: 0 } }),
    }),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'its absence is proven',
    object: deletingReady,
    given: facts({ memo: memo({ end: gone('srv1') }) }),
    operation: { type: 'release', why: 'gone', record: HELD },
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'its absence is proven, but an orphan is unresolved',
    object: webWith(orphaned, { deleting: true }),
    given: facts({ memo: memo({ end: gone('srv1') }) }),
    operation: park('OrphanedServer'),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'a server of another account is read again by the cancellation itself',
    object: deletingReady,
    given: withKey({ key: { ok: true, account: OTHER_KEY } }),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'a denied server is read again by the cancellation itself',
    object: deletingReady,
    given: withKey({ memo: memo({ denials: denials('server srv1') }) }),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'the next read of a denied server is not due yet',
    object: deletingReady,
    given: withKey({
      memo: { ...planned(deletingReady, 'cancel', NOW + 50), evidence: { denials: denials('server srv1') } },
    }),
    operation: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'an earlier absence alone does not release the object',
    object: webWith(MISSING, { status: READY, deleting: true }),
    given: withKey(),
    operation: cancels(MISSING),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'it was cancelled, but an orphan is unresolved',
    object: webWith(orphaned, { deleting: true }),
    given: facts({ memo: memo({ end: { state: 'confirmed', identifier: 'srv1' } }) }),
    operation: park('OrphanedServer'),
  },
  { check: 'serverIsToBeCancelled', reason: 'the object is not being deleted', object: ready, operation: undefined },
];

verifyChecks('checks on an object that is being deleted', cases);
