import { describe, expect, it } from 'vitest';
import { NOT_CREATED_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../../../../src/api/names.ts';
import type { Condition } from '../../../../../src/api/meta.ts';
import {
  ATTEMPTED,
  HELD,
  KNOWN,
  NOW,
  TASKED,
  TIMING,
  adopting,
  facts,
  withKey,
  others,
  memo,
  record,
  web,
  webWith,
  opened,
} from '../../../../fixtures/decision.ts';
import { serverIsToBeOrdered } from '../../../../../src/virtual-server/decision/decide.ts';
import { viewOf } from '../../../../../src/virtual-server/decision/view.ts';
import { park, planned, soon, type Row, verifyChecks } from './support.ts';

const busy = others({ withServer: (identifier) => (identifier === 'srv1' ? ['default/other'] : []) });
const note = { attempt: 'a1', state: 'sending' } as const;
const fresh = web();
const condition = (reason: Condition['reason']): Condition => ({
  type: 'Reconciling',
  status: 'True',
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

const FRUITLESS = [
  'TaskNotFound',
  'TaskFailed',
  'TaskOverdue',
  'TaskInUse',
  'IdentityUnproven',
  'ServerNotVisible',
  'IdentifierInUse',
] as const;

verifyChecks('checks on the way to a server', {
  createIsInFlight: [
    [
      "the wait for another process's attempt starts now",
      webWith(ATTEMPTED),
      park('CreateInFlight', { when: { afterMs: TIMING.takeoverMs } }),
    ],
    [
      'the wait starts when the attempt was first seen here',
      webWith(ATTEMPTED),
      park('CreateInFlight', { when: { afterMs: TIMING.takeoverMs - 1000 } }),
      facts({ memo: memo({ claim: { attempt: 'a1', at: undefined, since: -1000 } }) }),
    ],
    [
      'the wait does not end if the clock is set forward by a day',
      webWith(ATTEMPTED),
      park('CreateInFlight', { when: { afterMs: TIMING.takeoverMs - 1000 } }),
      facts({
        now: NOW + 86_400_000,
        monotonic: 0,
        memo: memo({ claim: { attempt: 'a1', at: undefined, since: -1000 } }),
      }),
    ],
    [
      'the wait has ended',
      webWith(ATTEMPTED),
      undefined,
      facts({ memo: memo({ claim: { attempt: 'a1', at: undefined, since: -TIMING.takeoverMs } }) }),
    ],
    [
      'the wait for an earlier attempt does not count for this one',
      webWith(ATTEMPTED),
      park('CreateInFlight', { when: { afterMs: TIMING.takeoverMs } }),
      facts({ memo: memo({ claim: { attempt: 'a0', at: undefined, since: -TIMING.takeoverMs } }) }),
    ],
    [
      'an attempt in the journal of this process is no longer in flight',
      webWith(ATTEMPTED),
      undefined,
      facts({ notes: [note] }),
    ],
  ],
  adoptionIsAsked: [
    ['an invalid identifier causes no call', web(adopting('two words')), park('AdoptInvalid')],
    [
      'the operator reads the server before it names a holder',
      web(adopting('srv1')),
      { type: 'adopt', record: undefined, identifier: 'srv1' },
      withKey({ others: busy }),
    ],
    [
      "an invalid adopt annotation is not reported while the object's task runs",
      webWith(TASKED, { ...adopting('two words'), status: { conditions: [condition('Creating')] } }),
      undefined,
    ],
    [
      "an invalid adopt annotation is reported once the object's task is fruitless",
      webWith(opened(TASKED, 'TaskNotFound'), adopting('two words')),
      park('AdoptInvalid'),
    ],
    [
      "the object's task will name the server that it creates",
      webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition('Creating')] } }),
      undefined,
    ],
    [
      "TaskNotFound behind AdoptInvalid: the object's task will not name a server",
      webWith(opened(TASKED, 'TaskNotFound'), {
        ...adopting('srv1'),
        status: { conditions: [condition('AdoptInvalid')] },
      }),
      { type: 'adopt', record: opened(TASKED, 'TaskNotFound'), identifier: 'srv1' },
    ],
    ...FRUITLESS.map((reason): Row => [
      `${reason}: the object's task will not name a server`,
      webWith(opened(TASKED, reason), adopting('srv1')),
      { type: 'adopt', record: opened(TASKED, reason), identifier: 'srv1' },
    ]),
    [
      'a new object adopts the server instead of ordering one',
      web(adopting('srv1')),
      { type: 'adopt', record: undefined, identifier: 'srv1' },
    ],
    [
      'the operator does not wait for a task that has run for an hour, whatever its condition',
      webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition('Creating')] } }),
      { type: 'adopt', record: TASKED, identifier: 'srv1' },
      withKey({ now: NOW + 3_600_000 }),
    ],
    ...(['TaskInUse', 'TaskNotFound'] as const).map((reason): Row => [
      `${reason}: you name another server in place of one that was never seen`,
      webWith(opened(HELD, reason), adopting('srv2')),
      { type: 'adopt', record: opened(HELD, reason), identifier: 'srv2' },
    ]),
    [
      'your word that the server of the order is gone comes before an adoption in its place',
      webWith(opened(HELD, 'TaskInUse'), {
        annotations: { ...adopting('srv2').annotations, [SERVER_GONE_ANNOTATION]: 'srv1' },
      }),
      undefined,
    ],
    [
      'your word that an order with a task created nothing comes before an adoption',
      webWith(opened(TASKED, 'TaskNotFound'), {
        annotations: { ...adopting('srv2').annotations, [NOT_CREATED_ANNOTATION]: 'a1' },
      }),
      undefined,
    ],
    [
      'a server that was seen is not exchanged for another one that the task names',
      webWith(opened(KNOWN, 'TaskInUse'), adopting('srv2')),
      undefined,
    ],
    [
      'the object does not adopt its own server under another spelling',
      webWith(opened(HELD, 'TaskInUse'), adopting('SRV1')),
      undefined,
    ],
    ['the object keeps the server that it holds', webWith(HELD, adopting('srv2')), undefined],
    [
      'a failed adoption is not retried before its time',
      web(adopting('srv1')),
      { type: 'wait', when: { afterMs: 50 } },
      soon(web(adopting('srv1')), 'adopt'),
    ],
  ],
  createOutcomeIsUnknown: [
    ['the outcome is unknown', webWith(ATTEMPTED), park('CreateOutcomeUnknown')],
    ['a task is known', webWith(TASKED), undefined],
  ],
  annotationIsUnknown: [
    [
      'a typo of adopt orders nothing',
      web({ annotations: { 'vps-operator.dev/adoptt': '' } }),
      park('UnknownAnnotation'),
    ],
    [
      'an order that you resolved is not sent again either',
      webWith(record({ settled: ['a1'] }), { annotations: { 'vps-operator.dev/adoptt': '' } }),
      park('UnknownAnnotation'),
    ],
    [
      'an object that holds something continues',
      webWith(TASKED, { annotations: { 'vps-operator.dev/adoptt': '' } }),
      undefined,
    ],
    [
      'known annotations and other prefixes do not matter',
      web({ annotations: { 'vps-operator.dev/reconcile-at': '1', 'example.org/adoptt': '', adoptt: '' } }),
      undefined,
    ],
  ],
  serverIsToBeOrdered: [
    [
      'a refused create waits for a change, however long',
      fresh,
      { type: 'wait', when: { afterMs: Infinity } },
      withKey({ memo: planned(fresh, 'order', Infinity) }),
    ],
    ['nothing is held, and nothing may be on its way', fresh, { type: 'order', record: undefined }],
  ],
});

describe('serverIsToBeOrdered', () => {
  it.each([
    { reason: 'an attempt', object: webWith(ATTEMPTED) },
    { reason: 'a task', object: webWith(TASKED) },
    { reason: 'a server', object: webWith(HELD) },
    { reason: 'its deletion', object: web({ deleting: true }) },
  ])('refuses an object with $reason: it is the last line of defense', ({ object }) => {
    expect(() => serverIsToBeOrdered(viewOf(object, withKey()))).toThrow('no create');
  });
});
