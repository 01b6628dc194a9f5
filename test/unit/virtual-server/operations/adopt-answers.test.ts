import { describe, expect, it } from 'vitest';
import { isNow, untilVisit } from '../../../../src/virtual-server/decision/next.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { adopted, heldByOthers } from '../../../../src/virtual-server/operations/adopt.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  KNOWN,
  PRICE,
  TASKED,
  TIMING,
  UID,
  facts,
  others,
  shown,
  web,
  webWith,
} from '../../../fixtures/decision.ts';
import { conditionsOf, messageOf } from './support.ts';

const { fingerprint } = KNOWN;
const ADOPTED = {
  format: 2,
  owner: UID,
  mode: 'adopt',
  account: ACCOUNT,
  identifier: 'srv1',
  fingerprint,
  price: PRICE,
};

describe('a server that is adopted', () => {
  it('is recorded first, and nothing of it is shown until then', () => {
    const next = adopted(viewOf(web(), facts()), undefined, 'srv1', shown());
    expect(next.record).toEqual(ADOPTED);
    expect(next).not.toHaveProperty('status');
    expect(isNow(next.when)).toBe(true);
    expect(next.events.map(({ reason }) => reason)).toEqual(['ServerAdopted']);
  });

  const task = { attempt: 'a1', attemptedAt: TASKED.attemptedAt, task: 7 };
  it.each([
    { what: 'an attempt', known: ATTEMPTED, left: {} },
    { what: 'an attempt, and keeps its accepted task as an orphan', known: TASKED, left: { orphans: [task] } },
    { what: 'an attempt whose task another object follows too', known: TASKED, with: ['default/other'], left: {} },
  ])('resolves $what', ({ known, with: withTask = [], left }) => {
    const at = viewOf(webWith(known), facts({ others: others({ withTask: () => withTask }) }));
    expect(adopted(at, known, 'srv1', shown()).record).toEqual({ ...ADOPTED, settled: ['a1'], ...left });
  });
});

describe('a server that is not adopted', () => {
  const at = viewOf(webWith(ATTEMPTED), facts());

  it('names no holder from another namespace, and keeps an open attempt', () => {
    const next = heldByOthers(at, ATTEMPTED, 'srv1', ['secret-project/db']);
    expect(conditionsOf(next).Stalled).toBe('True IdentifierInUse');
    expect(messageOf(next)).toContain('is held by an object in another namespace, so the operator does not adopt it.');
    expect(messageOf(next)).toContain('vps-operator.dev/not-created=a1');
    expect(messageOf(next)).not.toContain('secret-project');
    expect(next.record).toBeUndefined();
    expect(next.when).toMatchObject({ operation: 'adopt' });
    expect(untilVisit(next.when)).toBeLessThanOrEqual(TIMING.pollMs);
  });
});
