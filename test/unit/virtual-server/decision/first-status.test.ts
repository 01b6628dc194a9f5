/** The first status of an object, which may have its record already, and the first one of a new spec. */
import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, PAUSED_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import { compose } from '../../../../src/virtual-server/decision/compose.ts';
import type { VirtualServerSpec, VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import { stored, storedWith } from '../../../fixtures/virtual-server.ts';

const OWNER = { owner: 'uid-of-web' };
const HELD: ServerRecord = { ...OWNER, mode: 'adopt', account: 'account-1', identifier: 'srv1' };
const CLAIMED: ServerRecord = { ...OWNER, mode: 'create', attempt: 'a1' };
const FOLLOWING: ServerRecord = { ...CLAIMED, task: 7 };

describe('the first status', () => {
  it.each<[string, Record<string, string>, ServerRecord | undefined, string]>([
    ['of a new object', {}, undefined, 'is about to order the server'],
    ['of an object with a claim', {}, CLAIMED, 'is about to order the server'],
    ['of an object whose order was accepted', {}, FOLLOWING, 'is about to look at task 7 of its order'],
    ['of an object that has taken a server over', {}, HELD, 'is about to read server srv1'],
    [
      'of one that takes over',
      { [TAKE_OVER_ANNOTATION]: 'm' },
      undefined,
      'is about to take over the server of a deleted object',
    ],
    ['of one that adopts', { [ADOPT_ANNOTATION]: 'srv1' }, undefined, 'is about to adopt a server'],
    ['of a paused object', { [PAUSED_ANNOTATION]: 'true' }, HELD, 'orders nothing while the object is paused'],
  ])('%s says what comes next', (_whose, annotations, record, next) => {
    const object = stored('web', storedWith({ metadata: { annotations }, status: {} }));
    const { conditions } = compose(object, { record }, 0);
    expect(conditions?.find(({ type }) => type === 'Ready')?.message).toBe(`The operator ${next}`);
  });
});

describe('the first status of a new spec', () => {
  const record: ServerRecord = HELD;
  const before: VirtualServerStatus = { identifier: 'srv1', serverStatus: 'running', observedGeneration: 0, record };
  const pendingOf = (
    spec: Partial<VirtualServerSpec>,
    { annotations = {}, ...more }: { annotations?: Record<string, string>; fields?: VirtualServerStatus } = {},
    status = before,
  ): string | undefined => {
    const object = stored('web', storedWith({ metadata: { annotations }, spec, status }));
    return compose(object, { record, ...more }, 0).conditions?.find(({ type }) => type === 'ChangePending')?.reason;
  };

  it('says that the server may differ from it, until a read has compared them', () => {
    expect(pendingOf({ changePolicy: 'Online' })).toBe('Changing');
    expect(pendingOf({ changePolicy: 'AllowStop' })).toBe('Changing');
    expect(pendingOf({ changePolicy: 'Online' }, { fields: before })).toBeUndefined();
  });

  it('tells nothing if the operator changes nothing, or makes no calls', () => {
    expect(pendingOf({})).toBeUndefined();
    expect(pendingOf({ changePolicy: 'Never' })).toBeUndefined();
    expect(pendingOf({ changePolicy: 'Online' }, { annotations: { [PAUSED_ANNOTATION]: 'true' } })).toBeUndefined();
    expect(pendingOf({ changePolicy: 'Online' }, {}, { ...before, observedGeneration: 1 })).toBeUndefined();
    expect(pendingOf({ changePolicy: 'Online' }, {}, { observedGeneration: 0, record })).toBeUndefined();
  });
});
