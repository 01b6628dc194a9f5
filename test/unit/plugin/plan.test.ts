/** What a plan says of an object, a set and a sum; the integration tests have the API server's part. */
import { describe, expect, it } from 'vitest';
import {
  ADOPT_ANNOTATION,
  FORCE_OFF_ANNOTATION,
  HAND_OVER_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
} from '../../../src/api/names.ts';
import { formatRecord } from '../../../src/api/record.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { withCondition, withVerdict } from '../../../src/controller/conditions.ts';
import { applyPatch, wasApplied } from '../../../src/plugin/cluster/merge-patch.ts';
import { described, lacksNamespace } from '../../../src/plugin/plan/plan-manifests.ts';
import { render, totalAfter } from '../../../src/plugin/plan/plan-report.ts';
import {
  endingOf,
  insteadOf,
  outcomeOf,
  totalOf,
  type PlannedChange,
  type Scene,
} from '../../../src/plugin/plan/plan-servers.ts';
import { wrongUserDataIn } from '../../../src/plugin/plan/plan-user-data.ts';
import { outcomeOfSet, playRollout } from '../../../src/plugin/plan/plan-sets.ts';
import { pricesIn } from '../../../src/virtual-server/decision/price.ts';
import { LISTS } from '../../integration/support/catalog.ts';
import type { Server } from '../../../src/provider/types.ts';
import { ResponseError } from '../../../src/provider/error.ts';
import { ATTEMPTED, HELD, KNOWN, NOW, SERVER, TASKED, web, webWith, type Shape } from '../../fixtures/decision.ts';
import { visit } from '../../fixtures/visits.ts';
import { CUT_SSH_KEY, SSH_KEY, virtualServer } from '../../fixtures/virtual-server.ts';
import { member, webSet } from '../../fixtures/virtual-server-set.ts';

const running = (shape: Shape = {}): VirtualServer =>
  webWith(HELD, {
    status: {
      identifier: 'srv1',
      serverStatus: 'running',
      product: 'VPSX4',
      specs: { diskSize: 10240 },
      price: 4.5,
      record: HELD,
    },
    ...shape,
  });

const UNCHECKED = '; not checked: no ServerCatalog shows what the provider offers';

const sceneOf = (servers: readonly VirtualServer[] = []): Scene => ({
  servers,
  prices: pricesIn(servers),
  lists: () => LISTS,
  missing: () => undefined,
  wrongKeys: () => undefined,
  wrongUserData: () => undefined,
  now: NOW,
});
const verbOf = (after: VirtualServer, before?: VirtualServer, servers = [running()]): string =>
  outcomeOf(before, after, sceneOf(servers)).verb;

describe('the plan for a server', () => {
  it('orders a new server for the price of one like it, if that is known', () => {
    const order = outcomeOf(undefined, web({ spec: { diskSize: 20480 } }), sceneOf([running()]));
    expect(order).toMatchObject({ verb: 'order', ordered: [{ name: 'web', price: undefined }] });
    expect(outcomeOf(undefined, web(), sceneOf([running()])).ordered).toEqual([{ name: 'web', price: 4.5 }]);
  });

  it.each([
    ['changes nothing if the apply changes nothing', web(), web(), 'none'],
    ['only changes an object that is paused', web({ annotations: { [PAUSED_ANNOTATION]: '' } }), undefined, 'change'],
    [
      'only changes an object that is being deleted',
      running({ deleting: true, spec: { sshCheck: 'Proxy' } }),
      running({ deleting: true }),
      'change',
    ],
    [
      'cancels a server that has expired',
      running({ spec: { expiresAt: '2026-01-01T00:00:00Z' } }),
      running(),
      'cancel',
    ],
    [
      'refuses an annotation that names no server',
      web({ annotations: { [ADOPT_ANNOTATION]: 'two words' } }),
      undefined,
      'refuse',
    ],
    ['refuses a product that the catalog does not have', web({ spec: { product: 'VPSX3' } }), undefined, 'refuse'],
    ['refuses an SSH key that sshd does not accept', web({ spec: { sshKeys: [CUT_SSH_KEY] } }), undefined, 'refuse'],
    [
      'leaves a server alone whose SSH key sshd does not accept',
      running({ spec: { sshKeys: [CUT_SSH_KEY], sshCheck: 'Proxy' } }),
      running({ spec: { sshKeys: [CUT_SSH_KEY] } }),
      'change',
    ],
    ['orders what was refused before', web(), web({ spec: { product: 'VPSX3' } }), 'order'],
  ] as const)('%s', (_what, after, before, verb) => {
    expect(verbOf(after, before)).toBe(verb);
  });

  it.each([
    [
      { changePolicy: 'Online', product: 'VPSX8' },
      `changes server srv1 in place (product): the server keeps running, price 4.50 → 7.00${UNCHECKED}`,
    ],
    [
      { changePolicy: 'AllowStop', diskSize: 20480 },
      `changes server srv1 in place (diskSize): the server keeps running, unless the resize waits for a restart, price 4.50 → unknown${UNCHECKED}`,
    ],
    [
      { changePolicy: 'AllowStop', advanced: { tablet: false } },
      'changes server srv1 in place (advanced): shuts the server down and starts it again if the provider needs that, price 4.50 → 4.50',
    ],
    [
      { changePolicy: 'Online', serverName: 'shop' },
      'changes server srv1 in place (serverName): the server keeps running',
    ],
    [{ changePolicy: 'Online' }, 'spec.changePolicy (unset → Online)'],
  ] as const)('says what a change in place does, and what it costs: %j', (spec, says) => {
    const other = webWith(
      { ...HELD, owner: 'uid-of-db', identifier: 'srv2' },
      {
        status: { identifier: 'srv2', serverStatus: 'running', product: 'VPSX8', specs: { diskSize: 10240 }, price: 7 },
      },
    );
    const db = { ...other, metadata: { ...other.metadata, name: 'db', uid: 'uid-of-db' } };
    const before = running();
    const scene = sceneOf([before, db]);
    const after = { ...running({ spec }), metadata: { ...before.metadata, generation: 2 } };
    const { verb, detail } = outcomeOf(before, after, { ...scene, lists: () => undefined });
    expect(verb).toBe('change');
    expect(detail.endsWith(says)).toBe(true);
  });

  describe('of a paused object', () => {
    const resumed = (spec: Partial<VirtualServer['spec']> = {}): { before: VirtualServer; after: VirtualServer } => {
      const after = running({ spec });
      return { before: running({ spec, annotations: { [PAUSED_ANNOTATION]: '' } }), after };
    };
    const planOf = ({ before, after }: ReturnType<typeof resumed>) => outcomeOf(before, after, sceneOf([before]));

    it('tells that the end of the pause cancels a server that has expired', () => {
      const { verb, cancelled } = planOf(resumed({ expiresAt: '2026-01-01T00:00:00Z' }));
      expect([verb, cancelled?.length]).toEqual(['cancel', 1]);
    });

    it('tells that the end of the pause switches the server', () => {
      expect(planOf(resumed({ power: 'Off' })).detail).toContain('stops server srv1: asks its system to shut down');
      expect(planOf(resumed({ power: 'On' })).detail).not.toContain('server srv1');
    });

    it('cancels its server once it is resumed, if it is deleted', () => {
      const { before } = resumed();
      const { verb, detail, cancelled } = endingOf(before, sceneOf([before]));
      expect([verb, detail, cancelled?.length]).toEqual([
        'cancel',
        'cancels server srv1, once the object is resumed',
        1,
      ]);
      const { before: kept } = resumed({ deletionPolicy: 'Retain' });
      expect(endingOf(kept, sceneOf([kept])).verb).toBe('release');
    });
  });

  it('orders under an identifier whose server counts as gone', () => {
    const record = { ...HELD, missingAt: '2026-01-01T00:00:00Z' };
    const gone = webWith(record, { status: { identifier: 'srv1', record } });
    const other = { ...gone, metadata: { ...gone.metadata, name: 'db', uid: 'uid-of-db' } };
    const after = web({ spec: { identifier: 'srv1' } });
    const text = JSON.stringify({ ...record, owner: 'uid-of-db' });
    const holder = (annotation: string): VirtualServer => ({
      ...other,
      metadata: { ...other.metadata, annotations: { [RECORD_ANNOTATION]: annotation } },
    });
    const verb = (annotation: string) =>
      outcomeOf(undefined, after, { ...sceneOf([holder(annotation)]), lists: () => undefined }).verb;
    expect(verb(text)).toBe('order');
    expect(verb(JSON.stringify({ ...HELD, owner: 'uid-of-db' }))).toBe('refuse');
  });

  it('offers no replacement under an identifier that the server has', () => {
    const before = webWith({ ...HELD, identifier: 'mine' }, { spec: { identifier: 'mine' } });
    expect(insteadOf(before, sceneOf([before]))).toMatch(/-f FILE, with another spec.identifier or none$/);
  });

  const pending = (reason: 'ChangeUnavailable' | 'ChangeLimited', shape: Shape = {}): VirtualServer => {
    const object = running({ spec: { changePolicy: 'Online', product: 'VPSX8' }, ...shape });
    const message = 'why';
    const conditions = withCondition([], 'ChangePending', { status: 'True', reason, message }, 1, NOW);
    return { ...object, status: { ...object.status, conditions } };
  };
  const changedTo = (before: VirtualServer, spec: Partial<VirtualServer['spec']>): VirtualServer => ({
    ...before,
    metadata: { ...before.metadata, generation: 2 },
    spec: { ...before.spec, ...spec },
  });

  it('refuses a change in place that the provider is known not to make, and names the way out', () => {
    const before = pending('ChangeUnavailable');
    const says =
      'ChangeUnavailable: the provider has no call to change a server; to order a new server instead: kubectl vps replace web -f FILE';
    const planned = outcomeOf(before, changedTo(before, { diskSize: 20480 }), sceneOf([before]));
    expect([planned.verb, planned.detail.endsWith(says), planned.resized]).toEqual(['refuse', true, undefined]);
    const gone = { ...LISTS, images: [], counts: undefined };
    const irreplaceable = outcomeOf(before, changedTo(before, { diskSize: 20480 }), {
      ...sceneOf([before]),
      lists: () => gone,
    });
    expect(irreplaceable.detail).toMatch(
      /; an order of a new server would be refused too: InvalidSpec: spec\.image "[^"]+" is not offered/,
    );
    expect(irreplaceable.detail).not.toContain('kubectl vps replace');
    // The provider of another key may be another one.
    const db = changedTo(before, { apiKeySecretRef: { name: 'other' } });
    const plain = running({ spec: { changePolicy: 'Online' } });
    const other = { ...db, metadata: { ...db.metadata, name: 'db', uid: 'uid-of-db' } };
    expect(verbOf(changedTo(plain, { diskSize: 20480 }), plain, [plain, other])).toBe('change');
    const same = { ...other, spec: before.spec };
    expect(verbOf(changedTo(plain, { diskSize: 20480 }), plain, [plain, same])).toBe('refuse');
  });

  it.each<[string, Partial<VirtualServer['spec']>, string]>([
    [
      'a disk size',
      { diskSize: 30000 },
      'spec.diskSize 30000 is not offered; nearest valid values: 20480, 40960, 10240',
    ],
    ['a product', { product: 'VPSX99' }, 'spec.product "VPSX99" is not offered; nearest valid values: VPSX'],
  ])('refuses a change in place to %s that is not offered, in the words for an order', (_what, spec, says) => {
    const plain = running({ spec: { changePolicy: 'Online' } });
    const [inPlace, order] = [
      outcomeOf(plain, changedTo(plain, spec), sceneOf([plain])),
      outcomeOf(undefined, web({ spec }), sceneOf([plain])),
    ];
    expect([inPlace.verb, order.verb, inPlace.resized]).toEqual(['refuse', 'refuse', undefined]);
    expect(order.detail).toContain(`InvalidSpec: ${says}`);
    expect(inPlace.detail).toContain(`: ChangeRefused: ${says}`);
  });

  it('does not judge a value that a change in place does not send', () => {
    const withdrawn = { ...LISTS, products: [{ code: 'VPSX8' }], images: [], counts: undefined };
    const plain = running({ spec: { changePolicy: 'Online' } });
    const scene = { ...sceneOf([plain]), lists: () => withdrawn };
    expect(outcomeOf(plain, changedTo(plain, { diskSize: 20480 }), scene).verb).toBe('change');
    expect(outcomeOf(plain, changedTo(plain, { product: 'VPSX16' }), scene).verb).toBe('refuse');
  });

  it('judges what an earlier change has not brought, which is sent again', () => {
    const plain = running({ spec: { changePolicy: 'Online', diskSize: 30000 } });
    const planned = (spec: Partial<VirtualServer['spec']>, before = plain) =>
      outcomeOf(before, changedTo(before, spec), sceneOf([before]));
    expect(planned({ product: 'VPSX8' })).toMatchObject({
      verb: 'refuse',
      detail: expect.stringContaining('ChangeRefused: spec.diskSize 30000 is not offered') as string,
    });
    // The size is smaller than the one that was refused, and larger than the disk.
    expect(planned({ diskSize: 25000 }).verb).toBe('refuse');
    expect(planned({ diskSize: 20480 })).toMatchObject({
      verb: 'change',
      detail: expect.stringContaining('changes server srv1 in place (diskSize)') as string,
    });
    expect(planned({ diskSize: 10240 })).toEqual({ verb: 'change', detail: 'spec.diskSize (30000 → 10240)' });
    expect(planned({ sshCheck: 'Proxy' }).verb).toBe('change');
    // The price tells what a dormant server is once it has woken up, whatever it is shown as.
    const price = { identifier: 'srv1', amount: 4.5, product: 'VPSX4', diskSize: 10240, isDormant: true as const };
    const record = { ...HELD, price };
    const status = { ...plain.status, product: 'VPSX-0', record };
    const dormant = webWith(record, { status, spec: { changePolicy: 'Online', power: 'Dormant', product: 'VPSX4' } });
    const others = { ...LISTS, products: [{ code: 'VPSX8' }] };
    const scene = { ...sceneOf([dormant]), lists: () => ({ ...others, counts: undefined }) };
    expect(outcomeOf(dormant, changedTo(dormant, { diskSize: 20480 }), scene).verb).toBe('change');
  });

  it('judges a disk by the type that the server has', () => {
    const plain = running({ spec: { changePolicy: 'Online' } });
    const specs = { diskSize: 20480, diskType: 'hdd' };
    const adopted = { ...plain, spec: { ...plain.spec, diskSize: 20480 }, status: { ...plain.status, specs } };
    const planned = (diskSize: number): string =>
      outcomeOf(adopted, changedTo(adopted, { diskSize }), sceneOf([adopted])).verb;
    expect([81920, 30000].map(planned)).toEqual(['change', 'refuse']);
  });

  it('refuses what the operator does not change, because it never can', () => {
    const plain = running({ spec: { changePolicy: 'Online' } });
    const large = { ...plain, status: { ...plain.status, specs: { diskSize: 40960 } } };
    const smaller = outcomeOf(large, changedTo(large, { diskSize: 20480 }), sceneOf([large]));
    const says = 'ChangeRefused: a disk cannot get smaller. Set spec.diskSize to 40960';
    expect([smaller.verb, smaller.detail.endsWith(says)]).toEqual(['refuse', true]);
    const marked = outcomeOf(plain, changedTo(plain, { serverName: 'shop (0123abcd)' }), sceneOf([plain]));
    expect(marked).toMatchObject({ verb: 'refuse', detail: expect.stringContaining('must not end with') as string });
  });

  it('says of values beyond a list that was cut that they are not in it, and refuses none', () => {
    const plain = running({ spec: { changePolicy: 'Online' } });
    const cut = { ...LISTS, counts: { products: 600, images: 3, diskSizes: 8 } };
    const scene = { ...sceneOf([plain]), lists: () => cut };
    const { verb, detail } = outcomeOf(plain, changedTo(plain, { product: 'VPSX99' }), scene);
    expect([verb, detail]).toEqual([
      'change',
      expect.stringMatching(/, price 4\.50 → unknown; spec\.product "VPSX99" is not offered; /),
    ]);
    // The list of images is not compared.
    const images = { ...LISTS, counts: { products: 0, images: 600, diskSizes: 0 } };
    const other = outcomeOf(plain, changedTo(plain, { product: 'VPSX99' }), { ...scene, lists: () => images });
    expect(other.verb).toBe('refuse');
    const sizes = { ...LISTS, counts: { products: 0, images: 0, diskSizes: 600 } };
    const larger = changedTo(plain, { diskSize: 30000 });
    expect(outcomeOf(plain, larger, { ...scene, lists: () => sizes }).verb).toBe('change');
    expect(outcomeOf(plain, larger, { ...scene, lists: () => ({ ...LISTS, counts: undefined }) }).verb).toBe('refuse');
  });

  it('tells of a change that another policy allows, since the server is not as spec says already', () => {
    const plain = running({ spec: { product: 'VPSX8' } });
    const planned = outcomeOf(plain, changedTo(plain, { changePolicy: 'Online' }), sceneOf([plain]));
    expect(planned).toMatchObject({ verb: 'change', resized: [{ before: { price: 4.5 } }] });
    expect(planned.detail).toContain('changes server srv1 in place (product): the server keeps running');
    const same = running();
    expect(outcomeOf(same, changedTo(same, { changePolicy: 'Online' }), sceneOf([same])).resized).toBeUndefined();
    const price = { identifier: 'srv1', amount: 4.5, product: 'VPSX4', diskSize: 10240, isDormant: true as const };
    const record = { ...HELD, price };
    const status = { ...same.status, product: 'VPSX-0', record };
    const dormant = webWith(record, { status, spec: { power: 'Dormant', product: 'VPSX4' } });
    const awake = outcomeOf(dormant, changedTo(dormant, { changePolicy: 'Online' }), sceneOf([dormant]));
    expect(awake.resized).toBeUndefined();
  });

  it('tells what becomes of the power of a server although its change is refused', () => {
    const plain = running({ spec: { changePolicy: 'Online' } });
    const refused = outcomeOf(plain, changedTo(plain, { product: 'VPSX99', power: 'Off' }), sceneOf([plain]));
    expect(refused.verb).toBe('refuse');
    expect(refused.detail).toMatch(/ChangeRefused: spec\.product "VPSX99" is not offered.*; stops server srv1/);
  });

  describe('after a change that the provider has refused', () => {
    const SHOWN = { ...SERVER, product: 'VPSX4', name: 'web', specs: { diskSize: 10240 }, price: 4.5, tablet: true };
    const asked = { product: 'VPSX99', diskSize: 20480, serverName: 'shop' };
    /** The object as the operator leaves it. */
    const refusedTo = async (spec: Partial<VirtualServer['spec']>, server: Server = SHOWN): Promise<VirtualServer> => {
      const changed = new ResponseError(400, 'Invalid product');
      const object = webWith(KNOWN, { spec: { changePolicy: 'Online', ...spec } });
      const { object: seen } = await visit(object, { answers: { server, changed } });
      if (seen === undefined) throw new Error('the object is gone');
      return seen;
    };
    const planned = (before: VirtualServer, after: VirtualServer) => outcomeOf(before, after, sceneOf([before]));
    /** What the operator sends when it sees the object. */
    const sentFor = async (object: VirtualServer, server: Server = SHOWN): Promise<object[]> =>
      (await visit(object, { answers: { server, changed: 'accepted' } })).changes;

    it.each<[string, Partial<VirtualServer['spec']>, string, object]>([
      ['the product', { product: 'VPSX4' }, 'diskSize, serverName', { name: 'shop', specs: { disk_size: 20480 } }],
      ['another field', { serverName: 'store' }, 'product', { product: 'VPSX99' }],
      ['the policy', { product: 'VPSX8', changePolicy: 'AllowStop' }, 'product, diskSize', { product: 'VPSX8' }],
    ])('has what the operator then sends, if you edit %s', async (_what, spec, fields, body) => {
      const before = await refusedTo(asked);
      const after = changedTo(before, spec);
      const { detail } = outcomeOf(before, after, { ...sceneOf([before]), lists: () => undefined });
      expect(detail).toContain(`changes server srv1 in place (${fields}`);
      expect(await sentFor(after)).toMatchObject([body]);
    });

    it('has the price before and after', async () => {
      const before = await refusedTo({ product: 'VPSX99', diskSize: 20480 });
      const after = planned(before, changedTo(before, { product: 'VPSX4' }));
      expect(after.detail).toMatch(/in place \(diskSize\): the server keeps running, price 4\.50 → unknown$/);
      expect(after.resized).toHaveLength(1);
    });

    it('has a name for a server that has none, and the fields of advanced', async () => {
      const nameless = { ...SHOWN, name: undefined, status: 'shut down' };
      const before = await refusedTo({ ...asked, advanced: { tablet: false }, changePolicy: 'AllowStop' }, nameless);
      const after = changedTo(before, { product: 'VPSX4', diskSize: 10240 });
      expect(planned(before, after).detail).toContain('in place (serverName, advanced): shuts the server down');
    });

    it('has what the operator did not send because another value was impossible', async () => {
      const before = await refusedTo({ product: 'VPSX8', diskSize: 5120 });
      expect(await sentFor(before)).toEqual([]);
      const after = changedTo(before, { diskSize: 10240 });
      expect(planned(before, after).detail).toContain('in place (product): ');
      expect(await sentFor(after)).toEqual([{ product: 'VPSX8' }]);
    });

    it('has nothing while the operator would send just the refused change, or nothing differs', async () => {
      const before = await refusedTo(asked);
      for (const spec of [{ deletionDelay: '1h' }, { changePolicy: 'AllowStop' }] as const) {
        const after = changedTo(before, spec);
        expect([planned(before, after).resized, await sentFor(after)]).toEqual([undefined, []]);
      }
      const back = changedTo(before, { product: 'VPSX4', diskSize: 10240, serverName: 'web' });
      expect([planned(before, back).resized, await sentFor(back)]).toEqual([undefined, []]);
    });

    it('has what the operator sends once the object is resumed', async () => {
      const before = await refusedTo({});
      const paused = { ...before, metadata: { ...before.metadata, annotations: { ...before.metadata.annotations } } };
      paused.metadata.annotations[PAUSED_ANNOTATION] = 'true';
      const edited = changedTo(paused, { diskSize: 20480 });
      const resumed = changedTo(before, { diskSize: 20480 });
      expect(planned(edited, resumed).detail).toContain('changes server srv1 in place (diskSize): ');
      expect(await sentFor(resumed)).toEqual([{ specs: { disk_size: 20480 } }]);
    });
  });

  it('changes no server that is as the manifest says already', () => {
    const before = pending('ChangeUnavailable');
    const planned = outcomeOf(before, changedTo(before, { product: 'VPSX4' }), sceneOf([before]));
    expect(planned).toEqual({ verb: 'change', detail: 'spec.product (VPSX8 → VPSX4)' });
  });

  it('tells that a change in place waits for room in the price limit', () => {
    const before = pending('ChangeLimited');
    const { verb, detail } = outcomeOf(before, changedTo(before, { product: 'VPSX16' }), sceneOf([before]));
    expect([verb, detail]).toEqual([
      'change',
      expect.stringContaining('keeps running, and waits while the price limit leaves no room, price'),
    ]);
  });

  it('says of an unchanged object that is not ready, or not as spec says, what it waits for', () => {
    const ready = withVerdict([], { reason: 'Available', message: '' }, 1, NOW);
    const lacking = withVerdict([], { reason: 'UserDataNotFound', message: 'why' }, 1, NOW);
    const pendingToo = withCondition(
      ready,
      'ChangePending',
      { status: 'True', reason: 'ChangeRefused', message: '' },
      1,
      NOW,
    );
    const reported = (conditions: typeof ready) => {
      const object = running();
      return { ...object, status: { ...object.status, observedGeneration: 1, conditions } };
    };
    const detailOf = (object: VirtualServer) => outcomeOf(object, object, sceneOf([object]));
    expect(detailOf(reported(ready))).toEqual({ verb: 'none', detail: '' });
    expect(detailOf(reported(lacking))).toEqual({ verb: 'none', detail: 'still waits: UserDataNotFound' });
    expect(detailOf(reported(pendingToo))).toEqual({ verb: 'none', detail: 'still waits: ChangeRefused' });
    const set = webSet({ replicas: 1 });
    const waiting = {
      ...set,
      status: { ...set.status, conditions: [{ ...ready[0], status: 'False', reason: 'Scaling' }] },
    };
    expect(outcomeOfSet(waiting as VirtualServerSet, waiting as VirtualServerSet, sceneOf())).toMatchObject({
      verb: 'none',
      detail: 'still waits: Scaling',
    });
  });

  it('refuses an order under an identifier that another server has, and shows the identifier of any other order', () => {
    const named = web({ spec: { identifier: 'myown' } });
    const lists = { ...LISTS, servers: [{ identifier: 'myown', state: 'Orphaned' as const }] };
    const order = outcomeOf(undefined, named, sceneOf([running()]));
    expect([order.verb, order.detail]).toEqual(['order', expect.stringContaining(', identifier myown')]);
    const holder = webWith({ ...HELD, owner: 'uid-of-n1', identifier: 'MyOwn' });
    const metadata = { ...holder.metadata, namespace: 'shop', name: 'n1', uid: 'uid-of-n1' };
    const n1 = { ...holder, metadata, spec: { ...holder.spec, apiKeySecretRef: { name: 'other' } } };
    const taken = outcomeOf(undefined, named, sceneOf([n1]));
    expect(taken).toEqual({ verb: 'refuse', detail: 'IdentifierTaken: shop/n1 holds server myown' });
    const listed = outcomeOf(undefined, named, { ...sceneOf(), lists: () => lists });
    expect(listed).toEqual({ verb: 'refuse', detail: 'IdentifierTaken: the account has a server myown already' });
    const marked = [
      { identifier: 'myown', name: `web (${named.metadata.uid.slice(0, 8)})`, state: 'Unclear' as const },
    ];
    const again = outcomeOf(undefined, named, { ...sceneOf(), lists: () => ({ ...LISTS, servers: marked }) });
    expect(again.verb).toBe('order');
    // The object's own server.
    const own = webWith({ ...HELD, identifier: 'myown' }, { spec: { identifier: 'myown' } });
    expect(outcomeOf(own, changedTo(own, { deletionDelay: '1h' }), sceneOf([own])).verb).toBe('change');
  });

  it('says of an end what keeps the server beyond it', () => {
    const before = running();
    const after = changedTo(before, { expiresAt: '2026-03-01T00:00:00Z' });
    expect(outcomeOf(before, after, sceneOf([before])).detail).toMatch(/: ends at 2026-03-01T00:00:00Z$/);
    const kept = changedTo(after, { deletionProtection: true });
    expect(outcomeOf(before, kept, sceneOf([before])).detail).toMatch(
      /: ends at 2026-03-01T00:00:00Z, but not while spec\.deletionProtection is true$/,
    );
  });

  it('tells in its row that an order waits at a limit', () => {
    const full = web({ spec: { product: 'VPSX8' } });
    const conditions = withVerdict([], { reason: 'PriceLimit', message: 'why' }, 1, NOW);
    const waiting = { ...full, status: { observedGeneration: 1, conditions } };
    const { verb, detail } = outcomeOf(waiting, changedTo(waiting, { product: 'VPSX16' }), sceneOf([waiting]));
    expect([verb, detail]).toEqual([
      'order',
      expect.stringContaining('; waits until the limits have room (PriceLimit)'),
    ]);
  });

  describe.each([
    [
      'On to Off',
      { serverStatus: 'running' },
      ['On', 'Off'],
      'stops server srv1: asks its system to shut down, and never uses force; it costs as much as before',
    ],
    [
      'unset to Dormant',
      { serverStatus: 'running' },
      [undefined, 'Dormant'],
      'makes server srv1 dormant: switches it off by force, which may lose data, and keeps disk and addresses; no list tells what it costs then',
    ],
    [
      'Off to Dormant',
      { serverStatus: 'shut down' },
      ['Off', 'Dormant'],
      'makes server srv1 dormant: keeps disk and addresses; no list tells what it costs then',
    ],
    ['Off to On', { serverStatus: 'shut down' }, ['Off', 'On'], 'starts server srv1; it costs as much as before'],
    [
      'Dormant to On',
      { serverStatus: 'shut down', isDormant: true },
      ['Dormant', 'On'],
      'wakes server srv1; it then costs 4.50 again',
    ],
    [
      'Dormant to Off',
      { serverStatus: 'shut down', isDormant: true },
      ['Dormant', 'Off'],
      'wakes server srv1, and then shuts it down; it then costs 4.50 again',
    ],
    ['unset to On, which it is', { serverStatus: 'running' }, [undefined, 'On'], 'server srv1 runs already'],
    [
      'On to Off while it starts',
      { serverStatus: 'paused' },
      ['On', 'Off'],
      'once the status of the server is clear, stops server srv1: asks its system to shut down, and never uses force; it costs as much as before',
    ],
    [
      'Off to unset',
      { serverStatus: 'shut down' },
      ['Off', undefined],
      'leaves server srv1 off, and no longer switches it',
    ],
    ['On to unset', { serverStatus: 'running' }, ['On', undefined], 'no longer switches server srv1 on or off'],
  ] as const)('says what a change of spec.power does: %s', (_what, { serverStatus, ...more }, [from, to], says) => {
    const record = { ...HELD, price: { identifier: 'srv1', amount: 4.5, product: 'VPSX4', ...more } };
    const [before, after] = [from, to].map((power) => {
      const status = { identifier: 'srv1', serverStatus, price: 4.5, record };
      return webWith(record, { status, spec: power === undefined ? {} : { power } });
    }) as [VirtualServer, VirtualServer];

    it('in its row', () => {
      expect(outcomeOf(before, after, sceneOf([before]))).toEqual({
        verb: 'change',
        detail: `spec.power (${from ?? 'unset'} → ${to ?? 'unset'}): ${says}`,
      });
    });

    it('and nothing without such a change', () => {
      const other = { ...after, spec: { ...after.spec, sshCheck: 'Proxy' as const } };
      expect(outcomeOf(after, other, sceneOf([after])).detail).toBe('spec.sshCheck (None → Proxy)');
    });
  });

  it.each([
    ['2026-01-02T01:00:00Z', 'stops server srv1: switches it off by force, which may lose data; it costs'],
    [
      '2026-01-03T00:00:00Z',
      'stops server srv1: asks its system to shut down, and switches it off by force at 2026-01-03T00:00:00Z; it costs',
    ],
    // About an earlier server.
    ['2025-01-01T00:00:00Z', 'asks its system to shut down, and never uses force'],
  ])('switches a server off by force only if the annotation asks for it: %s', (time, says) => {
    const after = running({ spec: { power: 'Off' }, annotations: { [FORCE_OFF_ANNOTATION]: time } });
    const scene = { ...sceneOf([running()]), now: NOW + 2 * 3_600_000 };
    expect(outcomeOf(running(), after, scene).detail).toContain(says);
  });

  it('tells that the provider is known not to switch servers, and refuses nothing', () => {
    const stopping = running({ spec: { power: 'Off' } });
    const conditions = withVerdict([], { reason: 'PowerUnavailable', message: 'why' }, 1, NOW);
    const other = { ...stopping, status: { ...stopping.status, conditions } };
    const db = { ...other, metadata: { ...other.metadata, name: 'db', uid: 'uid-of-db' } };
    const planned = outcomeOf(running(), stopping, sceneOf([running(), db]));
    const says =
      'PowerUnavailable: the provider API has no call to shut server srv1 down, as the operator found for db';
    expect([planned.verb, planned.detail.endsWith(says)]).toEqual(['change', true]);
    // The provider of another key may be another one.
    const elsewhere = { ...db, spec: { ...db.spec, apiKeySecretRef: { name: 'other' } } };
    expect(outcomeOf(running(), stopping, sceneOf([running(), elsewhere])).detail).not.toContain('PowerUnavailable');
  });

  it.each([
    ['Off', 'orders VPSX4, disk 10240; then shuts the server down, for the same price'],
    [
      'Dormant',
      'orders VPSX4, disk 10240; then makes the server dormant: switches it off by force, which may lose data, and keeps disk and addresses; no list tells what it costs then',
    ],
    ['On', 'orders VPSX4, disk 10240'],
  ] as const)('says what becomes of a new server with spec.power %s', (power, detail) => {
    const planned = outcomeOf(undefined, web({ spec: { power } }), sceneOf([running()]));
    expect(planned).toEqual({ verb: 'order', detail, ordered: [{ name: 'web', price: 4.5 }] });
    const adopting = web({ spec: { power }, annotations: { [ADOPT_ANNOTATION]: 'srv9' } });
    const adopted = outcomeOf(undefined, adopting, sceneOf()).detail;
    expect(adopted).toContain({ On: 'then starts', Off: 'down if it runs', Dormant: 'then makes' }[power]);
  });

  it.each([
    ['Off', 'in place (product): the server stays off, price'],
    ['Dormant', 'in place (product): once the server has woken up, price'],
  ] as const)('does not say that a server with spec.power %s keeps running while it is changed', (power, says) => {
    const spec = { power, changePolicy: 'Online' } as const;
    const before = running({ spec });
    const after = changedTo(before, { product: 'VPSX8' });
    expect(outcomeOf(before, after, sceneOf([before])).detail).toContain(says);
  });

  it.each([
    ['a known price', { product: 'VPSX8' }, '+2.50', '14.00'],
    ['an unknown price', { diskSize: 20480 }, 'unknown', '7.00 and 1 of unknown price'],
    ['no other price', { serverName: 'shop' }, '', '11.50'],
  ] as const)('counts a change in place to %s in the sum of the namespace', (_what, spec, cost, total) => {
    const before = running();
    const dbStatus = {
      identifier: 'srv2',
      serverStatus: 'running',
      product: 'VPSX8',
      specs: { diskSize: 10240 },
      price: 7,
    };
    const other = webWith({ ...HELD, owner: 'uid-of-db', identifier: 'srv2' }, { status: dbStatus });
    const db = { ...other, metadata: { ...other.metadata, name: 'db', uid: 'uid-of-db' } };
    const scene = { ...sceneOf([before, db]), lists: () => undefined };
    const after = { ...running({ spec: { changePolicy: 'Online', ...spec } }) };
    const edited = { ...after, metadata: { ...after.metadata, generation: 2 } };
    const outcome = outcomeOf(before, edited, scene);
    const names = { kind: 'VirtualServer', namespace: 'default', name: 'web' };
    const change: PlannedChange = { ...names, ordered: [], cancelled: [], ...outcome };
    const sum = totalOf('default', scene);
    const prices = new Map([['default', { before: sum, after: totalAfter(sum, [change]) }]]);
    const text = render({ changes: [change], prices, notes: [] }, 'markdown', {} as never);
    expect(text).toContain(`| ${cost === '' ? '' : `\`${cost}\``} |`);
    expect(text).toContain(`price in default: 11.50 before, ${total} after`);
    expect(text).not.toContain('servers ordered');
  });

  describe('an adoption', () => {
    const adopting = (spec: Partial<VirtualServer['spec']> = {}): VirtualServer => {
      const object = web({ annotations: { [ADOPT_ANNOTATION]: 'srv9' }, spec });
      return { ...object, metadata: { ...object.metadata, name: 'old', uid: 'uid-of-old' } };
    };
    const prices = {
      products: [
        { code: 'VPSX4', price: 3 },
        { code: 'VPSX8', price: 8 },
      ],
      prices: { disks: [{ type: 'ssd', price: 1, extent: 10 }] },
    };
    const listing = (product: string) => ({
      ...LISTS,
      servers: [{ identifier: 'srv9', product, state: 'Orphaned' as const }],
    });
    const totalsOf = (object: VirtualServer, lists: Scene['lists']) => {
      const scene = { ...sceneOf([running()]), lists };
      const names = { kind: 'VirtualServer', namespace: 'default', name: 'old' };
      const change: PlannedChange = { ...names, ordered: [], cancelled: [], ...outcomeOf(undefined, object, scene) };
      const sum = totalOf('default', scene);
      const totals = new Map([['default', { before: sum, after: totalAfter(sum, [change]) }]]);
      return render({ changes: [change], prices: totals, notes: [] }, 'markdown', {} as never);
    };

    it.each<[string, Partial<VirtualServer['spec']>, Scene['lists'], string, string]>([
      ['by a server like it', {}, () => LISTS, '+4.50', '9.00'],
      ['without a catalog', {}, () => undefined, '+4.50', '9.00'],
      ['by the list of prices', { product: 'VPSX8' }, () => ({ ...LISTS, ...prices }), 'about +9.00', 'about 13.50'],
      ['as unknown', { diskSize: 20480 }, () => LISTS, 'unknown', '4.50 and 1 of unknown price'],
      ['by its product in the list of servers', {}, () => listing('VPSX8'), 'unknown', '4.50 and 1 of unknown price'],
      ['as what it is changed to', { changePolicy: 'Online' }, () => listing('VPSX8'), '+4.50', '9.00'],
    ])('counts %s in the sum of the namespace', (_what, spec, lists, cost, total) => {
      const text = totalsOf(adopting(spec), lists);
      expect(text).toContain(`| **adopt** | \`VirtualServer default/old\` | \`${cost}\` | \`adopts server srv9\` |`);
      expect(text).toContain(`price in default: 4.50 before, ${total} after`);
      expect(text).not.toContain('servers ordered');
    });

    it('counts no server twice whose order is open', () => {
      const open = webWith(ATTEMPTED);
      const named = { ...open.metadata.annotations, [ADOPT_ANNOTATION]: 'srv9' };
      const after = { ...open, metadata: { ...open.metadata, annotations: named } };
      const { verb, adopted } = outcomeOf(open, after, sceneOf([open]));
      expect([verb, adopted]).toEqual(['adopt', []]);
    });

    it('does not count a server that another object of the namespace hands over', () => {
      const own = formatRecord({ ...KNOWN, owner: 'uid-of-giver' });
      const annotations = { [HAND_OVER_ANNOTATION]: 'web', [RECORD_ANNOTATION]: own };
      const giver = running();
      const deletionTimestamp = '2026-01-02T00:00:00Z';
      const metadata = { ...giver.metadata, name: 'giver', uid: 'uid-of-giver', annotations, deletionTimestamp };
      const { record: _, ...status } = giver.status ?? {};
      const dying = { ...giver, metadata, status } as VirtualServer;
      const { verb, adopted } = outcomeOf(undefined, web(), sceneOf([dying]));
      expect([verb, adopted]).toEqual(['adopt', undefined]);
      expect(totalOf('default', sceneOf([dying]))).toEqual({ price: 4.5, unknown: 0 });
    });
  });

  it('names user data without showing it', () => {
    const [before, after] = ['#!/bin/sh\ntrue', '#!/bin/sh\nfalse'].map((userData) => web({ spec: { userData } })) as [
      VirtualServer,
      VirtualServer,
    ];
    const { detail } = outcomeOf(before, after, sceneOf([before]));
    expect(detail).toContain('spec.userData');
    expect(detail).not.toContain('#!');
    expect(detail).toContain('orders VPSX4, disk 10240, user data');
  });

  it.each([
    ['removes the delay', { deletionDelay: '24h' }, {}, 'cancel'],
    ['lifts the protection', { deletionProtection: true }, {}, 'cancel'],
    ['retains the server', { deletionDelay: '24h' }, { deletionPolicy: 'Retain' }, 'release'],
    ['changes the delay', { deletionDelay: '24h' }, { deletionDelay: '48h' }, 'change'],
    ['changes nothing that matters', {}, { sshCheck: 'Proxy' }, 'change'],
  ] as const)('says what becomes of the server of a deleted object if the apply %s', (_what, from, to, verb) => {
    const [before, after] = [from, to].map((spec) => running({ deleting: true, spec })) as [
      VirtualServer,
      VirtualServer,
    ];
    const outcome = outcomeOf(before, after, sceneOf([before]));
    expect(outcome.verb).toBe(verb);
    expect(outcome.cancelled ?? []).toEqual(verb === 'cancel' ? [{ name: 'web', price: 4.5 }] : []);
    const paused = {
      ...after,
      metadata: { ...after.metadata, annotations: { ...after.metadata.annotations, [PAUSED_ANNOTATION]: '' } },
    };
    expect(outcomeOf(before, paused, sceneOf([before])).verb).toBe('change');
  });

  const day = 24 * 3_600_000;
  const readyFor = (ms: number, shape: Shape = {}): VirtualServer => {
    const object = running(shape);
    const lastTransitionTime = new Date(NOW - ms).toISOString();
    const ready = { type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime } as const;
    const record = { ...HELD, readyAt: lastTransitionTime };
    const annotations = { ...object.metadata.annotations, [RECORD_ANNOTATION]: formatRecord(record) };
    const metadata = { ...object.metadata, annotations, creationTimestamp: lastTransitionTime };
    return { ...object, metadata, status: { ...object.status, record, conditions: [ready] } };
  };
  it.each([
    ['a ttl shorter than its age', readyFor(60_000), readyFor(60_000, { spec: { ttl: '30s' } }), 'cancel'],
    ['a ttl longer than its age', readyFor(60_000), readyFor(60_000, { spec: { ttl: '2m' } }), 'change'],
    [
      'a shorter ttl, which has passed',
      readyFor(day, { spec: { ttl: '48h' } }),
      readyFor(day, { spec: { ttl: '1h' } }),
      'cancel',
    ],
    [
      'a shorter ttl while it is protected',
      readyFor(day, { spec: { deletionProtection: true } }),
      readyFor(day, { spec: { deletionProtection: true, ttl: '1h' } }),
      'change',
    ],
    [
      'no protection, and its time was over before',
      readyFor(day, { spec: { deletionProtection: true, ttl: '1h' } }),
      readyFor(day, { spec: { ttl: '1h' } }),
      'cancel',
    ],
    [
      'another field, and its time was over before',
      readyFor(day, { spec: { ttl: '1h' } }),
      readyFor(day, { spec: { ttl: '1h', sshCheck: 'Proxy' } }),
      'change',
    ],
  ] as const)('says what becomes of a server that gets %s', (_what, before, after, verb) => {
    const outcome = outcomeOf(before, after, sceneOf([before]));
    expect(outcome.verb).toBe(verb);
    expect(outcome.cancelled ?? []).toEqual(verb === 'cancel' ? [{ name: 'web', price: 4.5 }] : []);
  });

  it('cancels a server that is still being created if it has expired by then', () => {
    const after = webWith(TASKED, { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
    expect(outcomeOf(webWith(TASKED), after, sceneOf([after])).verb).toBe('cancel');
  });

  it.each<[string, Shape, VirtualServer | undefined, string, string]>([
    ['an order', {}, undefined, 'vps-api-key', 'SecretNotFound: Secret default/vps-api-key'],
    ['an adoption', { annotations: { [ADOPT_ANNOTATION]: 'srv9' } }, undefined, 'vps-api-key', 'SecretNotFound'],
    [
      'an order with keys',
      { spec: { sshKeysFrom: [{ name: 'team', key: 'k' }] } },
      undefined,
      'team',
      'SSHKeyNotFound',
    ],
  ])('refuses %s without its Secret', (_what, shape, before, absent, says) => {
    const missing: Scene['missing'] = (namespace, names) =>
      names.filter((name) => name === absent).map((name) => `${namespace}/${name}`)[0];
    const outcome = outcomeOf(before, web(shape), { ...sceneOf(), missing });
    expect(outcome).toMatchObject({ verb: 'refuse', detail: expect.stringContaining(says) as string });
    expect(outcome.ordered ?? []).toEqual([]);
  });

  it('refuses an order with broken keys in a Secret, and no change of what was ordered', () => {
    const spec = { sshKeysFrom: [{ name: 'team', key: 'k' }] };
    const wrongKeys: Scene['wrongKeys'] = (_namespace, { key }) => `key "${key}": line 2 is cut off`;
    const scene = { ...sceneOf(), wrongKeys };
    expect(outcomeOf(undefined, web({ spec }), scene)).toMatchObject({
      verb: 'refuse',
      detail: 'SSHKeyNotFound: Secret default/team, named in spec.sshKeysFrom, key "k": line 2 is cut off',
    });
    const changed = running({ spec: { ...spec, sshCheck: 'Proxy' } });
    expect(outcomeOf(running({ spec }), changed, scene).verb).toBe('change');
  });

  it('refuses an order with user data that the operator would not send, and no change of what was ordered', () => {
    const spec = { userDataFrom: { configMapKeyRef: { name: 'setup', key: 'k' } } };
    const wrongUserData: Scene['wrongUserData'] = (namespace, { kind, name, key }) =>
      `UserDataNotFound: ${kind} ${namespace}/${name} ${key}`;
    const scene = { ...sceneOf(), wrongUserData };
    const detail = 'UserDataNotFound: ConfigMap default/setup k';
    expect(outcomeOf(undefined, web({ spec }), scene)).toMatchObject({ verb: 'refuse', detail });
    expect(outcomeOfSet(undefined, webSet({ spec }), scene)).toMatchObject({ verb: 'refuse', ordered: [] });
    expect(outcomeOf(undefined, web(), scene).verb).toBe('order');
    const changed = running({ spec: { ...spec, sshCheck: 'Proxy' } });
    expect(outcomeOf(running({ spec }), changed, scene).verb).toBe('change');
  });

  const LONG = 'a'.repeat(32_769);
  it.each([
    ['Secret', { type: 'vps-operator.dev/user-data', data: { k: '#!' } }, undefined],
    [
      'Secret',
      { type: '', data: { k: '#!' } },
      'InvalidSpec: Secret ns/a, named in spec.userDataFrom, is of the type ""',
    ],
    ['ConfigMap', { data: { k: '#!' } }, undefined],
    ['ConfigMap', { data: { k: '' } }, 'UserDataNotFound: ConfigMap ns/a, named in spec.userDataFrom, has no key "k"'],
    ['ConfigMap', { data: { k: '\ufffd' } }, 'key "k" is no text in UTF-8'],
    ['ConfigMap', { data: { k: LONG } }, 'key "k" has 32769 characters, more than 32768'],
  ] as const)('judges user data in a %s as the operator does: %j', (kind, content, says) => {
    const wrong = wrongUserDataIn('ns', { kind, name: 'a', key: 'k' }, content);
    expect(wrong).toEqual(says === undefined ? undefined : expect.stringContaining(says));
  });

  it('refuses a change to a Secret that does not exist, and no other change', () => {
    const scene: Scene = { ...sceneOf(), missing: (namespace, [name = '']) => `${namespace}/${name}` };
    const to = running({ spec: { apiKeySecretRef: { name: 'other' } } });
    expect(outcomeOf(running(), to, scene)).toMatchObject({
      verb: 'refuse',
      detail: expect.stringContaining('SecretNotFound: Secret default/other') as string,
    });
    expect(outcomeOf(running(), running({ spec: { sshCheck: 'Proxy' } }), scene).verb).toBe('change');
  });

  it('says when a changed delay ends', () => {
    const [before, after] = ['24h', '48h'].map((deletionDelay) =>
      running({ deleting: true, spec: { deletionDelay } }),
    ) as [VirtualServer, VirtualServer];
    const end = new Date(Date.parse(after.metadata.deletionTimestamp ?? '') + 48 * 3_600_000)
      .toISOString()
      .replace('.000Z', 'Z');
    expect(outcomeOf(before, after, sceneOf([before])).detail).toContain(`server srv1 is cancelled at ${end}`);
  });

  it('checks the SSH keys without a catalog too', () => {
    const scene = { ...sceneOf(), lists: () => undefined };
    const { verb, detail } = outcomeOf(undefined, web({ spec: { sshKeys: [SSH_KEY, CUT_SSH_KEY] } }), scene);
    expect([verb, detail]).toEqual(['refuse', expect.stringContaining('InvalidSpec: spec.sshKeys[1] is cut off')]);
    const set = webSet({ spec: { sshKeys: [CUT_SSH_KEY] } });
    expect(outcomeOfSet(undefined, set, scene).verb).toBe('refuse');
  });

  it('checks the zone if the catalog has zones', () => {
    const zones = [{ code: 'lon' }, { code: 'cam' }];
    const scene = { ...sceneOf(), lists: () => ({ ...LISTS, zones }) };
    const planned = (zone: string): string => outcomeOf(undefined, web({ spec: { zone } }), scene).verb;
    expect(['lon', 'lno'].map(planned)).toEqual(['order', 'refuse']);
    expect(outcomeOf(undefined, web({ spec: { zone: 'lno' } }), sceneOf()).verb).toBe('order');
  });

  it('notes that nothing was checked without a catalog', () => {
    const scene = { ...sceneOf(), lists: () => undefined };
    expect(outcomeOf(undefined, web(), scene).detail).toContain('not checked: no ServerCatalog');
  });

  it.each([
    ['cancel', 'a running server', running()],
    ['cancel', 'a server that is being created', webWith(TASKED)],
    ['release', 'a retained server', running({ spec: { deletionPolicy: 'Retain' } })],
    ['refuse', 'a protected server', running({ spec: { deletionProtection: true } })],
    ['delete', 'an object without a server', web()],
  ] as const)('ends with %s for %s', (verb, _what, object) => {
    expect(endingOf(object, sceneOf([object])).verb).toBe(verb);
  });
});

describe('the plan for a hand-over', () => {
  const giving = { annotations: { [HAND_OVER_ANNOTATION]: 'site' } };
  const holding = running(giving);
  const giver: VirtualServer = { ...holding, metadata: { ...holding.metadata, name: 'old', uid: 'uid-of-old' } };

  it.each([
    ['a server', running(giving)],
    ['a server that is being created', webWith(TASKED, giving)],
  ])('cancels nothing if a pruned object hands over %s', (_what, object) => {
    const { verb, detail, cancelled } = endingOf(object, sceneOf([object]));
    expect([verb, cancelled]).toEqual(['release', undefined]);
    expect(detail).toContain('keeps running, for hand-over to site');
  });

  it.each<[string, Shape, string, string]>([
    ['the same fields', {}, 'adopt', 'takes over the server of old'],
    ['an end in the past', { spec: { expiresAt: '2026-01-01T00:00:00Z' } }, 'refuse', 'spec.expiresAt of this object'],
    ['another product', { spec: { product: 'VPSX8' } }, 'refuse', 'another product'],
  ])('asks the deleted object whether it gives its server to one with %s', (_what, shape, verb, says) => {
    const own = formatRecord({ ...KNOWN, owner: giver.metadata.uid });
    const annotations = { [HAND_OVER_ANNOTATION]: 'web', [RECORD_ANNOTATION]: own };
    const metadata = { ...giver.metadata, annotations, deletionTimestamp: '2026-01-02T00:00:00Z' };
    const { record: _, ...status } = giver.status ?? {};
    const dying = { ...giver, metadata, status } as VirtualServer;
    const outcome = outcomeOf(undefined, web(shape), sceneOf([dying]));
    expect(outcome).toMatchObject({ verb, detail: expect.stringContaining(says) as string });
  });

  it('refuses no object that only waits for the server of another one, and no object that is to give its server', () => {
    const record = { ...HELD, owner: giver.metadata.uid };
    const alive = {
      ...giver,
      metadata: {
        ...giver.metadata,
        annotations: { [HAND_OVER_ANNOTATION]: 'web', [RECORD_ANNOTATION]: formatRecord(record) },
      },
    };
    const waiting = outcomeOf(undefined, web(), sceneOf([alive]));
    expect(waiting).toMatchObject({ verb: 'change', detail: expect.stringContaining('HandOverPending') as string });
    expect(outcomeOf(undefined, web(giving), sceneOf()).verb).toBe('change');
  });
});

describe('a manifest in a namespace that does not exist yet', () => {
  const manifest = virtualServer('web');

  it('gets the defaults of its schema, and is planned like any other', () => {
    const { after } = described(manifest, 'new', NOW);
    expect(after).toMatchObject({
      metadata: { name: 'web', namespace: 'new' },
      spec: { ...manifest.spec, deletionPolicy: 'Delete', deletionProtection: false },
    });
    const object = {
      ...(after as VirtualServer),
      metadata: { ...(after as VirtualServer).metadata, resourceVersion: '0' },
    };
    expect(outcomeOf(undefined, object, sceneOf([running()]))).toMatchObject({ verb: 'order' });
  });

  it('is refused with the field', () => {
    const wrong = { ...manifest, spec: { ...manifest.spec, diskSize: 0 } };
    expect(described(wrong, 'new', NOW).refusal).toMatch(/^spec.diskSize: /);
  });

  it('is told from other refusals', () => {
    const refused = (refusal: string) => ({ before: undefined, refusal });
    expect(lacksNamespace(refused('namespaces "new" not found'), 'new')).toBe(true);
    expect(lacksNamespace(refused('namespaces "other" not found'), 'new')).toBe(false);
    expect(lacksNamespace(refused('exceeded quota'), 'new')).toBe(false);
    expect(lacksNamespace({ before: {}, after: {} }, 'new')).toBe(false);
  });
});

/** A member that holds a server. */
function holdingMember(set: VirtualServerSet, ordinal: number): VirtualServer {
  const object = member(set, ordinal);
  const { metadata, status } = object;
  const record = { ...HELD, owner: metadata.uid, task: ordinal, identifier: `srv${ordinal}` };
  const annotations = { ...metadata.annotations, [RECORD_ANNOTATION]: formatRecord(record) };
  return { ...object, metadata: { ...metadata, annotations }, status: { ...status, record } };
}

describe('the plan for a set', () => {
  const set = webSet({ replicas: 3 });

  it('orders all members of a new set, however many', () => {
    const large = { ...set, spec: { ...set.spec, replicas: 250 } };
    const { created, deleted, most } = playRollout(large, [], NOW);
    expect([created.length, deleted.length, most]).toEqual([250, 0, 250]);
  });

  it.each<[string, object, Partial<Scene>, string]>([
    ['its end is in the past', { expiresAt: '2026-01-01T00:00:00Z' }, {}, 'Expired: spec.expiresAt is in the past'],
    [
      'its Secret is missing',
      {},
      { missing: () => 'default/vps-api-key' },
      'SecretNotFound: Secret default/vps-api-key',
    ],
  ])('orders no member if %s', (_what, fields, more, says) => {
    const set = webSet({ replicas: 2 });
    const { template } = set.spec;
    const spec = { ...set.spec, template: { ...template, spec: { ...template.spec, ...fields } } };
    expect(outcomeOfSet(undefined, { ...set, spec }, { ...sceneOf(), ...more })).toMatchObject({
      verb: 'refuse',
      detail: expect.stringContaining(says) as string,
      ordered: [],
    });
  });

  it('replaces each member within the surge, and tells what stops it', () => {
    const members = [0, 1, 2].map((ordinal) => holdingMember(set, ordinal));
    const changed = {
      ...set,
      spec: { ...set.spec, template: { spec: { ...set.spec.template.spec, product: 'VPSX8' } } },
    };
    const { verb, ordered, cancelled } = outcomeOfSet(set, changed, sceneOf(members));
    expect([verb, ordered.length, cancelled.length]).toEqual(['replace', 3, 3]);
    expect(playRollout(changed, members, NOW).most).toBe(4);
    const onDelete = {
      ...changed,
      spec: { ...changed.spec, strategy: { ...set.spec.strategy, type: 'OnDelete' as const } },
    };
    expect(outcomeOfSet(set, onDelete, sceneOf(members))).toMatchObject({ verb: 'change', ordered: [], cancelled: [] });
    expect(outcomeOfSet(set, onDelete, sceneOf(members)).detail).toContain('3 members keep the old template');
    const paused = { ...changed, spec: { ...changed.spec, paused: true } };
    expect(outcomeOfSet(set, paused, sceneOf(members)).verb).toBe('change');
    const lost = [member(set, 0, { reason: 'CreateOutcomeUnknown' }), ...members.slice(1)];
    const stopped = outcomeOfSet(set, changed, sceneOf(lost));
    expect(stopped.ordered).toEqual([]);
    expect(stopped.detail).toContain('then ');
  });
});

describe('a template with another spec.power', () => {
  const set = webSet({ replicas: 2 });
  const [one, other] = [0, 1].map((ordinal) => holdingMember(set, ordinal)) as [VirtualServer, VirtualServer];
  const withPower = (power: 'On' | 'Off', replicas = 2) => {
    const { template } = set.spec;
    return { ...set, spec: { ...set.spec, replicas, template: { ...template, spec: { ...template.spec, power } } } };
  };
  const shown = (object: VirtualServer, serverStatus: string): VirtualServer => ({
    ...object,
    status: { ...object.status, serverStatus, price: 4.5 },
  });

  it('says what becomes of the servers of the members, those in one state together', () => {
    const running = [shown(one, 'running'), shown(other, 'running')];
    const stops = 'stops its server: asks its system to shut down, and never uses force; it costs as much as before';
    const planned = outcomeOfSet(set, withPower('Off'), sceneOf(running));
    expect(planned).toMatchObject({ verb: 'change', ordered: [], cancelled: [] });
    expect(planned.detail).toMatch(/ without a new server; web-[01], web-[01]: stops its server: /);
    expect(planned.detail).toContain(stops);
    const mixed = outcomeOfSet(set, withPower('Off'), sceneOf([shown(one, 'running'), shown(other, 'shut down')]));
    expect(mixed.detail).toContain(`web-0: ${stops}`);
    expect(mixed.detail).toContain('web-1: its server is off already');
  });

  it('says so of new members too', () => {
    const { verb, detail } = outcomeOfSet(undefined, withPower('Off'), sceneOf());
    expect([verb, detail]).toEqual([
      'order',
      expect.stringContaining('then shuts each new server down, for the same price'),
    ]);
  });
});

describe('a template that changes members in place', () => {
  const set = webSet({ replicas: 2 });
  const members = [0, 1].map((ordinal) => {
    const object = holdingMember(set, ordinal);
    return { ...object, status: { ...object.status, serverStatus: 'running', price: 4.5 } };
  });
  const planOf = (
    spec: Partial<VirtualServer['spec']>,
    servers: readonly VirtualServer[] = members,
    more: Partial<Scene & { replicas: number }> = {},
  ) => {
    const { template, replicas } = set.spec;
    const changed = { ...template, spec: { ...template.spec, ...spec } };
    const after = { ...set, spec: { ...set.spec, replicas: more.replicas ?? replicas, template: changed } };
    return outcomeOfSet(set, after, { ...sceneOf(servers), prices: new Map(), ...more });
  };

  it('orders and cancels nothing, and says what becomes of the servers', () => {
    const planned = planOf({ changePolicy: 'Online', product: 'VPSX8' });
    expect(planned).toMatchObject({ verb: 'change', ordered: [], cancelled: [] });
    expect(planned.resized?.map(({ before, after }) => [before.name, after.name])).toEqual([
      ['web-1', 'web-1'],
      ['web-0', 'web-0'],
    ]);
    expect(planned.detail).toMatch(
      /; changes web-1, web-0 in place \(product\): the server keeps running, price 4\.50 → unknown each$/,
    );
  });

  it('has for a member whose change was refused what the operator sends of the rest', () => {
    const asked = webSet({ replicas: 1, spec: { changePolicy: 'Online', product: 'VPSX99', diskSize: 20480 } });
    const refused = holdingMember(asked, 0);
    const { metadata, status } = refused;
    const key = '{"product":"VPSX99","specs":{"disk_size":20480}}';
    const change = { identifier: 'srv0', change: key, since: '2026-01-01T00:00:00Z', refused: 'Invalid product' };
    const record = { ...HELD, owner: metadata.uid, identifier: 'srv0', change };
    const annotations = { ...metadata.annotations, [RECORD_ANNOTATION]: formatRecord(record) };
    const shown = { serverStatus: 'running', product: 'VPSX4', specs: { diskSize: 10240 }, price: 4.5 };
    const object = { ...refused, metadata: { ...metadata, annotations }, status: { ...status, ...shown, record } };
    const { template } = asked.spec;
    const back = { ...template, spec: { ...template.spec, product: 'VPSX4' } };
    const after = { ...asked, spec: { ...asked.spec, template: back } };
    const planned = outcomeOfSet(asked, after, sceneOf([object]));
    expect(planned.detail).toMatch(/; changes web-0 in place \(diskSize\): .*, price 4\.50 → unknown$/);
  });

  it('refuses a change that the provider is known not to make', () => {
    const object = members[0];
    if (object === undefined) throw new Error('no member');
    const finding = { status: 'True', reason: 'ChangeUnavailable', message: 'why' } as const;
    const conditions = withCondition([], 'ChangePending', finding, 1, NOW);
    const other = webWith({ ...HELD, owner: 'uid-of-db' }, { status: { identifier: 'srv2', conditions } });
    const db = {
      ...other,
      metadata: { ...object.metadata, name: 'db', uid: 'uid-of-db', ownerReferences: [], labels: {} },
    };
    const planned = planOf({ changePolicy: 'Online', product: 'VPSX8' }, [...members, db]);
    expect(planned).toMatchObject({ verb: 'refuse', ordered: [], cancelled: [] });
    expect(planned.detail).toContain(
      'cannot change web-1, web-0 in place: ChangeUnavailable: the provider has no call',
    );
  });

  it('refuses a value that is not offered, also while the set gets smaller or larger', () => {
    const spec = { changePolicy: 'Online', diskSize: 30000 } as const;
    const problem = 'spec.diskSize 30000 is not offered; nearest valid values: 20480, 40960, 10240';
    const planned = planOf(spec);
    expect(planned).toMatchObject({ verb: 'refuse', ordered: [], cancelled: [] });
    const says = `; cannot change web-1, web-0 in place: ChangeRefused: ${problem}`;
    expect([planned.resized, planned.detail.endsWith(says)]).toEqual([undefined, true]);
    const smaller = planOf(spec, members, { replicas: 1 });
    expect([smaller.verb, smaller.cancelled.map(({ name }) => name)]).toEqual(['refuse', ['web-1']]);
    const larger = planOf(spec, members, { replicas: 3 });
    expect([larger.verb, larger.ordered, larger.detail.split(problem).length]).toEqual(['refuse', [], 2]);
  });

  it('tells apart members that can and that cannot change', () => {
    const [first, ...others] = members;
    if (first === undefined) throw new Error('no member');
    const large = { ...first, status: { ...first.status, specs: { diskSize: 40960 } } };
    const planned = planOf({ changePolicy: 'Online', diskSize: 20480 }, [large, ...others]);
    expect(planned.verb).toBe('refuse');
    expect(planned.detail).toMatch(
      /; cannot change web-0 in place: ChangeRefused: a disk cannot get smaller\. Set spec\.diskSize to 40960/,
    );
    expect(planned.detail).toMatch(/; changes web-1 in place \(diskSize\): the server keeps running/);
  });

  it('notes that nothing was checked without a catalog', () => {
    const planned = planOf({ changePolicy: 'Online', product: 'VPSX8' }, members, { lists: () => undefined });
    expect([planned.verb, planned.detail.endsWith(` each${UNCHECKED}`)]).toEqual(['change', true]);
  });

  it('says what has to be allowed before servers may stop', () => {
    const planned = planOf({ changePolicy: 'AllowStop', product: 'VPSX8' });
    expect(planned).toMatchObject({ verb: 'change', ordered: [], cancelled: [] });
    expect(planned.detail).toContain('; then The change of web-1 in place may stop its server');
  });

  it('says that members are replaced if one field needs that', () => {
    const planned = planOf({ changePolicy: 'Online', product: 'VPSX8', hostname: 'a.example' });
    expect([planned.verb, planned.ordered.length, planned.cancelled.length]).toEqual(['replace', 2, 2]);
    expect(planned.detail).not.toContain('in place');
  });
});

describe('a member that a set deletes', () => {
  const set = webSet({ replicas: 2 });
  const scaled = { ...set, spec: { ...set.spec, replicas: 1 } };
  const planOf = (change: (object: VirtualServer) => VirtualServer) =>
    outcomeOfSet(set, scaled, sceneOf([0, 1].map((ordinal) => change(holdingMember(set, ordinal)))));

  it('has its server cancelled', () => {
    const { verb, cancelled, detail } = planOf((object) => object);
    expect([verb, cancelled.map(({ name }) => name)]).toEqual(['cancel', ['web-1']]);
    expect(detail).toContain('cancels web-1');
  });

  it('keeps its server if it hands the server over', () => {
    const giving = { [HAND_OVER_ANNOTATION]: 'site' };
    const { verb, cancelled, detail } = planOf((object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...giving } },
    }));
    expect([verb, cancelled]).toEqual(['release', []]);
    expect(detail).toContain('deletes web-1, whose server is not cancelled');
  });

  it.each([
    ['Retain', { deletionPolicy: 'Retain' }],
    ['protection', { deletionProtection: true }],
  ] as const)('stays by the %s that it gets from the template in the same apply', (_what, spec) => {
    const template = { ...set.spec.template, spec: { ...set.spec.template.spec, ...spec } };
    const members = [0, 1].map((ordinal) => holdingMember(set, ordinal));
    const { verb, cancelled, detail } = outcomeOfSet(
      set,
      { ...scaled, spec: { ...scaled.spec, template } },
      sceneOf(members),
    );
    expect([verb, cancelled]).toEqual(['change', []]);
    expect(detail).toContain('The set cannot delete member web-1');
    expect(detail).not.toContain('deletes web-');
  });
});

describe('the report', () => {
  const change = (changes: Partial<PlannedChange>): PlannedChange => ({
    ...{ verb: 'order', kind: 'VirtualServer', namespace: 'ns', name: 'web', detail: '', ordered: [], cancelled: [] },
    ...changes,
  });

  it('adds up what is known, and counts what is not', () => {
    const ordered = [
      { name: 'a', price: 0.1 },
      { name: 'b', price: undefined },
    ];
    const after = totalAfter({ price: 0.2, unknown: 0 }, [
      change({ ordered, cancelled: [{ name: 'c', price: undefined }] }),
    ]);
    expect(after).toEqual({ price: 0.3, unknown: 0 });
    expect(totalOf('default', sceneOf([running(), webWith(TASKED)]))).toEqual({ price: 9, unknown: 0 });
  });

  it('has a row for an unchanged object only if there is something to say of it', () => {
    const none = { verb: 'none' as const, ordered: [] };
    const changes = [change(none), change({ ...none, name: 'db', detail: 'still waits: UserDataNotFound' })];
    const [text, markdown] = (['text', 'markdown'] as const).map((format) =>
      render({ changes, prices: new Map(), notes: [] }, format, { strong: String } as never),
    );
    expect(text).toMatch(
      /^PLAN .*\nunchanged +VirtualServer ns\/db +- +still waits: UserDataNotFound\n\nPlan: 2 unchanged\n$/,
    );
    expect(markdown).toContain('| **unchanged** | `VirtualServer ns/db` |  | `still waits: UserDataNotFound` |');
    expect(`${text}${markdown}`).not.toContain('ns/web');
  });

  it('puts no text outside of code in Markdown', () => {
    const detail = '`|\\`|<b>@team #1 https://example.org\n## x\u202e';
    const report = { changes: [change({ detail })], prices: new Map(), notes: [detail] };
    const text = render(report, 'markdown', {} as never);
    for (const line of text.split('\n')) expect(line.replaceAll(/`[^`]*`/g, '')).not.toMatch(/[@<]|https|#1|\u202e/);
    const [row = ''] = text.split('\n').filter((line) => line.includes('**order**'));
    expect(row.split('|')).toHaveLength(6);
  });
});

describe('the patch of an apply', () => {
  const LAST = 'kubectl.kubernetes.io/last-applied-configuration';

  it('removes what the last apply set and the manifest leaves out, and nothing else', () => {
    const last = { metadata: { labels: { a: '1' } }, spec: { ttl: '1h', keys: [1], deep: { x: 1, y: 2 } } };
    const present = { metadata: { annotations: { [LAST]: JSON.stringify(last), other: '' } } };
    const manifest = { metadata: { labels: {} }, spec: { keys: [2], deep: { y: 3 } } };
    expect(applyPatch(present, manifest)).toEqual({
      metadata: { labels: { a: null } },
      spec: { keys: [2], deep: { y: 3, x: null }, ttl: null },
    });
    expect(wasApplied(present)).toBe(true);
    expect(wasApplied({ metadata: {} })).toBe(false);
    expect(wasApplied({ metadata: { annotations: { [LAST]: '{}' } } })).toBe(true);
    expect(applyPatch({ metadata: { annotations: { [LAST]: '{' } } }, manifest)).toEqual(manifest);
  });
});
