/** When the task of an order is polled, and when the server that it names is the object's. */
import { expect, it } from 'vitest';
import { NOT_CREATED_ANNOTATION } from '../../../../src/api/names.ts';
import { TASKED, webWith } from '../../../fixtures/decision.ts';
import { recordOf } from '../../../fixtures/records.ts';
import { shownBy, visit } from '../../../fixtures/visits.ts';

const OTHER = ['default/other'];

it('does not lead to a server that another object holds', async () => {
  const visited = await visit(webWith(TASKED), {
    answers: { task: { state: 'complete', identifier: 'srv1' } },
    others: { withServer: (identifier) => (identifier === 'srv1' ? OTHER : []) },
  });
  expect(visited.calls).toEqual(['poll', 'write', 'write']);
  expect(shownBy(visited).reason).toBe('TaskInUse');
  expect(visited.object && recordOf(visited.object)).not.toHaveProperty('identifier');
});

it('counts as asked about while another object follows it, so that you can say that it created nothing', async () => {
  const overdue = { ...TASKED, attemptedAt: '2026-01-01T00:00:00Z' };
  const visited = await visit(webWith(overdue, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }), {
    answers: { order: { kind: 'created', task: 8 }, task: { state: 'pending' } },
    others: { withTask: (task) => (task === 7 ? OTHER : []) },
  });
  expect(visited.requests).toHaveLength(1);
  expect(visited.object && recordOf(visited.object)).toMatchObject({ task: 8, settled: ['a1'] });
});
