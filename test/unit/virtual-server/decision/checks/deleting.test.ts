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
  gathered,
  memo,
  record,
  web,
  webWith,
} from '../../../../gen/decision.ts';
import { cancels, park, planned, verifyChecks, type CheckCase } from './support.ts';

const READY = { serverStatus: 'running' };
const MISSING = { ...HELD, missingAt: '2026-01-01T12:00:00Z' };
const orphaned = { ...HELD, orphans: [{ task: 3 }] };
const fresh = web();
const ready = webWith(HELD, { status: READY });
const deletingReady = webWith(HELD, { status: READY, deleting: true });
const secretGone = { ok: false, reason: 'SecretNotFound', message: 'no Secret', retryAfterMs: 5 } as const;

const cases: CheckCase[] = [
  {
    check: 'finalizerIsGone',
    reason: 'the operator ignores an object that only other finalizers keep',
    object: web({ mirror: HELD, finalizers: ['example.org/other'], deleting: true }),
    action: { type: 'wait' },
  },
  { check: 'finalizerIsGone', reason: "the operator's finalizer is there", object: deletingReady, action: undefined },
  { check: 'finalizerIsGone', reason: 'the object is not deleted', object: fresh, action: undefined },
  {
    check: 'nothingIsOwed',
    reason: 'the order created nothing, so the release needs no credentials',
    object: webWith(record({ account: ACCOUNT }), { deleting: true }),
    action: { type: 'release', why: 'nothingCreated', record: record({ account: ACCOUNT }) },
  },
  {
    check: 'nothingIsOwed',
    reason: 'an orphan is unresolved',
    object: webWith(record({ orphans: [{ attempt: 'a0' }] }), { deleting: true }),
    action: park('OrphanedServer'),
  },
  {
    check: 'nothingIsOwed',
    reason: 'an attempt is unresolved',
    object: webWith(ATTEMPTED, { deleting: true }),
    action: undefined,
  },
  {
    check: 'nothingIsOwed',
    reason: 'you named the server of a lost record, so the operator must adopt it first',
    object: web({ finalizers: [FINALIZER], deleting: true, ...adopting('srv1') }),
    action: undefined,
  },
  {
    check: 'serverIsRetained',
    reason: 'the server is left running',
    object: webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    action: { type: 'release', why: 'retained', record: HELD },
  },
  {
    check: 'serverIsRetained',
    reason: 'an attempt may have created a server without a known identifier',
    object: webWith(ATTEMPTED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    action: undefined,
  },
  {
    check: 'serverIsRetained',
    reason: 'a task is followed until its server is known',
    object: webWith(TASKED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    action: undefined,
  },
  { check: 'serverIsRetained', reason: 'the policy is Delete', object: deletingReady, action: undefined },
  {
    check: 'serverIsProtected',
    reason: 'nothing is cancelled while it is protected',
    object: webWith(HELD, { deleting: true, spec: { deletionProtection: true } }),
    action: park('DeletionProtected'),
  },
  {
    check: 'serverIsProtected',
    reason: 'nothing would be cancelled under Retain',
    object: webWith(TASKED, { deleting: true, spec: { deletionProtection: true, deletionPolicy: 'Retain' } }),
    action: undefined,
  },
  {
    check: 'serverIsProtected',
    reason: 'protection matters only for a deletion',
    object: webWith(HELD, { spec: { deletionProtection: true } }),
    action: undefined,
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'the server is cancelled',
    object: deletingReady,
    given: gathered(),
    action: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'a key is needed',
    object: deletingReady,
    given: facts({ credentials: secretGone }),
    action: park('SecretNotFound', { retry: 'deleteServer' }),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'it was cancelled',
    object: deletingReady,
    given: facts({ memo: memo({ cancelled: 'srv1' }) }),
    action: { type: 'release', why: 'cancelled', record: HELD },
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'another server was cancelled, another one is gone',
    object: deletingReady,
    given: gathered({ memo: memo({ cancelled: 'srv0', gone: 'srv0' }) }),
    action: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'its absence is proven',
    object: deletingReady,
    given: facts({ memo: memo({ gone: 'srv1' }) }),
    action: { type: 'release', why: 'gone', record: HELD },
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'its absence is proven, but an orphan is unresolved',
    object: webWith(orphaned, { deleting: true }),
    given: facts({ memo: memo({ gone: 'srv1' }) }),
    action: park('OrphanedServer'),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'a server of another account is read again by the cancellation itself',
    object: deletingReady,
    given: gathered({ credentials: { ok: true, account: OTHER_KEY } }),
    action: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'a denied server is read again by the cancellation itself',
    object: deletingReady,
    given: gathered({ memo: memo({ denials: denials('server srv1') }) }),
    action: cancels(HELD),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'the next read of a denied server is not due yet',
    object: deletingReady,
    given: gathered({
      memo: { ...planned(deletingReady, 'deleteServer', NOW + 50), denials: denials('server srv1') },
    }),
    action: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'an earlier absence alone does not release the object',
    object: webWith(MISSING, { status: READY, deleting: true }),
    given: gathered(),
    action: cancels(MISSING),
  },
  {
    check: 'serverIsToBeCancelled',
    reason: 'it was cancelled, but an orphan is unresolved',
    object: webWith(orphaned, { deleting: true }),
    given: facts({ memo: memo({ cancelled: 'srv1' }) }),
    action: park('OrphanedServer'),
  },
  { check: 'serverIsToBeCancelled', reason: 'the object is not being deleted', object: ready, action: undefined },
];

verifyChecks('checks on an object that is being deleted', cases);
