/** Which user data no text of the provider may quote: the present one, and what the order has sent. */
import { expect, it } from 'vitest';
import { KNOWN, NOW, SERVER, TASKED, web, webWith } from '../../fixtures/decision.ts';
import { visit, type Answers, type Given, type Visited } from '../../fixtures/visits.ts';

const spec = { userDataFrom: { secretKeyRef: { name: 'init', key: 'user-data' } } };
const [V1, V2] = ['#cloud-config with the first password', '#cloud-config with the second password'];
const withText = (text: string): Given => ({ userData: { init: text } });
const pending: Answers = { task: { state: 'pending' } };

const ordering = (given: Given): Promise<Visited> => visit(web({ spec }), { ...withText(V1), ...given });

it.each([
  ['order', { answers: { ...pending, order: { kind: 'created', task: 7 } } }],
  ['named', { ordersNamed: true, answers: { ...pending, named: { kind: 'created', task: 7 } } }],
] as const)('what this process has sent is hidden after the Secret has changed (%s)', async (_, given) => {
  const first = await ordering(given);
  const { object = web(), memo } = first;
  const next = await visit(object, { ...given, ...withText(V2), memo, now: NOW + 60_000 });
  expect(next.calls).toContain('poll');
  expect(next.hidden).toEqual(expect.arrayContaining([V1, V2]));
  expect(next.hidden).not.toContain(undefined);
});

it('no text is quoted while the order of another process may have sent anything', async () => {
  const object = webWith(TASKED, { spec });
  const { hidden, calls } = await visit(object, { ...withText(V2), answers: pending });
  expect(calls).toContain('poll');
  expect(hidden).toEqual([undefined]);
});

it('the present text is hidden once the server was read, and nothing without user data', async () => {
  const status = { serverStatus: 'running', observedGeneration: 1, identifier: 'srv1' };
  const read = await visit(webWith(KNOWN, { spec, status }), { ...withText(V2), answers: { server: SERVER } });
  expect(read.hidden).toEqual([V2]);
  expect((await visit(webWith(TASKED), { answers: pending })).hidden).toEqual([]);
});
