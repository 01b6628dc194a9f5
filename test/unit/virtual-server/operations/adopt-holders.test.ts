/** What two objects that adopt the same server learn of each other. */
import { expect, it } from 'vitest';
import { currentReason } from '../../../../src/api/conditions.ts';
import { Holders } from '../../../../src/virtual-server/shared/holders.ts';
import { ACCOUNT, SERVER, TASKED, UID, adopting, web, webWith } from '../../../fixtures/decision.ts';
import { recordOf } from '../../../fixtures/records.ts';
import { DENIED, visit } from '../../../fixtures/visits.ts';

const OTHER = { namespace: 'default', name: 'other', secret: 'key', account: ACCOUNT, identifier: 'srv1' };
const adopter = web(adopting('srv1'));

it('reserves the server before reading it, until the visit ends', async () => {
  const holders = new Holders(() => ACCOUNT);
  const reserved: (readonly string[])[] = [];
  const visited = await visit(adopter, {
    answers: { server: DENIED },
    holders,
    onCall: (call) => {
      if (call !== 'read') return;
      reserved.push(holders.others('another').withServer('srv1', { account: ACCOUNT }));
      reserved.push(holders.others(UID).withServer('srv1', { account: ACCOUNT }));
    },
  });
  expect(visited.calls).toEqual(['read', 'products', 'read', 'write']);
  expect(reserved).toEqual([['default/web'], [], ['default/web'], []]);
  expect(holders.others('another').withServer('srv1', { account: ACCOUNT })).toEqual([]);
});

it.each([
  { answer: SERVER, shows: 'IdentifierInUse', names: true },
  { answer: DENIED, shows: 'ServerNotVisible', names: false },
])('learns of a holder only if its key can read the server ($shows)', async ({ answer, shows, names }) => {
  const holders = new Holders(() => ACCOUNT);
  holders.set('another', OTHER);
  const { object } = await visit(adopter, { answers: { server: answer }, holders });
  expect(currentReason(object?.status?.conditions)).toBe(shows);
  expect(object?.status?.conditions?.some(({ message }) => message.includes('default/other'))).toBe(names);
  expect(object?.metadata.finalizers).toBeUndefined();
});

it('yields to an earlier adoption', async () => {
  const holders = new Holders(() => ACCOUNT);
  holders.reserve('another', OTHER, () => undefined);
  const { object } = await visit(adopter, { answers: { server: SERVER }, holders });
  expect(currentReason(object?.status?.conditions)).toBe('IdentifierInUse');
  expect(object?.metadata.finalizers).toBeUndefined();
});

it('yields to another key of the same account that was read during the visit', async () => {
  const holders = new Holders(() => ACCOUNT);
  const { object } = await visit(adopter, {
    answers: { server: SERVER },
    holders,
    onCall: (call) => {
      if (call !== 'read') return;
      holders.set('another', { ...OTHER, account: 'account-9', fingerprint: { macs: SERVER.macs }, isConfirmed: true });
    },
  });
  expect(currentReason(object?.status?.conditions)).toBe('IdentifierInUse');
});

it.each(['default/other', 'elsewhere/other'])('waits for an order of %s that may be for the server', async (other) => {
  const visited = await visit(adopter, { others: { ordering: () => [other] } });
  expect(visited.calls).toEqual(['write']);
  expect(currentReason(visited.object?.status?.conditions)).toBe('Pending');
});

it('shows that its own order is overdue while it waits, so that another overdue order does not wait for it', async () => {
  const overdue = { ...TASKED, attemptedAt: '2026-01-01T00:00:00Z' };
  const visited = await visit(webWith(overdue, adopting('srv1')), { others: { ordering: () => ['default/other'] } });
  expect(visited.calls).toEqual(['write', 'write']);
  expect(currentReason(visited.object?.status?.conditions)).toBe('TaskOverdue');
});

it('holds a server that no other object holds', async () => {
  const { object, events } = await visit(adopter, { answers: { server: SERVER } });
  expect(object && recordOf(object)).toMatchObject({ mode: 'adopt', identifier: 'srv1', account: ACCOUNT });
  expect(events).toContainEqual(expect.objectContaining({ reason: 'ServerAdopted' }));
});
