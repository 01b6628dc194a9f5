/**
 * What a process remembers of a server that it has cancelled does not apply to the next one with that identifier: etcd may have
 * been restored, in place, to a time before the claim of the first.
 */
import { describe, expect, it } from 'vitest';
import { markedName } from '../../../../src/virtual-server/decision/named.ts';
import { Holders } from '../../../../src/virtual-server/shared/holders.ts';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';
import { Objects } from '../../../../src/virtual-server/shared/objects.ts';
import { NOW, PRICED, SERVER, memo, web, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, type Given, type Visited, visit } from '../../../fixtures/visits.ts';
import { deleted, next, recordIn } from './named-support.ts';

const MINUTE_MS = 60_000;
const spec = { identifier: 'srv1', expiresAt: '2026-01-02T02:00:00Z' };
const own = { ...SERVER, name: markedName(web({ spec })) };
const CANCELLED: Given = {
  listsServers: true,
  answers: { server: own, servers: ['srv1'], removed: 'cancelled', after: DENIED },
};

type Answers = NonNullable<Given['answers']>;
const MAKING: Answers = { server: DENIED, task: { state: 'pending', identifier: 'srv1', status: 'Creating' } };

/** The second order, while the process remembers how the server of the first one ended. */
async function orderedAgain(ordersNamed: boolean, made: Answers): Promise<Visited> {
  const sent = { at: '2026-01-01T20:00:00.000Z', body: 'x', chosen: true as const };
  const status = { serverStatus: 'running', observedGeneration: 1, identifier: 'srv1' };
  const past = { ...spec, expiresAt: '2026-01-01T23:00:00Z' };
  const first = webWith({ ...PRICED, mode: 'named', sent }, { status, spec: past });
  const expired = await visit(first, CANCELLED);
  expect([expired.calls.includes('delete'), recordIn(expired)?.expiredAt]).toEqual([true, expect.any(String)]);
  const created = { kind: 'created', task: 9 } as const;
  const answers: Answers = { named: created, order: created, servers: [], listed: [], ...made };
  const wanted = ordersNamed ? spec : { expiresAt: spec.expiresAt };
  const restored = { ...expired, object: web({ spec: wanted }) };
  const ordered = await next(restored, NOW + MINUTE_MS, { ordersNamed, listsServers: true, answers });
  expect(ordered.calls).toContain(ordersNamed ? 'named' : 'order');
  return ordered;
}

describe('a server with the identifier of one that this process has cancelled', () => {
  const shown: Answers = { server: [DENIED, DENIED, own], task: { state: 'complete', identifier: 'srv1' } };

  it('is cancelled when its object is deleted', async () => {
    const ordered = await orderedAgain(true, shown);
    expect(shownBy(ordered).reason).toBe('Available');
    const { calls, object } = await next(deleted(ordered), NOW + 10 * MINUTE_MS, CANCELLED);
    expect([calls.includes('delete'), object]).toEqual([true, undefined]);
  });

  it('is cancelled when its time is up', async () => {
    const ended = await next(await orderedAgain(true, shown), NOW + 121 * MINUTE_MS, CANCELLED);
    expect([ended.calls.includes('delete'), recordIn(ended)?.expiredAt]).toEqual([true, expect.any(String)]);
  });

  it.each([true, false])(
    'is cancelled if its object is deleted before it is shown (order with identifier: %s)',
    async (ordersNamed) => {
      const ordered = await orderedAgain(ordersNamed, MAKING);
      const answers: Answers = { ...CANCELLED.answers, task: { state: 'complete', identifier: 'srv1' } };
      const { calls } = await next(deleted(ordered), NOW + 2 * MINUTE_MS, { ...CANCELLED, answers });
      expect(calls).toContain('delete');
    },
  );

  it('is cancelled if this process has found it without an order, in a record that was restored', async () => {
    const status = { serverStatus: 'running', observedGeneration: 1, identifier: 'srv1' };
    const remembers = memo({ end: { state: 'confirmed', identifier: 'srv1' } });
    const looked = await visit(webWith(PRICED, { status }), { ...CANCELLED, memo: remembers });
    expect(looked.memo.evidence.end?.state).toBe('requested');
    const { calls } = await next(deleted(looked), NOW + 2 * MINUTE_MS, CANCELLED);
    expect(calls).toContain('delete');
  });
});

it('is forgotten with the versions that a restore of etcd has taken back', () => {
  const versionOf = (resourceVersion: string) => {
    const object = web({ spec });
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  };
  const [older, newer] = [versionOf('5'), versionOf('50')];
  let cached = newer;
  const objects = new Objects({ get: () => cached }, new Holders(() => 'account-1'), new ServerQuota(0));
  const { uid } = newer.metadata;
  objects.told(newer, undefined);
  objects.remember(uid, memo({ end: { state: 'confirmed', identifier: 'srv1' }, unrecognized: 'srv2' }));
  cached = older;
  objects.told(older, newer);
  expect(objects.memo(uid).evidence).toEqual({ end: undefined, unrecognized: 'srv2' });
});
