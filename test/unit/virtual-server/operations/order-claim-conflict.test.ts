/** A claim that the API server applied and a proxy in between answered with 409. */
import { currentReason } from '../../../../src/api/conditions.ts';
import { expect, it, vi } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { openJournal } from '../../../../src/virtual-server/journal/journal.ts';
import { Operator } from '../../../../src/operator.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { fakeKube, fakeSession, ordersWith } from '../../../fixtures/doubles.ts';
import { CATALOG, UID, web } from '../../../fixtures/decision.ts';
import { informerOfOne } from '../../../fixtures/feed.ts';
import { OPERATOR } from '../../../fixtures/operator.ts';
import { fakeProvider } from '../../../fixtures/provider.ts';
import { FakeTimers } from '../../../fixtures/timers.ts';

/** A running operator whose first metadata write is answered with 409, and is either applied or not. */
async function setUp(firstWrite: 'applied' | 'refused') {
  let object = web();
  const servers = informerOfOne(() => object);
  let isFirst = true;
  const reasons = new Set<string | undefined>();
  const write = (changes: Partial<VirtualServer>): VirtualServer => {
    const resourceVersion = String(Number(object.metadata.resourceVersion) + 1);
    const previous = object;
    object = { ...object, ...changes, metadata: { ...object.metadata, ...changes.metadata, resourceVersion } };
    reasons.add(currentReason(object.status?.conditions));
    servers.tell(previous);
    return object;
  };
  const conflict = new KubeError('Conflict', 'the object has been modified', { status: 409 });
  const kube = fakeKube({
    getSecret: () => Promise.resolve({ data: { keyId: 'k', secret: 's' }, resourceVersion: '1' }),
    patchMetadata: ({ resourceVersion }, { annotations = {} }) => {
      const refused = isFirst || resourceVersion !== object.metadata.resourceVersion;
      const applied = !refused || (isFirst && firstWrite === 'applied');
      isFirst = false;
      const metadata = {
        ...object.metadata,
        finalizers: [FINALIZER],
        annotations: annotations as Record<string, string>,
      };
      if (applied) write({ metadata });
      return refused ? Promise.reject(conflict) : Promise.resolve(object);
    },
    writeStatus: (_version, status) => Promise.resolve(write({ status })),
  });
  const createServer = vi.fn(() => Promise.resolve({ kind: 'created', task: 7 } as const));
  const session = fakeSession({
    catalog: () => Promise.resolve(CATALOG),
    openOrder: ordersWith(createServer),
  });
  const timers = new FakeTimers();
  const journal = await openJournal({ dir: undefined });
  const operator = new Operator({
    ...OPERATOR,
    kube,
    servers,
    provider: fakeProvider(() => session),
    journal,
    timers,
  });
  await operator.start();
  /** The failed visit is repeated after a pause. */
  const pass = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    timers.advance(1_000);
  };
  const record = (): unknown => JSON.parse(object.metadata.annotations?.[RECORD_ANNOTATION] ?? '{}');
  await vi.waitFor(async () => {
    await pass();
    expect(record()).toMatchObject({ task: 7 });
  });
  await operator.stop();
  return { createServer, reasons, record: record() as { attempt: string }, attempts: journal.entries(UID) };
}

it.each(['applied', 'refused'] as const)(
  'orders one server after a claim that was %s and answered with 409, and forgets that claim',
  async (firstWrite) => {
    const { createServer, reasons, record, attempts } = await setUp(firstWrite);
    expect(createServer).toHaveBeenCalledTimes(1);
    expect(reasons).not.toContain('CreateInFlight');
    expect(reasons).not.toContain('CreateOutcomeUnknown');
    expect(attempts.map(({ attempt, state }) => [attempt, state])).toEqual([[record.attempt, 'task']]);
  },
);
