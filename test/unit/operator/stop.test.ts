import { describe, expect, it, vi } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { openJournal } from '../../../src/virtual-server/journal/journal.ts';
import { Operator } from '../../../src/operator.ts';
import type { CreateOutcome } from '../../../src/provider/types.ts';
import { fakeKube, fakeSession, ordersWith } from '../../fixtures/doubles.ts';
import { CATALOG, web } from '../../fixtures/decision.ts';
import { informerOfOne } from '../../fixtures/feed.ts';
import { OPERATOR } from '../../fixtures/operator.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

const CREATE_TIMEOUT_MS = 120_000;

/** A running operator that has sent one create, which the provider answers when the test resolves `answer`. */
async function setUp() {
  let object = web();
  const write = (changes: Partial<VirtualServer>): Promise<VirtualServer> => {
    const resourceVersion = String(Number(object.metadata.resourceVersion) + 1);
    object = { ...object, ...changes, metadata: { ...object.metadata, ...changes.metadata, resourceVersion } };
    return Promise.resolve(object);
  };
  const kube = fakeKube({
    getSecret: () => Promise.resolve({ data: { keyId: 'k', secret: 's' }, resourceVersion: '1' }),
    patchMetadata: (_version, { annotations = {} }) =>
      write({
        metadata: { ...object.metadata, finalizers: [FINALIZER], annotations: annotations as Record<string, string> },
      }),
    writeStatus: (_version, status) => write({ status }),
  });

  const sent = Promise.withResolvers<undefined>();
  const answer = Promise.withResolvers<CreateOutcome>();
  const session = fakeSession({
    catalog: () => Promise.resolve(CATALOG),
    openOrder: ordersWith(() => {
      sent.resolve(undefined);
      return answer.promise;
    }),
  });
  const servers = informerOfOne(() => object);
  const timers = new FakeTimers();
  const operator = new Operator({
    ...OPERATOR,
    kube,
    servers,
    provider: fakeProvider(() => session),
    journal: await openJournal({ dir: undefined }),
    timers,
    createTimeoutMs: CREATE_TIMEOUT_MS,
  });
  await operator.start();
  await sent.promise;
  let stopped = false;
  const stop = operator.stop().then(() => (stopped = true));
  /** What follows from the time that has passed is done, but for what waits for more of it. */
  const pass = async (ms: number): Promise<void> => {
    await settled();
    timers.advance(ms);
    await settled();
  };
  const task = (): unknown =>
    (JSON.parse(object.metadata.annotations?.[RECORD_ANNOTATION] ?? '{}') as { task?: number }).task;
  return { answer, stop, pass, task, stopped: () => stopped };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('stop', () => {
  it('waits for the answer to a create until the create times out, and records the answer', async () => {
    const { answer, stop, pass, task, stopped } = await setUp();
    await pass(CREATE_TIMEOUT_MS);
    expect(stopped()).toBe(false);
    answer.resolve({ kind: 'created', task: 7 });
    await stop;
    expect(task()).toBe(7);
  });

  it('ends without the answer if a create exceeds its deadline', async () => {
    const { pass, task, stopped } = await setUp();
    await pass(CREATE_TIMEOUT_MS + 60_000);
    await vi.waitFor(() => expect(stopped()).toBe(true));
    expect(task()).toBeUndefined();
  });
});
