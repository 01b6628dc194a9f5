/** A look tells that the Secret or ConfigMap of spec.userDataFrom has changed since the order, and does nothing else about it. */
import { describe, expect, it } from 'vitest';
import { SET_KIND } from '../../../../src/api/names.ts';
import type { Condition } from '../../../../src/api/meta.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { compose } from '../../../../src/virtual-server/decision/compose.ts';
import { adviceOn } from '../../../../src/virtual-server/decision/advice.ts';
import { sentDigest } from '../../../../src/virtual-server/decision/sent-user-data.ts';
import { userDataDigest } from '../../../../src/virtual-server/operations/user-data.ts';
import { KNOWN, NOW, PRICED, SERVER, TIMING, web, webWith } from '../../../fixtures/decision.ts';
import { recordOf } from '../../../fixtures/records.ts';
import { DENIED, visit, type Answers, type Given, type Visited } from '../../../fixtures/visits.ts';

const [SENT, OTHER] = ['#cloud-config\npassword: first-horse\n', '#cloud-config\npassword: second-horse\n'];
const FROM_SECRET = { userDataFrom: { secretKeyRef: { name: 'setup', key: 'user-data' } } };
const FROM_CONFIG_MAP = { userDataFrom: { configMapKeyRef: { name: 'setup', key: 'user-data' } } };
const ANSWERS = { server: SERVER } as const;

const digest = userDataDigest(web(), SENT);
const ORDERED = { ...PRICED, ordered: { attempt: 'a1', product: 'VPSX4', userDataDigest: digest } };
const ordered = (spec: Partial<VirtualServerSpec> = FROM_SECRET): VirtualServer => webWith(ORDERED, { spec });
const withText = (text: string): Given => ({ answers: ANSWERS, userData: { setup: text } });

const drift = ({ object }: Pick<Visited, 'object'>): Condition | undefined =>
  object?.status?.conditions?.find(({ type }) => type === 'Drifted');
const after = ({ object }: Visited): VirtualServer => {
  if (object === undefined) throw new Error('the object is gone');
  return object;
};

describe('user data that has changed since the order', () => {
  it.each([
    ['Secret', FROM_SECRET, (text: string): Given => ({ userData: { setup: text } })],
    ['ConfigMap', FROM_CONFIG_MAP, (text: string): Given => ({ configMaps: { setup: { 'user-data': text } } })],
  ] as const)('is told with its %s and what to do, without any of it', async (kind, spec, having) => {
    const same = await visit(ordered(spec), { answers: ANSWERS, ...having(SENT) });
    expect([drift(same), same.object?.status?.userDataChanged]).toEqual([undefined, undefined]);
    const looked = await visit(ordered(spec), { answers: ANSWERS, ...having(OTHER) });
    const { status = '', reason = '', message = '' } = drift(looked) ?? {};
    expect([status, reason]).toEqual(['True', 'Drifted']);
    expect(message).toContain(`spec.userDataFrom has changed since the order: ${kind} default/setup, key "user-data".`);
    expect(message).toContain('run `kubectl vps replace web -n default`');
    expect(JSON.stringify([looked.object, looked.events, looked.lines])).not.toContain('horse');
    expect(looked.events.map((event) => event.reason)).toContain('Drifted');
    // The read of the server, and one write of the status, as without a change.
    expect(looked.calls).toEqual(same.calls);
  });

  it('costs no further read of the Secret, and none without the digest', async () => {
    const readsOf = async (object: VirtualServer): Promise<number> => {
      let reads = 0;
      const userData = {
        get setup() {
          reads += 1;
          return OTHER;
        },
      };
      await visit(object, { answers: ANSWERS, userData });
      return reads;
    };
    const earlier = webWith(PRICED, { spec: FROM_SECRET });
    expect([await readsOf(ordered()), await readsOf(earlier), await readsOf(webWith(PRICED))]).toEqual([1, 1, 0]);
  });

  it('is told until the earlier text is back, also while it cannot be read', async () => {
    const changed = await visit(ordered(), withText(OTHER));
    const later = (given: Given): Promise<Visited> => visit(after(changed), { now: NOW + TIMING.resyncMs, ...given });
    const unread = await later({ answers: ANSWERS });
    expect(drift(unread)).toEqual(drift(changed));
    const failed = new ProviderError('PROVIDER_TIMEOUT', 'no answer');
    expect(drift(await later({ ...withText(SENT), answers: { server: failed } }))).toEqual(drift(changed));
    const restored = await later(withText(SENT));
    expect([drift(restored), restored.object?.status?.userDataChanged]).toEqual([undefined, undefined]);
  });

  it('is told next to another difference', async () => {
    const looked = await visit(ordered(), { ...withText(OTHER), answers: { server: { ...SERVER, product: 'VPSX8' } } });
    expect(drift(looked)?.message).toMatch(/product is VPSX8 .*create a new object\. The user data in .* replace web/);
  });

  it('is told to a member of a set with what its set can do', async () => {
    const member = ordered();
    member.metadata.ownerReferences = [{ kind: SET_KIND, name: 'pool', uid: 'u', controller: true }];
    const message = drift(await visit(member, withText(OTHER)))?.message;
    expect(message).toContain('run `kubectl vps rollout restart set/pool -n default`');
    expect(message).not.toContain('vps replace');
  });

  it('is told of the same server only', async () => {
    const { status = {} } = after(await visit(ordered(), withText(OTHER)));
    const other = { ...ORDERED, identifier: 'srv2' };
    const moved = compose(webWith(other, { spec: FROM_SECRET, status }), { record: other }, NOW);
    expect([moved.userDataChanged, drift({ object: { ...ordered(), status: moved } })]).toEqual([undefined, undefined]);
    // The Secret is gone, so nothing but the status of the earlier server tells of a change.
    const earlier = webWith(ORDERED, { spec: FROM_SECRET, status: { ...status, identifier: 'srv0' } });
    expect(drift(await visit(earlier, { answers: ANSWERS }))).toBeUndefined();
  });

  it('is what the plugin names a command for, and another difference is not', () => {
    const about = (userDataChanged?: true) =>
      adviceOn('Drifted', {
        object: webWith(ORDERED, { spec: FROM_SECRET, status: { ...(userDataChanged && { userDataChanged }) } }),
        record: ORDERED,
        now: NOW,
      });
    expect(about(true)).toEqual([{ text: expect.stringContaining('kubectl vps replace web -n default') as string }]);
    expect(about()).toEqual([]);
  });
});

describe('nothing is told', () => {
  const reads: Record<string, Given> = {
    'the Secret is gone': {},
    'the Secret has no such key': { sshKeys: { setup: 'x' } },
    'the text is empty': { userData: { setup: '' } },
  };
  it.each(Object.entries(reads))('while %s, and the server is read as before', async (_, given) => {
    const looked = await visit(ordered(), { answers: ANSWERS, ...given });
    const usual = await visit(ordered(), withText(SENT));
    expect(looked).toMatchObject({ calls: usual.calls, requeueAfterMs: usual.requeueAfterMs, lines: [] });
    expect(looked.object?.status?.conditions).toEqual(usual.object?.status?.conditions);
  });

  it('while the operator may not read ConfigMaps', async () => {
    const looked = await visit(ordered(FROM_CONFIG_MAP), { answers: ANSWERS });
    expect([drift(looked), looked.lines]).toEqual([undefined, []]);
    expect(looked.calls).toContain('read');
  });

  it.each([
    ['an earlier version ordered', { ...PRICED, ordered: { attempt: 'a1', product: 'VPSX4' } }],
    ['was adopted', { ...PRICED, mode: 'adopt' as const, attempt: undefined }],
    ['was ordered after the one that the digest is of', { ...ORDERED, attempt: 'a2' }],
  ])('of a server that %s', async (_, own) => {
    expect(drift(await visit(webWith(own, { spec: FROM_SECRET }), withText(OTHER)))).toBeUndefined();
  });

  it('of user data in spec itself', async () => {
    const answers: Answers = { order: { kind: 'created', task: 7 }, task: { state: 'pending' } };
    const visited = await visit(web({ spec: { userData: SENT } }), { answers });
    expect(sentDigest(recordOf(after(visited)) ?? KNOWN)).toBeUndefined();
  });
});

describe('the claim of an order', () => {
  const pending = { task: { state: 'pending' } } as const;
  const order = (text: string, given: Given): Promise<Visited> =>
    visit(web({ spec: FROM_SECRET }), { userData: { setup: text }, ...given });
  const WAYS: [string, Given][] = [
    ['anonymous', { answers: { ...pending, order: { kind: 'created', task: 7 } } }],
    [
      'named',
      { ordersNamed: true, answers: { ...pending, server: DENIED, servers: [], named: { kind: 'created', task: 7 } } },
    ],
  ];

  it.each(WAYS)('has 16 bits of the user data, and costs no other write (%s)', async (_, given) => {
    const [first, second] = [await order(SENT, given), await order(OTHER, given)];
    const plain = await visit(web({ spec: { userData: SENT } }), given);
    expect(first.calls).toEqual(plain.calls);
    const digests = [first, second].map((visited) => sentDigest(recordOf(after(visited)) ?? KNOWN));
    expect(digests).toEqual([digest, userDataDigest(web(), OTHER)]);
    expect(digests[0]).toMatch(/^[0-9a-f]{4}$/);
    expect(digests[0]).not.toBe(digests[1]);
  });

  it('has the digest of the text that was sent, if the Secret changed since the visit began', async () => {
    // The first read is for the texts of the provider, and the second one for the order.
    const reads: string[] = [];
    const userData = {
      get setup() {
        return reads.push('read') === 1 ? OTHER : SENT;
      },
    };
    const done = { state: 'complete', identifier: 'srv1' } as const;
    const answers: Answers = { order: { kind: 'created', task: 7 }, task: done, server: SERVER };
    const visited = await visit(web({ spec: FROM_SECRET }), { answers, userData });
    expect(visited.requests.map((body) => body['user_data_string'])).toEqual([SENT]);
    expect(visited.calls).toContain('read');
    expect([sentDigest(recordOf(after(visited)) ?? KNOWN), drift(visited)]).toEqual([digest, undefined]);
  });

  it('says something else for each object', () => {
    const other = web();
    other.metadata.uid = 'uid-of-another';
    expect(userDataDigest(other, SENT)).not.toBe(digest);
  });
});
