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
import { CHAINS } from '../../../../src/virtual-server/decision/decide.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
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
  opened,
  record,
  web,
  webWith,
} from '../../../fixtures/decision.ts';
import { follows, park, writes, type Row } from './checks/support.ts';

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
  const forgotten = webWith(opened(HELD, 'TaskNotFound'), { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } });

  it.each<Row>([
    [
      'known facts are recorded even while paused',
      web({ mirror: HELD, annotations: { [PAUSED_ANNOTATION]: 'true' } }),
      writes('restored', HELD),
    ],
    [
      'a release waits while paused',
      webWith(record(), { deleting: true, annotations: { [PAUSED_ANNOTATION]: 'true' } }),
      { type: 'wait', when: { afterMs: Infinity } },
    ],
    [
      'not-created is not obeyed while the create may be in flight',
      webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
      park('CreateInFlight'),
    ],
    [
      'an adoption waits while the create may be in flight',
      webWith(ATTEMPTED, adopting('srv1')),
      park('CreateInFlight'),
    ],
    [
      'Retain waits while the create may be in flight',
      webWith(ATTEMPTED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      park('CreateInFlight'),
    ],
    [
      'a vanished task that you say created nothing is forgotten with its identifier',
      forgotten,
      writes('notCreated', record({ account: ACCOUNT, settled: ['a1'] })),
      facts({ memo: memo({ denials: denials('server srv1', inputsOf(forgotten)), asked: inputsOf(forgotten) }) }),
    ],
    [
      'Retain waits until you resolve an attempt whose outcome is unknown',
      webWith(ATTEMPTED, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      park('CreateOutcomeUnknown'),
      withKey({ notes: [note] }),
    ],
    [
      'not-created releases a retained object',
      webWith(ATTEMPTED, {
        deleting: true,
        spec: { deletionPolicy: 'Retain' },
        annotations: { [NOT_CREATED_ANNOTATION]: 'a1' },
      }),
      writes('notCreated', record({ account: ACCOUNT, settled: ['a1'] })),
      withKey({ notes: [note] }),
    ],
    [
      'a deleted object is kept while the outcome of its order is unknown',
      webWith(ATTEMPTED, { deleting: true }),
      park('CreateOutcomeUnknown'),
      withKey({ notes: [note] }),
    ],
    ['a deleted object follows its task to the end first', webWith(HELD, { deleting: true }), follows(HELD)],
    [
      'a protected object follows its task to the end first too',
      webWith(TASKED, { deleting: true, spec: { deletionProtection: true } }),
      follows(TASKED),
    ],
    [
      'an object with start-over orders',
      web({ annotated: foreign, annotations: { [START_OVER_ANNOTATION]: UID } }),
      { type: 'order', record: undefined },
    ],
    [
      'an object with start-over and a mistyped annotation does not order',
      web({
        annotated: foreign,
        annotations: { [START_OVER_ANNOTATION]: UID, 'vps-operator.dev/adoptt': 'srv1' },
      }),
      park('UnknownAnnotation'),
    ],
    [
      'adopt beside a mistyped annotation adopts the server, which orders nothing',
      web({ annotations: { [ADOPT_ANNOTATION]: 'srv1', 'vps-operator.dev/adoptt': 'srv1' } }),
      { type: 'adopt', record: undefined, identifier: 'srv1' },
    ],
    [
      'an object with a mistyped annotation keeps what it holds, and follows its task',
      webWith(TASKED, { annotations: { 'vps-operator.dev/adoptt': 'srv1' } }),
      follows(TASKED),
    ],
    [
      'adopt on a lost record adopts the server',
      web({ finalizers: [FINALIZER], ...adopting('srv1') }),
      { type: 'adopt', record: undefined, identifier: 'srv1' },
    ],
    [
      'a bad adopt on a lost record parks and never orders',
      web({ finalizers: [FINALIZER], annotations: { [ADOPT_ANNOTATION]: '' } }),
      park('AdoptInvalid'),
    ],
    [
      'a copied status next to the record of an own task neither ends the task nor orders again',
      web({ annotated: TASKED, mirror: foreign, status: READY }),
      follows(TASKED),
    ],
  ])('%s', (_reason, object, operation, given = withKey()) => {
    expect(decide(object, given)).toEqual(operation);
  });
});
