import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { ConnectionSecrets } from '../../../src/virtual-server/connection-secret.ts';
import { CreateLimit, ServerQuota } from '../../../src/virtual-server/shared/limits.ts';
import { Accounts } from '../../../src/accounts/accounts.ts';
import { Holders } from '../../../src/virtual-server/shared/holders.ts';
import { openJournal } from '../../../src/virtual-server/journal/journal.ts';
import { Losses } from '../../../src/virtual-server/shared/losses.ts';
import { Objects } from '../../../src/virtual-server/shared/objects.ts';
import { TaskTimes } from '../../../src/virtual-server/shared/task-times.ts';
import { ACTS, VirtualServerReconciler } from '../../../src/virtual-server/reconciler.ts';
import { EventRecorder } from '../../../src/controller/event-recorder.ts';
import { keyOf } from '../../../src/kube/resource.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { fakeKube, fakePace, fakeSession, ordersWith } from '../../fixtures/doubles.ts';
import { CATALOG, TIMING, web } from '../../fixtures/decision.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

/** The API server answers the first write of metadata, the claim, only when the test resolves `answer`. */
async function setUp() {
  const claimed = Promise.withResolvers<undefined>();
  const answer = Promise.withResolvers<undefined>();
  const records: string[] = [];
  let creates = 0;
  const object = web();
  const kube = fakeKube({
    getSecret: () => Promise.resolve({ data: { keyId: 'k', secret: 's' }, resourceVersion: '1' }),
    patchMetadata: async (_version, { annotations = {} }) => {
      records.push(annotations[RECORD_ANNOTATION] ?? '');
      claimed.resolve(undefined);
      if (records.length === 1) await answer.promise;
      const version = String(records.length + 1);
      const metadata = { ...object.metadata, resourceVersion: version, finalizers: [FINALIZER] };
      return { ...object, metadata: { ...metadata, annotations: annotations as Record<string, string> } };
    },
    writeStatus: ({ resourceVersion }, status) => {
      const annotations = { [RECORD_ANNOTATION]: records.at(-1) ?? '' };
      const metadata = {
        ...object.metadata,
        resourceVersion: `${resourceVersion}0`,
        finalizers: [FINALIZER],
        annotations,
      };
      return Promise.resolve<VirtualServer>({ ...object, metadata, status });
    },
  });
  const session = fakeSession({
    catalog: () => Promise.resolve(CATALOG),
    openOrder: ordersWith(() => {
      creates += 1;
      return Promise.resolve({ kind: 'created', task: 7 });
    }),
    pollTask: () => Promise.resolve({ state: 'pending' }),
  });
  const timers = new FakeTimers();
  const log = createLogger({ level: 'silent' });
  const holders = new Holders(() => undefined);
  const provider = fakeProvider(() => session);
  const journal = await openJournal({ dir: undefined });
  const reconciler = new VirtualServerReconciler({
    ...ACTS,
    informer: { list: () => [object] },
    losses: new Losses(journal, log, () => true, new Metrics()),
    kube,
    journal,
    holders,
    limit: new CreateLimit(0),
    quota: new ServerQuota(0),
    mint: () => 'a1',
    leads: () => true,
    accounts: new Accounts({
      kube,
      provider,
      timers,
      log,
      refreshMs: 1_000,
      operatorNamespace: undefined,
      onChange: () => undefined,
      onOrders: () => undefined,
    }),
    timers,
    objects: new Objects({ get: () => object }, holders, new ServerQuota(0)),
    pace: fakePace({ timing: () => TIMING }),
    taskTimes: new TaskTimes(),
    recorder: new EventRecorder(kube.events, timers, log),
    log,
    probe: () => Promise.reject(new Error('nothing asks for an SSH server here')),
    connections: new ConnectionSecrets({ secrets: undefined, kube, leads: () => true, log }),
  });
  return { reconciler, object, claimed: claimed.promise, answer, records, creates: () => creates };
}

describe('drain', () => {
  it('waits for a visit whose claim is still being written, its create and its record', async () => {
    const { reconciler, object, claimed, answer, records, creates } = await setUp();
    const visit = reconciler.reconcile(keyOf(object), object);
    await claimed;
    let drained = false;
    const drain = reconciler.drain().then(() => (drained = true));
    // A timer runs after every promise that could be settled was.
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    answer.resolve(undefined);
    await drain;
    expect(creates()).toBe(1);
    expect(JSON.parse(records.at(-1) ?? '')).toMatchObject({ attempt: 'a1', task: 7 });
    await visit;
  });

  it('prevents later visits from claiming', async () => {
    const { reconciler, object, records, creates } = await setUp();
    await reconciler.drain();
    expect(await reconciler.reconcile(keyOf(object), object)).toEqual({});
    expect(records).toEqual([]);
    expect(creates()).toBe(0);
  });
});
