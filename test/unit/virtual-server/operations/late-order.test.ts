/** The late server of an order that failed is reported, whichever object has the record of the order by then. */
import { expect, it } from 'vitest';
import type { FailedOrder, Held } from '../../../../src/api/record.ts';
import { taken } from '../../../../src/virtual-server/operations/hand-over.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { KNOWN, NOW, PRICED, SERVER, facts, web, webWith } from '../../../fixtures/decision.ts';
import { DENIED, visit, type Given } from '../../../fixtures/visits.ts';
import { recordIn } from './named-support.ts';

const GIVER = '0a1b2c3d-0000-0000-0000-000000000000';
const MARKED = 'default/web-old (0a1b2c3d)';
const FAILED: FailedOrder = {
  attempt: 'a0',
  attemptedAt: '2026-01-01T23:00:00Z',
  identifier: 'weblate',
  account: 'account-1',
  said: 'no room',
};
const LATE = { ...SERVER, identifier: 'weblate', macs: ['00:00:5e:00:53:99'], ipv6: ['2001:db8::99'] };
const running = { serverStatus: 'running', observedGeneration: 1, identifier: 'srv1' };

/** What an object says of the failed orders of the one whose server it has taken over. */
const takenFrom = (uid: string, own: Held): FailedOrder[] | undefined => {
  const giver = web();
  const given = { ...giver, metadata: { ...giver.metadata, name: 'web-old', uid } };
  return taken(viewOf(web(), facts()), undefined, given, own, { type: 'server', server: SERVER, account: 'account-1' })
    .record?.failed;
};

it('an object keeps whose order it was over several hand-overs', () => {
  const first = takenFrom(GIVER, { ...KNOWN, failed: [FAILED] });
  expect(first).toEqual([{ ...FAILED, owner: GIVER }]);
  expect(takenFrom('uid-of-another', { ...KNOWN, failed: first ?? [] })).toEqual(first);
});

it.each([
  ['with the mark of the object that sent the order', MARKED, true],
  ['without a mark', 'x', true],
  ['with the mark of a third object', 'default/web (99999999)', false],
])('an object that took over a server reports the late server of the other one: %s', async (_, name, isReported) => {
  const own = { ...PRICED, mode: 'adopt' as const, failed: takenFrom(GIVER, { ...KNOWN, failed: [FAILED] }) ?? [] };
  const given: Given = {
    listsServers: true,
    answers: { server: [SERVER, { ...LATE, name }], listed: [], servers: [] },
  };
  const visited = await visit(webWith(own, { status: running }), given);
  expect(recordIn(visited)?.orphans?.map(({ identifier }) => identifier)).toEqual(isReported ? ['weblate'] : undefined);
});

it.each([
  ['has appeared', LATE, true],
  ['has not', DENIED, false],
])(
  'an object that retains its server reports the late server of its order in its last Event if it %s',
  async (_, late, isTold) => {
    const own = { ...PRICED, failed: [FAILED] };
    const object = webWith(own, { deleting: true, status: running, spec: { deletionPolicy: 'Retain' } });
    const visited = await visit(object, { now: NOW, answers: { server: late } });
    expect(visited.object).toBeUndefined();
    expect(visited.calls).not.toContain('delete');
    const [event] = visited.events.filter(({ reason }) => reason === 'RetainedServer');
    expect(event?.note.includes('order a0')).toBe(isTold);
  },
);
