/** For which states of an object `kubectl vps adopt -f` and `kubectl vps start-over` are possible. */
import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, START_OVER_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { planAdoptions, planStartsOver, type ListedRow } from '../../../src/plugin/decisions/listed.ts';
import { NOW } from '../../fixtures/decision.ts';
import { states } from '../../fixtures/states.ts';

const STATES = await states();

/** States in which the object holds no server, is not being deleted, and no order may still complete. */
const ADOPTABLE = [
  ...[
    'new',
    'fixed',
    'Paused',
    'Paused_fixed',
    'Paused_stalled',
    'AdoptInvalid',
    'HandOverRefused',
    'UnknownAnnotation',
    'ObserveOnly',
    'WriteRefused',
    'RecordMissing',
    'RecordMismatch',
  ],
  ...[
    'IdentifierTaken',
    'InvalidSpec',
    'SSHKeyNotFound',
    'UserDataNotFound',
    'UserDataForbidden',
    'CreateLimit',
    'ServerLimit',
    'PriceLimit',
    'PricePending',
    'PriceUnknown',
    'JournalUnavailable',
    'CreateRejected',
    'CreateBackOff',
  ],
  ...['SecretNotFound', 'SecretInvalid', 'SecretForbidden', 'InvalidCredentials', 'Unauthorized', 'PermissionDenied'],
  ...['ProviderUnavailable', 'ProviderRateLimited', 'ProviderProtocolError'],
  ...['CreateOutcomeUnknown', 'Pending', 'TaskOverdue', 'TaskNotFound', 'TaskFailed', 'TaskInUse'],
];

const place = ({ metadata: { namespace, name } }: VirtualServer) => ({ namespace, name });
const annotated = (object: VirtualServer, annotation: string, value: string): VirtualServer => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [annotation]: value } },
});
const adoption = (object: VirtualServer, identifier = 'srv9', all = [object]): ListedRow =>
  planAdoptions([{ ...place(object), identifier }], all, NOW)[0] as ListedRow;
const start = (object: VirtualServer): ListedRow => planStartsOver([place(object)], [object], NOW)[0] as ListedRow;
const stateOf = (name: string): VirtualServer => {
  const object = STATES[name]?.object;
  if (object === undefined) throw new Error(`no state ${name}`);
  return object;
};

describe('adopt -f', () => {
  it.each(Object.keys(STATES))('%s: writes only to an object that can adopt a server', (name) => {
    const { outcome, why } = adoption(stateOf(name));
    if (ADOPTABLE.includes(name)) expect([outcome, why]).toEqual(['write', '']);
    else expect([outcome, why]).toEqual(['refused', expect.stringMatching(/./)]);
  });

  it('has nothing to do if the object holds the server or names it, in upper or lower case', () => {
    expect(adoption(stateOf('Available'), 'SRV1')).toMatchObject({ outcome: 'done', why: 'already holds the server' });
    const waiting = annotated(stateOf('RecordMismatch'), ADOPT_ANNOTATION, 'srv9');
    expect(adoption(waiting)).toMatchObject({ outcome: 'done', why: 'already annotated' });
  });

  it('refuses a server that another object holds', () => {
    const holder = stateOf('Available');
    const object = stateOf('new');
    const other = { ...object, metadata: { ...object.metadata, name: 'other', uid: 'uid-of-other' } };
    expect(adoption(other, 'SRV1', [holder, other])).toMatchObject({
      outcome: 'refused',
      why: `${holder.metadata.namespace}/${holder.metadata.name} holds the server`,
    });
  });
});

describe('start-over', () => {
  it.each(Object.keys(STATES))('%s: writes only to an object with the record of another one', (name) => {
    const { outcome, why } = start(stateOf(name));
    expect([outcome, why]).toEqual([name === 'RecordMismatch' ? 'write' : 'refused', expect.stringMatching(/./)]);
  });

  it('has nothing to do for an object that starts over', () => {
    const object = stateOf('RecordMismatch');
    expect(start(annotated(object, START_OVER_ANNOTATION, object.metadata.uid)).outcome).toBe('done');
    expect(start(annotated(object, START_OVER_ANNOTATION, 'another uid')).outcome).toBe('write');
  });
});
