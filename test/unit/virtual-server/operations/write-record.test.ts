/** After the annotation was lost and is written again, only a server that was just read waits for its next read. */
import { expect, it } from 'vitest';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import { formatRecord, type ServerRecord } from '../../../../src/api/record.ts';
import type { Planned } from '../../../../src/virtual-server/decision/memo.ts';
import { NOW, PRICED, SERVER, TASKED, memo, web, webWith } from '../../../fixtures/decision.ts';
import { visit, type Visited } from '../../../fixtures/visits.ts';

/** A visit of an object whose annotation is gone, with the next call planned in a minute. */
async function restoring(own: ServerRecord, operation: Planned): Promise<Visited> {
  const evidence = own.identifier === undefined ? {} : ({ task: { state: 'over', identifier: 'srv1' } } as const);
  const answers = { task: { state: 'pending' }, server: SERVER } as const;
  const { object: before } = await visit(webWith(own), { memo: memo(evidence), answers });
  const object = web({ mirror: own, status: before?.status ?? {} });
  const plan = { operation, from: 0, at: NOW + 60_000, inputs: inputsOf(object) };
  return visit(object, { memo: memo(evidence, { plan }), answers });
}

it.each<[string, ServerRecord, Planned, boolean]>([
  ['polls its task at once', TASKED, 'follow', true],
  ['reads no server again that was just read', PRICED, 'look', false],
])('an object whose record is restored %s', async (_, own, operation, asks) => {
  const { calls, object } = await restoring(own, operation);
  expect(object?.metadata.annotations).toMatchObject({ 'vps-operator.dev/record': formatRecord(own) });
  expect(calls.some((call) => call === 'poll' || call === 'read')).toBe(asks);
});
