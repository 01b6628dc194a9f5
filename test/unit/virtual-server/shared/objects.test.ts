import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Condition } from '../../../../src/api/meta.ts';
import { Holders } from '../../../../src/virtual-server/shared/holders.ts';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';
import { Objects } from '../../../../src/virtual-server/shared/objects.ts';
import { keyOf } from '../../../../src/kube/resource.ts';
import { NEW_MEMO, type Plan } from '../../../../src/virtual-server/decision/memo.ts';
import type { Others } from '../../../../src/virtual-server/decision/types.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  HELD,
  TASKED,
  UID,
  adopting,
  memo,
  opened,
  record,
  web,
  webWith,
  type Shape,
} from '../../../fixtures/decision.ts';

const KEY = 'default/web';
const PLAN: Plan = { operation: 'look', from: 0, at: Infinity, inputs: '' };

function setUp(quota = new ServerQuota(0)) {
  const cache = new Map<string, VirtualServer>();
  const holders = new Holders(() => ACCOUNT);
  const objects = new Objects({ get: (key) => cache.get(key) }, holders, quota);
  const put = (object: VirtualServer): void => {
    const previous = cache.get(KEY);
    cache.set(KEY, object);
    objects.told(object, previous);
  };
  const others = (): Others => holders.others('another');
  const isHeld = (): boolean => others().withServer('srv1', { account: ACCOUNT }).length > 0;
  return { cache, objects, put, others, isHeld };
}

function at(resourceVersion: string, object: VirtualServer): VirtualServer {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

describe('Objects', () => {
  it.each([
    ['a record that cannot be read', web({ annotated: '{', finalizers: [FINALIZER] }), true],
    ['a record that was lost', web({ finalizers: [FINALIZER] }), true],
    ['a text that no order has written', web({ annotated: '{', finalizers: [] }), false],
    ['nothing', web(), false],
  ])('counts an object with %s as one that may hold a server: %s', (_what, object, isCounted) => {
    const quota = new ServerQuota(1, { usual: 10, namespaces: {} });
    const { put } = setUp(quota);
    put(at('9', object));
    const asked = quota.reserve('default', 'another', { product: 'VPSX4', diskSize: 10240 });
    expect('full' in asked).toBe(isCounted);
  });

  it('keeps a hold that was just written when the watch reports an older version', () => {
    const { objects, put, isHeld } = setUp();
    objects.saw(at('10', webWith(HELD)));
    put(at('9', web()));
    expect(isHeld()).toBe(true);
    objects.saw(at('8', web()));
    expect(isHeld()).toBe(true);
  });

  it.each([
    ['has other contents, as after a restore of etcd', web(), false],
    ['is the result of the write', webWith(HELD), true],
  ])('counts the version of an own write again if what the watch reports %s', (_name, reported, expected) => {
    const { objects, put, isHeld } = setUp();
    objects.saw(at('10', webWith(HELD)));
    put(at('10', reported));
    expect(isHeld()).toBe(expected);
  });

  it('holds again what its last write said, if a restore of etcd brings the deleted object back', () => {
    const { objects, put, isHeld } = setUp();
    put(at('9', web()));
    objects.saw(at('10', webWith(HELD)));
    objects.gone(at('10', webWith(HELD)));
    expect(isHeld()).toBe(false);
    put(at('10', webWith(HELD)));
    expect(isHeld()).toBe(true);
  });

  it('drops the hold with its object, even if the answer to the last write comes after the deletion', () => {
    const { objects, put, isHeld } = setUp();
    put(at('9', webWith(HELD)));
    objects.gone(at('9', webWith(HELD)));
    expect(isHeld()).toBe(false);
    objects.saw(at('10', webWith(HELD)));
    objects.takeGone(KEY);
    expect(isHeld()).toBe(false);
  });

  it('forgets everything about a deleted object, and tells who released it', () => {
    const { objects, put, cache } = setUp();
    put(at('9', webWith(HELD)));
    objects.remember(UID, memo({}, { failures: 3 }));
    objects.released(UID);
    cache.delete(KEY);
    objects.gone(at('10', webWith(HELD)));
    expect(objects.takeGone(KEY)).toMatchObject([{ released: true, object: { metadata: { resourceVersion: '10' } } }]);
    expect(objects.takeGone(KEY)).toEqual([]);
    expect(objects.memo(UID)).toEqual(NEW_MEMO);
    objects.gone(at('12', webWith(HELD)));
    expect(objects.takeGone(KEY)).toMatchObject([{ released: false }]);
  });
});

describe('Objects after etcd was restored from a backup', () => {
  it('forgets its own writes that a list does not show, and returns the objects to visit', () => {
    const { objects, put, isHeld } = setUp();
    put(at('9', web()));
    objects.saw(at('10', webWith(HELD)));
    expect(objects.onList()('10', [])).toEqual([]);
    expect(objects.newest(KEY)?.metadata.resourceVersion).toBe('10');
    expect(objects.onList()('9', []).map(keyOf)).toEqual([KEY]);
    expect(objects.newest(KEY)?.metadata.resourceVersion).toBe('9');
    expect(isHeld()).toBe(false);
    expect(objects.onList()('9', [])).toEqual([]);
  });

  it('keeps a write that was answered during a list until the next list', () => {
    const { objects, put } = setUp();
    put(at('9', web()));
    const listed = objects.onList();
    objects.saw(at('10', webWith(HELD)));
    expect(listed('9', [])).toEqual([]);
    expect(objects.newest(KEY)?.metadata.resourceVersion).toBe('10');
    expect(objects.onList()('9', []).map(keyOf)).toEqual([KEY]);
    expect(objects.newest(KEY)?.metadata.resourceVersion).toBe('9');
  });

  it('forgets its own write, and what was planned for it, if a read shows an older version', () => {
    const { objects, put, isHeld } = setUp();
    put(at('9', web()));
    const mine = at('10', webWith(HELD));
    objects.saw(mine);
    objects.remember(UID, memo({}, { plan: PLAN }));
    expect(objects.compare(mine, at('10', webWith(HELD)))).toBe(false);
    expect(objects.compare(mine, at('11', web()))).toBe(false);
    expect(isHeld()).toBe(true);
    expect(objects.compare(mine, at('9', web()))).toBe(true);
    expect(objects.newest(KEY)?.metadata.resourceVersion).toBe('9');
    expect(isHeld()).toBe(false);
    expect(objects.memo(UID)).toEqual(NEW_MEMO);
  });

  it('forgets its own write if the list shows an older version, since versions repeat', () => {
    const { objects, put } = setUp();
    put(at('9', web()));
    objects.saw(at('10', webWith(HELD)));
    expect(objects.onList()('20', [at('10', webWith(HELD))])).toEqual([]);
    expect(
      objects
        .onList()('20', [at('9', web())])
        .map(keyOf),
    ).toEqual([KEY]);
    expect(objects.newest(KEY)?.metadata.resourceVersion).toBe('9');
  });

  it('forgets its own write if its version repeats with other contents', () => {
    const { objects, put } = setUp();
    const mine = at('10', webWith(HELD));
    put(at('9', web()));
    objects.saw(mine);
    objects.remember(UID, memo({}, { plan: PLAN }));
    put(mine);
    expect(objects.onList()('20', [structuredClone(mine)])).toEqual([]);
    expect(
      objects
        .onList()('20', [at('10', web())])
        .map(keyOf),
    ).toEqual([KEY]);
    put(at('10', web()));
    expect(objects.catchUp(KEY, undefined)).toBe(true);
    expect(objects.memo(UID)).toEqual(NEW_MEMO);
  });

  it('forgets a plan for a version that repeats with other contents', () => {
    const { objects, put } = setUp();
    put(at('10', webWith(HELD)));
    objects.remember(UID, memo({}, { plan: PLAN }));
    put(at('10', web()));
    expect(objects.memo(UID)).toEqual(NEW_MEMO);
  });

  it('does not treat a restored object as gone', () => {
    const { objects, put, cache, isHeld } = setUp();
    put(at('9', webWith(HELD)));
    cache.delete(KEY);
    objects.released(UID);
    objects.gone(at('10', webWith(HELD)));
    put(at('8', webWith(HELD)));
    expect(objects.takeGone(KEY)).toEqual([]);
    expect(isHeld()).toBe(true);
    cache.delete(KEY);
    objects.gone(at('9', webWith(HELD)));
    expect(objects.takeGone(KEY)).toMatchObject([{ released: false }]);
  });
});

describe('an object that reports orphans', () => {
  const orphans = [{ attempt: 'a0', task: 6 }];
  const asked = (object: VirtualServer, quota: ServerQuota): object => {
    setUp(quota).put(object);
    return quota.reserve('default', 'asking', web().spec);
  };

  it.each<{ what: string; object: VirtualServer; places: number }>([
    { what: 'and holds nothing', object: webWith(record({ orphans })), places: 1 },
    { what: 'besides its server', object: webWith({ ...HELD, orphans }), places: 2 },
    { what: 'and has expired', object: webWith({ ...HELD, orphans, expiredAt: '2026-01-01T00:00:00Z' }), places: 1 },
    { what: 'of which it holds one', object: webWith({ ...HELD, orphans: [{ identifier: 'srv1' }] }), places: 1 },
    { what: 'in a copied record', object: webWith({ ...HELD, orphans, owner: 'another' }), places: 0 },
  ])('$what takes $places places', ({ object, places }) => {
    if (places > 0) expect(asked(object, new ServerQuota(places))).toHaveProperty('full');
    expect(asked(object, new ServerQuota(places + 1))).toHaveProperty('release');
  });

  it('takes the limit in money with them', () => {
    const quota = new ServerQuota(0, { usual: 10, namespaces: {} });
    expect(asked(webWith(record({ orphans })), quota)).toEqual({ full: 'orphaned', maximum: 10, names: ['web'] });
  });

  it('leaves their places taken when it is released with a retained server', () => {
    const quota = new ServerQuota(2);
    const { objects, put, cache } = setUp(quota);
    const retained = webWith({ ...HELD, orphans });
    put(at('9', retained));
    objects.released(UID, 'srv1');
    cache.delete(KEY);
    objects.gone(at('10', retained));
    expect(quota.reserve('default', 'asking', web().spec)).toEqual({ full: 'servers', maximum: 2 });
  });
});

describe('an object whose record a newer version has written', () => {
  it('takes a place, even if nothing of the record can be read', () => {
    const quota = new ServerQuota(1);
    const { put } = setUp(quota);
    put(web({ annotated: record({ format: 3 }) }));
    expect(quota.reserve('default', 'asking', web().spec)).toHaveProperty('full');
  });
});

describe('a server that was released without its object', () => {
  const letGo = at('11', web({ deleting: true, finalizers: ['example.org/x'] }));
  const adopter = webWith({ ...HELD, owner: 'other-uid' });
  adopter.metadata = { ...adopter.metadata, uid: 'other-uid', name: 'adopter', namespace: 'elsewhere' };

  function setUpHeld() {
    const quota = new ServerQuota(1);
    const { objects, put } = setUp(quota);
    const isFull = (namespace = 'default'): boolean => {
      const free = quota.reserve(namespace, 'asking', web().spec);
      if ('release' in free) free.release();
      return 'full' in free;
    };
    put(at('9', webWith(HELD)));
    objects.released(UID, 'srv1');
    return { objects, isFull };
  }

  it('keeps its place when the finalizer is removed', () => {
    const { objects, isFull } = setUpHeld();
    objects.saw(letGo);
    expect(isFull()).toBe(true);
  });

  it('takes a place of the namespace whose object adopts it, and no other', () => {
    const { objects, isFull } = setUpHeld();
    objects.saw(letGo);
    objects.told(adopter, undefined);
    expect(isFull()).toBe(false);
    expect(isFull('elsewhere')).toBe(true);
  });

  it('is not counted if another object holds it as well', () => {
    const { objects, isFull } = setUpHeld();
    objects.told(adopter, undefined);
    objects.saw(letGo);
    expect(isFull()).toBe(false);
  });

  it('is not counted if the release failed and the server was cancelled afterwards', () => {
    const { objects, isFull } = setUpHeld();
    objects.released(UID);
    objects.saw(letGo);
    expect(isFull()).toBe(false);
  });
});

describe('what an object holds', () => {
  const conditions = (reason: Condition['reason'], type = 'Stalled'): { conditions: Condition[] } => ({
    conditions: [{ type, status: 'True', reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  });
  const creating = { status: conditions('Creating', 'Reconciling') };

  it.each<[reason: string, follows: boolean, shape: Shape]>([
    ['a task that runs', true, { annotated: TASKED, mirror: TASKED, ...creating }],
    ['a task that has named its server', true, { annotated: HELD, mirror: HELD, ...creating }],
    ['a task whose server was read', false, { annotated: HELD, mirror: HELD, status: { serverStatus: 'running' } }],
    [
      'a task next to the status of another server',
      true,
      {
        annotated: HELD,
        mirror: { ...HELD, owner: 'another-uid', identifier: 'srv9' },
        status: { serverStatus: 'running' },
      },
    ],
  ])('is %s: %s', (_reason, follows, shape) => {
    const { put, others } = setUp();
    put(web(shape));
    expect(others().withTask(7, ACCOUNT)).toEqual(follows ? [KEY] : []);
  });

  it.each<[reason: string, ordering: boolean, shape: Shape]>([
    ['a create in flight', true, { annotated: ATTEMPTED }],
    ['a task that runs', true, { annotated: TASKED, mirror: TASKED, ...creating }],
    ['a server with a known identifier', false, { annotated: HELD, mirror: HELD, ...creating }],
    ['nothing', false, { annotated: record({ account: ACCOUNT }) }],
    ['an order whose outcome is unknown', false, { annotated: opened(ATTEMPTED, 'CreateOutcomeUnknown') }],
    ['a task that has failed', false, { annotated: opened(TASKED, 'TaskFailed') }],
    ['a task that is overdue', false, { annotated: TASKED, mirror: opened(TASKED, 'TaskOverdue') }],
    [
      'an order that an adoption resolves, which waits for other orders itself',
      false,
      {
        annotated: ATTEMPTED,
        mirror: ATTEMPTED,
        ...adopting('srv1'),
        status: conditions('Pending', 'Reconciling'),
      },
    ],
    [
      'a running task although an adoption is requested',
      true,
      { annotated: TASKED, mirror: TASKED, ...adopting('srv1'), ...creating },
    ],
    [
      'a paused object',
      false,
      { annotated: TASKED, mirror: TASKED, annotations: { [PAUSED_ANNOTATION]: 'true' }, ...creating },
    ],
    [
      'a running task while the provider refuses the key',
      true,
      { annotated: TASKED, mirror: TASKED, status: conditions('InvalidCredentials') },
    ],
    [
      'a create in flight next to an older status',
      true,
      { annotated: ATTEMPTED, mirror: record({ account: ACCOUNT }), status: conditions('InvalidSpec') },
    ],
  ])('makes adoptions of the account wait for %s: %s', (_reason, ordering, shape) => {
    const { put, others } = setUp();
    put(web(shape));
    expect(others().ordering(ACCOUNT)).toEqual(ordering ? [KEY] : []);
  });
});
