import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, FINALIZER } from '../../../../src/api/names.ts';
import { claimsOf } from '../../../../src/virtual-server/decision/claims.ts';
import { ATTEMPTED, HELD, record, TASKED, web, type Shape } from '../../../fixtures/decision.ts';

const NAMED = { ...HELD, mode: 'named', attempt: 'a1', sent: { at: '2026-01-01T00:00:00Z', body: 'b' } } as const;

describe('an object', () => {
  it.each<[string, Shape, object]>([
    ['without a record holds nothing', {}, { holds: [], mayHold: [] }],
    ['with a server holds it', { annotated: HELD, mirror: HELD }, { holds: ['srv1'] }],
    ['holds the server that only one copy of its record names', { mirror: HELD }, { holds: ['srv1'] }],
    ['holds the server of a named order before any answer', { annotated: NAMED }, { holds: ['srv1'] }],
    [
      'holds a server that counts as gone',
      { annotated: { ...HELD, missingAt: '2026-01-01T00:00:00Z' } },
      { holds: ['srv1'] },
    ],
    [
      'may hold any server since it ordered one',
      { annotated: ATTEMPTED },
      { holds: [], orderedAt: ATTEMPTED.attemptedAt },
    ],
    ['may hold any server while its task runs', { annotated: TASKED }, { holds: [], orderedAt: TASKED.attemptedAt }],
    ['may hold any server if its record is lost', { finalizers: [FINALIZER] }, { holds: [], orderedAt: '' }],
    [
      'may hold any server if its record is unreadable',
      { annotated: '{', mirror: HELD },
      { orderedAt: '', mayHold: ['srv1'] },
    ],
    [
      'may hold any server if its record contradicts itself',
      { annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } },
      { orderedAt: '', mayHold: ['srv1', 'srv2'] },
    ],
    [
      'may hold any server if its record is too new',
      { annotated: { ...HELD, format: 99 } },
      { orderedAt: '', mayHold: ['srv1'] },
    ],
    [
      'may hold the server of a copied record',
      { annotated: { ...HELD, owner: 'other' } },
      { holds: [], mayHold: ['srv1'] },
    ],
    [
      'may hold the server of a failed order',
      { annotated: record({ failed: [{ identifier: 'srv3' }] }) },
      { holds: [], mayHold: ['srv3'] },
    ],
    [
      'does not refer to its orphans',
      { annotated: record({ orphans: [{ identifier: 'srv4' }] }) },
      { holds: [], mayHold: [] },
    ],
  ])('%s', (_what, shape, expected) => {
    expect(claimsOf(web(shape))).toMatchObject({ namespace: 'default', name: 'web', ...expected });
  });

  it('may hold the server that it is about to adopt', () => {
    expect(claimsOf(web({ annotations: { [ADOPT_ANNOTATION]: 'srv5' } })).mayHold).toEqual(['srv5']);
  });
});
