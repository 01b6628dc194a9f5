import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/base/logger.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { Controller, type ControllerOptions, type Reconciler } from '../../../src/controller/controller.ts';
import { OwnWrites } from '../../../src/controller/own-writes.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import { feedOf } from '../../fixtures/feed.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

function thing(name: string, owner?: string): KubeObject {
  const metadata = { name, namespace: 'default', uid: `uid-of-${name}`, resourceVersion: '1', generation: 1 };
  const ownerReferences = owner === undefined ? [] : [{ kind: 'Thing', name: owner, uid: `uid-of-${owner}` }];
  return { metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z', ownerReferences } };
}

/** Runs everything that does not depend on the clock. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A running controller of things, with their parts as a secondary watch; `visit` acts as the reconciler. */
async function running(visit: Reconciler<KubeObject>['reconcile'], ...first: KubeObject[]) {
  return runningWith({}, visit, ...first);
}

async function runningWith(
  options: Pick<ControllerOptions<KubeObject>, 'read'>,
  visit: Reconciler<KubeObject>['reconcile'],
  ...first: KubeObject[]
) {
  const timers = new FakeTimers();
  const things = feedOf(...first);
  const parts = feedOf<KubeObject>();
  const objects = new OwnWrites(things.informer);
  const visits: string[] = [];
  const results: string[] = [];
  const metrics = new Metrics();
  metrics.add = (_definition, { result }: Readonly<Record<string, string>>) => {
    if (result !== undefined) results.push(result);
  };
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    level: 'debug',
    destination: { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const controller = new Controller<KubeObject>({
    name: 'thing',
    informer: things.informer,
    objects,
    watches: [
      {
        informer: parts.informer,
        toKeys: ({ metadata }) => metadata.ownerReferences?.map(({ name }) => `default/${name}`) ?? [],
        isSame: (before, after) => before.metadata.labels?.['seen'] === after.metadata.labels?.['seen'],
      },
    ],
    reconciler: {
      reconcile: (key, object) => {
        visits.push(`${key} ${object?.metadata.resourceVersion ?? 'gone'}`);
        return visit(key, object);
      },
    },
    workers: 2,
    ...options,
    timers,
    log,
    metrics,
  });
  await controller.start();
  await settled();
  const pass = async (ms: number): Promise<void> => {
    timers.advance(ms);
    await settled();
  };
  const taken = (): string[] => visits.splice(0);
  return { timers, things, parts, objects, controller, results, lines, log, pass, taken };
}

describe('the controller', () => {
  it('visits existing objects at the start, and objects that other clients change or delete', async () => {
    const { things, taken } = await running(() => Promise.resolve({}), thing('a'), thing('b'));
    expect(taken()).toEqual(['default/a 1', 'default/b 1']);
    things.put(thing('a'));
    await settled();
    expect(taken()).toEqual(['default/a 2']);
    things.remove(thing('b'));
    await settled();
    expect(taken()).toEqual(['default/b gone']);
  });

  it('makes no visit for its own writes, whether the watch event or the response comes first', async () => {
    const { things, objects, taken } = await running(() => Promise.resolve({}), thing('a'));
    taken();
    const written = { ...thing('a'), metadata: { ...thing('a').metadata, resourceVersion: '2' } };
    objects.saw(written);
    things.put(written);
    await settled();
    expect(taken()).toEqual([]);
    things.put(thing('a'));
    await settled();
    expect(taken()).toEqual(['default/a 3']);
  });

  it('visits an object again if another client changes it during a visit, but not after its own writes', async () => {
    let write: () => void = () => undefined;
    const { things, objects, taken } = await running(() => {
      write();
      return Promise.resolve({});
    }, thing('a'));
    taken();
    write = () => {
      write = () => undefined;
      objects.saw(things.put(thing('a')));
    };
    things.put(thing('a'));
    await settled();
    expect(taken()).toEqual(['default/a 2']);
    write = () => {
      write = () => undefined;
      things.put(thing('a'));
    };
    things.put(thing('a'));
    await settled();
    expect(taken()).toEqual(['default/a 4', 'default/a 5']);
  });

  it('visits the owner of an object that changes in a secondary watch, and its previous owner', async () => {
    const { parts, taken } = await running(() => Promise.resolve({}), thing('a'), thing('b'));
    taken();
    parts.put(thing('part', 'a'));
    await settled();
    expect(taken()).toEqual(['default/a 1']);
    const other = thing('part', 'b');
    parts.put({ ...other, metadata: { ...other.metadata, labels: { seen: 'changed' } } });
    await settled();
    expect(taken()).toEqual(['default/a 1', 'default/b 1']);
    parts.remove(thing('part', 'b'));
    await settled();
    expect(taken()).toEqual(['default/b 1']);
  });

  it('visits no owner for a difference that does not concern it', async () => {
    const { parts, taken } = await running(() => Promise.resolve({}), thing('a'));
    parts.put(thing('part', 'a'));
    await settled();
    taken();
    parts.put(thing('part', 'a'));
    await settled();
    expect(taken()).toEqual([]);
  });

  it('repeats a visit after the delay that it requests, and with backoff after a failure', async () => {
    let answer: () => Promise<{ requeueAfterMs?: number }> = () => Promise.resolve({ requeueAfterMs: 1_000 });
    const { pass, taken, results } = await running(() => answer(), thing('a'));
    taken();
    await pass(999);
    expect(taken()).toEqual([]);
    answer = () => Promise.reject(new Error('a fault'));
    await pass(1);
    await pass(250);
    await pass(250);
    expect(taken()).toEqual(['default/a 1', 'default/a 1']);
    answer = () => Promise.reject(new KubeError('Conflict', 'newer'));
    await pass(250);
    answer = () => Promise.resolve({});
    await pass(1_000);
    await pass(3_600_000);
    expect(taken()).toEqual(['default/a 1', 'default/a 1']);
    expect(results).toEqual(['requeue_after', 'error', 'error', 'requeue', 'success']);
  });

  it('continues the backoff after a visit that was postponed', async () => {
    const fault = (): Promise<never> => Promise.reject(new Error('a fault'));
    let answer: () => Promise<{ requeueAfterMs?: number; postponed?: boolean }> = fault;
    const { things, pass, taken } = await running(() => answer(), thing('a'));
    await pass(250);
    await pass(500);
    taken();
    // A change comes while the object waits for its fourth visit.
    answer = () => Promise.resolve({ requeueAfterMs: 100, postponed: true });
    things.put(thing('a'));
    await pass(0);
    answer = fault;
    await pass(100);
    expect(taken()).toEqual(['default/a 2', 'default/a 2']);
    await pass(1_000);
    expect(taken()).toEqual([]);
    await pass(1_000);
    expect(taken()).toEqual(['default/a 2']);
  });

  describe('after a conflict over its last write, which the watch has not reported', () => {
    const at = (resourceVersion: string): KubeObject => {
      const { metadata } = thing('a');
      return { metadata: { ...metadata, resourceVersion } };
    };

    /** The object is cached with version 1; the operator wrote 5, and its next write meets a conflict. */
    async function conflict(options: Pick<ControllerOptions<KubeObject>, 'read'>) {
      let failures = 0;
      const visit: Reconciler<KubeObject>['reconcile'] = (_key, object) => {
        const error = object?.metadata.resourceVersion === '5' ? new KubeError('Conflict', 'newer') : undefined;
        if (error !== undefined) failures += 1;
        return error === undefined ? Promise.resolve({}) : Promise.reject(error);
      };
      const { things, objects, controller, taken, pass, results } = await runningWith(options, visit, at('1'));
      taken();
      results.length = 0;
      objects.saw(at('5'));
      controller.enqueue('default/a');
      await settled();
      await pass(250);
      return { things, taken, results, failures: () => failures };
    }

    it.each([
      { shown: 'an older version', live: at('3') },
      { shown: 'the same version with other contents', live: { ...at('5'), spec: { size: 2 } } },
    ])('forgets the write if the API server shows $shown', async ({ live }) => {
      const { taken, results } = await conflict({ read: () => Promise.resolve(live) });
      expect(taken()[1]).toBe('default/a 1');
      expect(results.slice(0, 2)).toEqual(['requeue', 'success']);
    });

    it.each([
      { shown: 'a newer version', read: () => Promise.resolve(at('6')) },
      { shown: 'that the object does not exist', read: () => Promise.resolve(undefined) },
      { shown: 'nothing, because the read failed', read: () => Promise.reject(new KubeError('Unreachable', 'down')) },
    ])('keeps the write if the API server shows $shown', async ({ read }) => {
      const { taken, failures } = await conflict({ read });
      expect(taken().slice(0, 2)).toEqual(['default/a 5', 'default/a 5']);
      expect(failures()).toBeGreaterThan(1);
    });

    it('takes the cached version if it has no means to read the object', async () => {
      const { taken, results } = await conflict({});
      expect(taken().slice(0, 2)).toEqual(['default/a 5', 'default/a 1']);
      expect(results.slice(0, 2)).toEqual(['requeue', 'success']);
    });
  });

  it('reads nothing after a conflict over a version that the watch has reported', async () => {
    let reads = 0;
    const read = (): Promise<undefined> => Promise.resolve(void (reads += 1));
    const fails = (): Promise<never> => Promise.reject(new KubeError('Conflict', 'newer'));
    const { taken, pass } = await runningWith({ read }, fails, thing('a'));
    await pass(250);
    expect(taken()).toEqual(['default/a 1', 'default/a 1']);
    expect(reads).toBe(0);
  });

  it('adds the ID of the visit to every line that it logs, even after an await', async () => {
    const { lines, timers, things, log } = await running(async () => {
      await settled();
      log.info('in the visit');
      return {};
    });
    timers.chance = 0.5;
    things.put(thing('a'));
    await settled();
    await settled();
    log.info('outside');
    expect(lines).toEqual([
      expect.objectContaining({ msg: 'in the visit', controller: 'thing', reconcileID: '800000000000' }),
      expect.not.objectContaining({ reconcileID: expect.anything() as string }),
    ]);
  });

  it('starts no visit after it is stopped', async () => {
    const { controller, things, taken } = await running(() => Promise.resolve({}), thing('a'));
    taken();
    await controller.stop();
    things.put(thing('a'));
    await settled();
    expect(taken()).toEqual([]);
  });

  it('reports a failed visit as an error, except one that the stop has interrupted', async () => {
    const failures: ((error: Error) => void)[] = [];
    const interrupted = (): Promise<never> => new Promise((_resolve, reject) => failures.push(reject));
    const { controller, lines } = await running(interrupted, thing('a'), thing('b'));
    failures.shift()?.(new Error('a fault'));
    await settled();
    await controller.stop();
    failures.shift()?.(new Error('the connection was closed'));
    await settled();
    expect(lines.map(({ msg, level }) => ({ msg, level }))).toEqual([
      { msg: 'reconcile failed', level: 'error' },
      { msg: 'reconcile interrupted by the stop', level: 'debug' },
    ]);
  });
});
