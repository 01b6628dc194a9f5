import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ADOPT_ANNOTATION,
  FINALIZER,
  NOT_CREATED_ANNOTATION,
  PAUSED_ANNOTATION,
  START_OVER_ANNOTATION,
} from '../../../../src/api/names.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import { CHAINS } from '../../../../src/virtual-server/decision/decide.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import type { Facts } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  HELD,
  TASKED,
  UID,
  adopting,
  decide,
  denials,
  facts,
  withKey,
  memo,
  record,
  web,
  webWith,
} from '../../../fixtures/decision.ts';
import { park } from './checks/support.ts';

const ROOT = join(import.meta.dirname, '../../../..');

/** The rows of the table of chains in docs/concepts/design.md: name, guard, checks. */
function designed(): [string, string[]][] {
  const design = readFileSync(join(ROOT, 'docs/concepts/design.md'), 'utf8');
  const [, section = ''] = /\n## The checks\n([^]*?)\n## /.exec(design) ?? [];
  return [...section.matchAll(/^\| `(\w+)` \|[^|]*\|([^|]*)\|$/gm)].map(([, name = '', checks = '']) => [
    name,
    [...checks.matchAll(/`(\w+)`/g)].map(([, check = '']) => check),
  ]);
}

describe('the chains of checks', () => {
  it('match the design document in name and order', () => {
    const chains = Object.entries(CHAINS).map(([name, { checks }]) => [name, checks.map((check) => check.name)]);
    expect(chains).toEqual(designed());
  });

  it.each([
    ['ordering', web()],
    ['ordering', webWith(record())],
    ['living', webWith(HELD)],
    ['deleting', webWith(HELD, { deleting: true })],
    ['leaving', web({ deleting: true })],
    ['leaving', webWith(record(), { deleting: true })],
  ])('decide in exactly one of the last four chains: %s', (name, object) => {
    const view = viewOf(object, facts());
    const { record: _record, own: _own, ...last } = CHAINS;
    expect(Object.entries(last).flatMap(([chain, { admits }]) => (admits(view) ? [chain] : []))).toEqual([name]);
  });
});

const READY = { serverStatus: 'running' };
const foreign = { ...HELD, owner: 'another-uid' };
const note = { attempt: 'a1', state: 'sending' } as const;

/** The decision of all checks together, where their order matters. */
describe('decide', () => {
  const vanished: VirtualServerStatus = {
    conditions: [
      {
        type: 'Stalled',
        status: 'True',
        reason: 'TaskNotFound',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  };
  const forgotten = webWith(HELD, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' }, status: vanished });

  it.each<{ reason: string; object: VirtualServer; given?: Facts; operation: unknown }>([
    {
      reason: 'known facts are recorded even while paused',
      object: web({ mirror: HELD, annotations: { [PAUSED_ANNOTATION]: 'true' } }),
      operation: { type: 'record', record: HELD, why: 'restored' },
    },
    {
      reason: 'a release waits while paused',
      object: webWith(record(), { deleting: true, annotations: { [PAUSED_ANNOTATION]: 'true' } }),
      operation: { type: 'wait' },
    },
    {
      reason: 'not-created is not obeyed while the create may be in flight',
      object: webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
      given: withKey(),
      operation: park('CreateInFlight'),
    },
    {
      reason: 'an adoption waits while the create may be in flight',
      object: webWith(ATTEMPTED, adopting('srv1')),
      given: withKey(),
      operation: park('CreateInFlight'),
    },
    {
      reason: 'Retain waits while the create may be in flight',
      object: webWith(ATTEMPTED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      operation: park('CreateInFlight'),
    },
    {
      reason: 'a vanished task that you say created nothing is forgotten with its identifier',
      object: forgotten,
      given: facts({ memo: memo({ denials: denials('server srv1'), asked: inputsOf(forgotten) }) }),
      operation: { type: 'record', record: record({ account: ACCOUNT, settled: ['a1'] }), why: 'notCreated' },
    },
    {
      reason: 'Retain waits until you resolve an attempt whose outcome is unknown',
      object: webWith(ATTEMPTED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      given: withKey({ notes: [note] }),
      operation: park('CreateOutcomeUnknown'),
    },
    {
      reason: 'not-created releases a retained object',
      object: webWith(ATTEMPTED, {
        deleting: true,
        spec: { deletionPolicy: 'Retain' },
        annotations: { [NOT_CREATED_ANNOTATION]: 'a1' },
      }),
      given: withKey({ notes: [note] }),
      operation: { type: 'record', record: record({ account: ACCOUNT, settled: ['a1'] }), why: 'notCreated' },
    },
    {
      reason: 'a deleted object is kept while the outcome of its order is unknown',
      object: webWith(ATTEMPTED, { deleting: true }),
      given: withKey({ notes: [note] }),
      operation: park('CreateOutcomeUnknown'),
    },
    {
      reason: 'a deleted object follows its task to the end first',
      object: webWith(HELD, { deleting: true }),
      given: withKey(),
      operation: { type: 'follow', record: HELD, task: 7 },
    },
    {
      reason: 'protection comes before every call',
      object: webWith(TASKED, { deleting: true, spec: { deletionProtection: true } }),
      given: withKey(),
      operation: park('DeletionProtected'),
    },
    {
      reason: 'an object with start-over orders',
      object: web({ annotated: foreign, annotations: { [START_OVER_ANNOTATION]: UID } }),
      given: withKey(),
      operation: { type: 'order', record: undefined },
    },
    {
      reason: 'an object with start-over and a mistyped annotation does not order',
      object: web({
        annotated: foreign,
        annotations: { [START_OVER_ANNOTATION]: UID, 'vps-operator.dev/adoptt': 'srv1' },
      }),
      given: withKey(),
      operation: park('UnknownAnnotation'),
    },
    {
      reason: 'adopt beside a mistyped annotation adopts the server, which orders nothing',
      object: web({ annotations: { [ADOPT_ANNOTATION]: 'srv1', 'vps-operator.dev/adoptt': 'srv1' } }),
      given: withKey(),
      operation: { type: 'adopt', record: undefined, identifier: 'srv1' },
    },
    {
      reason: 'an object with a mistyped annotation keeps what it holds, and follows its task',
      object: webWith(TASKED, { annotations: { 'vps-operator.dev/adoptt': 'srv1' } }),
      given: withKey(),
      operation: { type: 'follow', record: TASKED, task: 7 },
    },
    {
      reason: 'adopt on a lost record adopts the server',
      object: web({ finalizers: [FINALIZER], ...adopting('srv1') }),
      given: withKey(),
      operation: { type: 'adopt', record: undefined, identifier: 'srv1' },
    },
    {
      reason: 'a bad adopt on a lost record parks and never orders',
      object: web({ finalizers: [FINALIZER], annotations: { [ADOPT_ANNOTATION]: '' } }),
      given: withKey(),
      operation: park('AdoptInvalid'),
    },
    {
      reason: 'a copied status next to the record of an own task neither ends the task nor orders again',
      object: web({ annotated: TASKED, mirror: foreign, status: READY }),
      given: withKey(),
      operation: { type: 'follow', record: TASKED, task: 7 },
    },
  ])('$reason', ({ object, given = facts(), operation }) => {
    expect(decide(object, given)).toEqual(operation);
  });
});
