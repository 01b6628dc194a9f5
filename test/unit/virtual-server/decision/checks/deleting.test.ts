import { CANCEL_NOW_ANNOTATION, FINALIZER } from '../../../../../src/api/names.ts';
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
  type Shape,
} from '../../../../fixtures/decision.ts';
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import { cancels, follows, looks, park, planned, releases, verifyChecks } from './support.ts';

const READY = { serverStatus: 'running' };
const MISSING = { ...HELD, missingAt: '2026-01-01T12:00:00Z' };
const SENT = record({
  mode: 'named',
  account: ACCOUNT,
  attempt: 'a1',
  attemptedAt: '2026-01-01T12:00:00Z',
  sent: { at: '2026-01-01T12:00:00.000Z', body: '0' },
  identifier: 'srv1',
});
const orphaned = { ...HELD, orphans: [{ task: 3 }] };
const gone = (identifier: string) => ({ state: 'gone', identifier, wasRequested: false }) as const;
const fresh = web();
const HOUR = 3_600_000;
const DELETED = Date.UTC(2026, 0, 2);
/** Deleted at `DELETED`, with a delay of an hour. */
const delayed = (shape: Shape = {}): VirtualServer =>
  webWith(HELD, { status: READY, deleting: true, spec: { deletionDelay: '1h' }, ...shape });
const ready = webWith(HELD, { status: READY });
const deletingReady = webWith(HELD, { status: READY, deleting: true });

verifyChecks('checks on an object that is being deleted', {
  finalizerIsGone: [
    [
      'the operator ignores an object that only other finalizers keep',
      web({ mirror: HELD, finalizers: ['example.org/other'], deleting: true }),
      { type: 'wait', when: { afterMs: Infinity } },
    ],
    ["the operator's finalizer is there", deletingReady, undefined],
    ['the object is not deleted', fresh, undefined],
  ],
  nothingIsOwed: [
    [
      'the order created nothing, so the release needs no key',
      webWith(record({ account: ACCOUNT }), { deleting: true }),
      releases('nothingCreated', record({ account: ACCOUNT })),
      facts(),
    ],
    [
      'an orphan is unresolved',
      webWith(record({ orphans: [{ attempt: 'a0' }] }), { deleting: true }),
      park('OrphanedServer'),
    ],
    ['an attempt is unresolved', webWith(ATTEMPTED, { deleting: true }), undefined],
    [
      'you named the server of a lost record, so the operator must adopt it first',
      web({ finalizers: [FINALIZER], deleting: true, ...adopting('srv1') }),
      undefined,
    ],
  ],
  serverIsRetained: [
    [
      'the server is left running',
      webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      releases('retained', HELD),
    ],
    [
      'an attempt may have created a server without a known identifier',
      webWith(ATTEMPTED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      undefined,
    ],
    [
      'a task is followed until its server is known',
      webWith(TASKED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      undefined,
    ],
    [
      'the task has failed, which a restored record does not say',
      webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      follows(HELD),
      withKey({ memo: memo({ failure: { task: 7, said: 'no room', count: 3, since: 0 } }) }),
    ],
    ['the policy is Delete', deletingReady, undefined],
  ],
  serverIsProtected: [
    [
      'nothing is cancelled while it is protected',
      webWith(HELD, { deleting: true, spec: { deletionProtection: true } }),
      park('DeletionProtected'),
    ],
    [
      'nothing would be cancelled under Retain',
      webWith(TASKED, { deleting: true, spec: { deletionProtection: true, deletionPolicy: 'Retain' } }),
      undefined,
    ],
    ['protection matters only for a deletion', webWith(HELD, { spec: { deletionProtection: true } }), undefined],
    [
      'the server of an order under an identifier is looked for',
      webWith(SENT, { deleting: true, spec: { deletionProtection: true } }),
      looks(SENT),
      withKey(),
    ],
    [
      'the absence of that server is proven',
      webWith(SENT, { deleting: true, spec: { deletionProtection: true } }),
      undefined,
      facts({ memo: memo({ end: gone('srv1') }) }),
    ],
    [
      'that server was shown',
      webWith(SENT, { deleting: true, spec: { deletionProtection: true } }),
      park('DeletionProtected'),
      facts({ memo: memo({ task: { state: 'over', identifier: 'srv1' } }) }),
    ],
  ],
  serverIsKept: [
    ['the server runs on, and is read', delayed(), looks(HELD)],
    ['the delay has just begun', delayed(), looks(HELD), withKey({ now: DELETED })],
    ['a millisecond before its end', delayed(), looks(HELD), withKey({ now: DELETED + HOUR - 1 })],
    ['at its end', delayed(), undefined, withKey({ now: DELETED + HOUR })],
    [
      'the clock of the API server is behind, so the delay has not ended',
      delayed(),
      looks(HELD),
      withKey({ now: DELETED + HOUR, apiServerNow: DELETED }),
    ],
    ['there is no delay', deletingReady, undefined],
    ['the object is not deleted', webWith(HELD, { status: READY, spec: { deletionDelay: '1h' } }), undefined],
    ['the policy is Retain', delayed({ spec: { deletionDelay: '1h', deletionPolicy: 'Retain' } }), undefined],
    ['you end the delay of this server', delayed({ annotations: { [CANCEL_NOW_ANNOTATION]: 'srv1' } }), undefined],
    [
      'you ended the delay of another server',
      delayed({ annotations: { [CANCEL_NOW_ANNOTATION]: 'srv0' } }),
      looks(HELD),
    ],
    [
      'the server expires before the delay ends',
      delayed({ spec: { deletionDelay: '1h', expiresAt: '2026-01-02T00:30:00Z' } }),
      undefined,
      withKey({ now: DELETED + HOUR / 2 }),
    ],
    [
      'an expiry after the delay does not lengthen it',
      delayed({ spec: { deletionDelay: '1h', expiresAt: '2026-01-02T02:00:00Z' } }),
      undefined,
      withKey({ now: DELETED + HOUR }),
    ],
    ['the server is gone', delayed(), undefined, facts({ memo: memo({ end: gone('srv1') }) })],
    [
      'the next read is not due yet',
      delayed(),
      { type: 'wait', when: { afterMs: 50 } },
      withKey({ memo: planned(delayed(), 'look', NOW + 50) }),
    ],
  ],
  serverIsToBeCancelled: [
    ['the server is cancelled', deletingReady, cancels(HELD)],
    [
      'it was cancelled',
      deletingReady,
      releases('cancelled', HELD),
      facts({ memo: memo({ end: { state: 'confirmed', identifier: 'srv1' } }) }),
    ],
    [
      'another server was cancelled',
      deletingReady,
      cancels(HELD),
      withKey({ memo: memo({ end: { state: 'confirmed', identifier: 'srv0' } }) }),
    ],
    ['another server is gone', deletingReady, cancels(HELD), withKey({ memo: memo({ end: gone('srv0') }) })],
    [
      'a DELETE whose answer was lost is no proof',
      deletingReady,
      cancels(HELD),
      withKey({ memo: memo({ end: { state: 'requested', identifier: 'srv1' } }) }),
    ],
    [
      "the provider's word alone is no proof",
      deletingReady,
      cancels(HELD),
      withKey({
        memo: memo({ end: { state: 'answered', identifier: 'srv1', said: 'ok', since: 0, askedAt: 0 } }),
      }),
    ],
    ['its absence is proven', deletingReady, releases('gone', HELD), facts({ memo: memo({ end: gone('srv1') }) })],
    [
      'its absence is proven, but an orphan is unresolved',
      webWith(orphaned, { deleting: true }),
      park('OrphanedServer'),
      facts({ memo: memo({ end: gone('srv1') }) }),
    ],
    [
      'a server of another account is read again by the cancellation itself',
      deletingReady,
      cancels(HELD),
      withKey({ key: { ok: true, value: { account: OTHER_KEY } } }),
    ],
    [
      'a denied server is read again by the cancellation itself',
      deletingReady,
      cancels(HELD),
      withKey({ memo: memo({ denials: denials('server srv1') }) }),
    ],
    [
      'the next read of a denied server is not due yet',
      deletingReady,
      { type: 'wait', when: { afterMs: 50 } },
      withKey({
        memo: { ...planned(deletingReady, 'cancel', NOW + 50), evidence: { denials: denials('server srv1') } },
      }),
    ],
    [
      'an earlier absence alone does not release the object',
      webWith(MISSING, { status: READY, deleting: true }),
      cancels(MISSING),
    ],
    [
      'it was cancelled, but an orphan is unresolved',
      webWith(orphaned, { deleting: true }),
      park('OrphanedServer'),
      facts({ memo: memo({ end: { state: 'confirmed', identifier: 'srv1' } }) }),
    ],
    ['the object is not being deleted', ready, undefined],
  ],
});
