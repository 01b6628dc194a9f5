import { describe, expect, it } from 'vitest';
import type { VirtualServer, VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../../../src/api/virtual-server-set.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { currentReason } from '../../../src/api/conditions.ts';
import type { Observer } from '../../../src/controller/observer.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { planSet, type SetAction } from '../../../src/virtual-server-set/decision/set-plan.ts';
import { SetReconciler } from '../../../src/virtual-server-set/reconciler.ts';
import { member, NOW, webSet } from '../../fixtures/virtual-server-set.ts';

/** A reconciler of one set, without members unless `objects` has some, and what it did. */
function reconciling(
  options: {
    perform?: (action: SetAction) => Promise<void>;
    leads?: () => boolean;
    /** What the API server has; `null`: the set is gone. */
    live?: VirtualServerSet | null;
    objects?: VirtualServer[];
    /** What the cache has, if not the same. */
    known?: VirtualServer[];
    replicas?: number;
    status?: VirtualServerSetStatus;
    /** The operator only observes; whether it may report. */
    observer?: { reports: boolean };
  } = {},
) {
  let set = webSet({ replicas: options.replicas ?? 3 });
  if (options.status) set = { ...set, status: options.status };
  const done: string[] = [];
  const reads: string[] = [];
  const written: (number | undefined)[] = [];
  const events: string[] = [];
  const reasons: (string | undefined)[] = [];
  const clock = { monotonic: 0 };
  const withheld: string[] = [];
  const withholds = (...[, , ...actions]: string[]): void => void withheld.push(...actions);
  const stopping = new AbortController();
  const reconciler = new SetReconciler({
    known: () => options.known ?? options.objects ?? [],
    sets: {
      get: () => {
        reads.push('set');
        return Promise.resolve(options.live === null ? undefined : (options.live ?? set));
      },
      writeStatus: (_version, status) => {
        written.push(status.replicas);
        reasons.push(currentReason(status.conditions));
        set = { ...set, status };
        return Promise.resolve(set);
      },
    },
    members: {
      list: () => {
        reads.push('members');
        return Promise.resolve(options.objects ?? []);
      },
      perform: async (_set, action) => {
        await options.perform?.(action);
        done.push(`${action.type} ${action.type === 'create' ? action.manifest.metadata.name : action.name}`);
      },
    },
    saw: () => undefined,
    leads: options.leads ?? (() => true),
    ...(options.observer && { observer: { ...options.observer, withholds } as unknown as Observer }),
    recorder: { record: (...[, , , notes]) => void events.push(...notes.map(({ note }) => note)) },
    progress: { mark: () => undefined },
    timers: { now: () => NOW, monotonic: () => clock.monotonic },
    log: createLogger({ level: 'fatal' }),
    stopping: stopping.signal,
  });
  const visit = () => reconciler.reconcile('default/web', set);
  const statusNow = () => set.status;
  return { visit, done, reads, written, events, reasons, clock, stopping, withheld, statusNow };
}

/** What a set of one is shown as once its member is available. */
const COMPLETE = ((set = webSet({ replicas: 1 })): VirtualServerSetStatus =>
  planSet(set, { objects: [member(set, 0)], live: true }, NOW).status)();

const CREATES = ['create web-0', 'create web-1', 'create web-2'];

describe('the reconciler of sets', () => {
  it('acts on a live list, writes the status, and looks again after a second', async () => {
    const { visit, done, written } = reconciling();
    expect(await visit()).toEqual({ requeueAfterMs: 1000 });
    expect([done, written]).toEqual([CREATES, [0]]);
  });

  it('writes the template to the status before the first member gets it, so that no interruption loses it', async () => {
    const kept: unknown[] = [];
    const { visit, statusNow } = reconciling({
      perform: () => {
        kept.push(statusNow()?.revisions?.map(({ spec }) => spec.product));
        return Promise.reject(new KubeError('Unreachable', 'the process ends here'));
      },
    });
    await expect(visit()).rejects.toThrow('the process ends here');
    expect(kept).toEqual([['VPSX4']]);
  });

  it('visits a set at most once a second, however many members change', async () => {
    const { visit, done, clock } = reconciling();
    await visit();
    clock.monotonic = 400;
    expect(await visit()).toEqual({ requeueAfterMs: 600, postponed: true });
    expect(done).toEqual(CREATES);
  });

  it.each([true, false])('creates nothing if the operator only observes (reports: %s)', async (reports) => {
    const { visit, done, reasons, withheld } = reconciling({ observer: { reports } });
    await visit();
    expect(done).toEqual([]);
    expect(withheld).toEqual(['create', 'create', 'create']);
    expect(reasons).toEqual(reports ? ['ObserveOnly'] : []);
  });

  it('continues after a name that is taken', async () => {
    const taken = (action: SetAction): Promise<void> =>
      action.type === 'create' && action.manifest.metadata.name === 'web-1'
        ? Promise.reject(new KubeError('Conflict', 'web-1 already exists'))
        : Promise.resolve();
    const { visit, done } = reconciling({ perform: taken });
    await visit();
    expect(done).toEqual(['create web-0', 'create web-2']);
  });

  it('is not shown as scaled to zero while its cache lacks a member that it has created', async () => {
    const set = webSet({ replicas: 0 });
    const { visit, done, reads, reasons, written } = reconciling({ replicas: 0, known: [], objects: [member(set, 0)] });
    await visit();
    expect([done, reads]).toEqual([['delete web-0'], ['set', 'members']]);
    expect([reasons, written]).toEqual([['Scaling'], [1]]);
  });

  it('is shown as complete once a list has shown that it is, and needs no other list for that', async () => {
    const { visit, reads, reasons, clock } = reconciling({ replicas: 0 });
    await visit();
    clock.monotonic = 2000;
    await visit();
    expect([reads, reasons]).toEqual([['set', 'members'], ['Available']]);
  });

  it('needs no list to be complete again once a member is available', async () => {
    const set = webSet({ replicas: 1 });
    const { status } = planSet(set, { objects: [member(set, 0, { reason: 'Unreachable' })], live: true }, NOW);
    const { visit, reads, reasons } = reconciling({ replicas: 1, status, objects: [member(set, 0)] });
    await visit();
    expect([reads, reasons]).toEqual([[], ['Available']]);
  });

  it('waits for its cache if that is behind', async () => {
    const set = webSet({ replicas: 1, labels: { tier: 'web' } });
    const { metadata, ...old } = member(set, 0);
    const known = [{ ...old, metadata: { ...metadata, annotations: {} } }];
    const conflict = new KubeError('Conflict', 'the object has been modified');
    const { visit } = reconciling({
      objects: known,
      replicas: known.length,
      status: COMPLETE,
      perform: () => Promise.reject(conflict),
    });
    expect(await visit()).toEqual({ requeueAfterMs: 30_000 });
  });

  it.each([
    ['Invalid', 'MemberRejected'],
    ['Forbidden', 'MemberRejected'],
    ['Rejected', 'MemberRejected'],
    ['Unreachable', 'Scaling'],
    ['ServerError', 'Scaling'],
  ] as const)('ends the step at a create that answers %s, and shows the reason %s', async (code, reason) => {
    const { visit, done, reasons, events } = reconciling({
      perform: () => Promise.reject(new KubeError(code, 'no quota')),
    });
    await expect(visit()).rejects.toThrow('no quota');
    expect([done, reasons.at(-1)]).toEqual([[], reason]);
    const shown = events.filter((note) => note.includes('rejects the creation of member web-0: no quota.'));
    expect(shown).toHaveLength(reason === 'MemberRejected' ? 1 : 0);
  });

  it('ends the step while a webhook is down, and quotes the API server', async () => {
    const down = new KubeError('ServerError', 'failed calling webhook "check.example.com"', { status: 500 });
    const { visit, done, reasons, events } = reconciling({ perform: () => Promise.reject(down) });
    await expect(visit()).rejects.toThrow(down.message);
    expect([done, reasons.at(-1)]).toEqual([[], 'MemberRejected']);
    expect(events).toContainEqual(expect.stringContaining(down.message));
  });

  it.each(['Invalid', 'Forbidden'] as const)('deletes the other members if one DELETE answers %s', async (code) => {
    const old = webSet({ replicas: 3 });
    const refused = (action: SetAction): Promise<void> =>
      action.type === 'delete' && action.name === 'web-1'
        ? Promise.reject(new KubeError(code, 'denied by a policy'))
        : Promise.resolve();
    const objects = [0, 1, 2].map((ordinal) => member(old, ordinal, { reason: 'Available' }));
    const { visit, done, reasons } = reconciling({ replicas: 0, objects, perform: refused });
    await expect(visit()).rejects.toThrow('denied by a policy');
    expect(done).toEqual(['delete web-2', 'delete web-0']);
    expect(reasons).toEqual(['MemberRejected']);
  });

  it.each([
    new KubeError('ServerError', 'failed calling webhook "w"', { status: 500 }),
    new KubeError('TooManyRequests', 'slow down', { status: 429 }),
  ])('still deletes what is too much while a write to another member fails: %s', async (failure) => {
    const tried: string[] = [];
    const failing = (action: SetAction): Promise<void> => {
      tried.push(action.type);
      return action.type === 'update' ? Promise.reject(failure) : Promise.resolve();
    };
    const objects = [0, 1, 2].map((ordinal) => member(webSet(), ordinal, { price: 1 }));
    const live = webSet({ replicas: 1, labels: { tier: 'web' } });
    const { visit, done, reasons } = reconciling({ replicas: 1, live, objects, perform: failing });
    await expect(visit()).rejects.toThrow(failure.message);
    expect([done, reasons]).toEqual([['delete web-2', 'delete web-1'], ['MemberRejected']]);
    expect(tried).toEqual(['update', 'delete', 'delete']);
  });

  it('ends the step if the API server cannot be reached', async () => {
    const objects = [0, 1, 2].map((ordinal) => member(webSet(), ordinal, { price: 1 }));
    const live = webSet({ replicas: 1, labels: { tier: 'web' } });
    const lost = (): Promise<void> => Promise.reject(new KubeError('Unreachable', 'no answer'));
    const { visit, done } = reconciling({ replicas: 1, live, objects, perform: lost });
    await expect(visit()).rejects.toThrow('no answer');
    expect(done).toEqual([]);
  });

  it.each<Partial<VirtualServerSpec>>([
    { deletionProtection: true },
    { deletionPolicy: 'Retain' },
    { deletionDelay: '24h' },
  ])('deletes none of the members to which a policy refuses to write %j', async (spec) => {
    const refused = ({ type }: SetAction): Promise<void> =>
      type === 'update' ? Promise.reject(new KubeError('Forbidden', 'denied by a policy')) : Promise.resolve();
    const objects = [0, 1, 2].map((ordinal) => member(webSet(), ordinal, { price: 1 }));
    const live = webSet({ replicas: 1, spec });
    const { visit, done, reasons } = reconciling({ replicas: 1, live, objects, perform: refused });
    await expect(visit()).rejects.toThrow('denied by a policy');
    expect([done, reasons]).toEqual([[], ['MemberRejected']]);
  });

  it('shows that a policy rejects the release of a member, and still creates the next one', async () => {
    const own = member(webSet({ replicas: 1 }), 0);
    const unlabelled = { ...own, metadata: { ...own.metadata, labels: {} } };
    const refused = ({ type }: SetAction): Promise<void> =>
      type === 'release' ? Promise.reject(new KubeError('Invalid', 'denied by a policy')) : Promise.resolve();
    const { visit, done, reasons } = reconciling({ replicas: 1, objects: [unlabelled], perform: refused });
    await expect(visit()).rejects.toThrow('denied by a policy');
    expect(done).toEqual(['create web-1']);
    expect(reasons.at(-1)).toBe('MemberRejected');
  });

  it('reports a step in one Event', async () => {
    const { visit, events } = reconciling();
    await visit();
    expect(events).toContain('Created web-0, web-1, web-2');
  });

  it('writes no template to members without a live read of the set, which costs no list', async () => {
    const before = member(webSet({ replicas: 1, labels: { tier: 'db' } }), 0);
    const { visit, done, reads } = reconciling({ replicas: 1, status: COMPLETE, objects: [before] });
    await visit();
    expect([done, reads]).toEqual([['update web-0'], ['set']]);
  });

  it.each<[string, Partial<VirtualServerSpec>]>([
    ['without its protection', { deletionProtection: true }],
    ['with another power', { power: 'On' }],
  ])('never writes an older template %s from its cache', async (_what, spec) => {
    const live = webSet({ replicas: 1, spec });
    const { visit, done, reasons } = reconciling({ replicas: 1, live, objects: [member(live, 0)] });
    await visit();
    expect([done, reasons]).toEqual([[], ['Available']]);
  });

  it('scales by the set that it has read for the template', async () => {
    const live = webSet({ replicas: 2, labels: { tier: 'web' } });
    const { visit, done, reads } = reconciling({
      replicas: 1,
      status: COMPLETE,
      live,
      objects: [member(webSet({ labels: { a: 'b' } }), 0)],
    });
    await visit();
    expect([done, reads]).toEqual([
      ['update web-0', 'create web-1'],
      ['set', 'set', 'members'],
    ]);
  });

  it('writes no template of a set that is gone', async () => {
    const objects = [member(webSet({ replicas: 1, labels: { tier: 'db' } }), 0)];
    const { visit, done, written } = reconciling({ replicas: 1, live: null, objects });
    expect(await visit()).toEqual({});
    expect([done, written]).toEqual([[], []]);
  });

  it('stops in the middle of a step when it no longer leads', async () => {
    let calls = 0;
    const { visit, done } = reconciling({ leads: () => (calls += 1) <= 1 });
    await visit();
    expect(done).toEqual(['create web-0']);
  });

  it('stops in the middle of a step when its list is 30 seconds old', async () => {
    const slow = reconciling({
      perform: () => {
        slow.clock.monotonic += 20_000;
        return Promise.resolve();
      },
    });
    await slow.visit();
    expect(slow.done).toEqual(['create web-0', 'create web-1']);
  });

  it('does nothing for a set that is gone, or that another of the same name has replaced', async () => {
    const other = webSet({ replicas: 3 });
    other.metadata.uid = 'uid-of-another';
    const { visit, done, written } = reconciling({ live: other });
    expect(await visit()).toEqual({});
    expect([done, written]).toEqual([[], []]);
  });

  it('creates nothing for a set whose live version is being deleted', async () => {
    const deleting = webSet({ replicas: 3 });
    deleting.metadata.deletionTimestamp = '2026-01-02T00:00:00Z';
    const { visit, done } = reconciling({ live: deleting });
    await visit();
    expect(done).toEqual([]);
  });

  it('writes nothing once the process stops', async () => {
    const { visit, done, written, stopping } = reconciling();
    stopping.abort();
    await visit();
    expect([done, written]).toEqual([[], []]);
  });

  it('writes no status that has not changed', async () => {
    const { visit, written, clock } = reconciling({ leads: () => false });
    await visit();
    clock.monotonic = 2_000;
    await visit();
    expect(written).toHaveLength(1);
  });
});
