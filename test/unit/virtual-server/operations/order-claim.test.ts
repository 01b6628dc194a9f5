/** The claim of an order: what comes before it, what its answer must show, and what follows from the order's answer. */
import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import type { CreateOutcome } from '../../../../src/provider/types.ts';
import { CreateLimit } from '../../../../src/virtual-server/shared/limits.ts';
import { ACCOUNT, ATTEMPTED, NOW, UID, record, web } from '../../../fixtures/decision.ts';
import { annotatedRecordOf } from '../../../fixtures/records.ts';
import { SSH_KEY } from '../../../fixtures/virtual-server.ts';
import { shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const CREATED: CreateOutcome = { kind: 'created', task: 7 };
const HOUR_MS = 3_600_000;

type Ordered = Visited & { limit: CreateLimit };

/** Visits a new object, in a namespace that may send one order in an hour. */
async function order(given: Given = {}, object = web()): Promise<Ordered> {
  const limit = new CreateLimit(1);
  const answers = { order: CREATED, task: { state: 'pending' } as const, ...given.answers };
  return { ...(await visit(object, { limit, ...given, answers })), limit };
}

const noted = ({ journal }: Visited): unknown[] =>
  journal.entries(UID).map(({ attempt, state, task }) => ({ attempt, state, ...(task !== undefined && { task }) }));
/** How long another object of the namespace would have to wait for an order (ms). */
function delayMs({ limit }: Ordered): number {
  const reserved = limit.reserve('default', 'another', 0);
  return 'freeInMs' in reserved ? reserved.freeInMs : 0;
}
const recordOf = ({ object }: Visited): ServerRecord | undefined => object && annotatedRecordOf(object);

describe('an order', () => {
  it('is claimed once it has its turn, is sent after the claim, and its task is recorded and polled', async () => {
    const states: unknown[] = [];
    const visited = await order({
      // The object that the claim is written to, and the object that the task is written to.
      beforeWrite: (object) => {
        states.push(annotatedRecordOf(object));
        return object;
      },
    });
    expect(visited.calls).toEqual(['catalog', 'open', 'write', 'order', 'write', 'poll', 'write']);
    expect(visited.requests).toEqual([
      { product: 'VPSX4', image: 'cloudinit-debian-trixie.raw.gz', disk_size: 10240, ssh_keys: SSH_KEY },
    ]);
    const claim = {
      ...record(),
      account: ACCOUNT,
      attempt: ATTEMPTED.attempt,
      attemptedAt: '2026-01-02T00:00:00Z',
      ordered: { attempt: ATTEMPTED.attempt, product: 'VPSX4' },
    };
    expect(states.slice(0, 2)).toEqual([undefined, { ...claim }]);
    expect(recordOf(visited)).toEqual({ ...claim, task: 7 });
    expect(visited.object?.metadata.finalizers).toEqual([FINALIZER]);
    expect(noted(visited)).toEqual([{ attempt: 'a1', state: 'task', task: 7 }]);
    expect(delayMs(visited)).toBe(HOUR_MS);
    // The next order of the same object is another one.
    expect(visited.limit.reserve('default', UID, 0)).toEqual({ freeInMs: HOUR_MS });
  });

  it('waits for the hourly limit, on a clock that does not jump', async () => {
    const limit = new CreateLimit(1);
    limit.reserve('default', 'another', -1_000);
    const visited = await order({ limit });
    expect(visited.calls).toEqual(['catalog', 'write']);
    expect(shownBy(visited).reason).toBe('CreateLimit');
    expect(visited.requeueAfterMs).toBe(HOUR_MS - 1_000);
    expect(visited.journal.entries(UID)).toEqual([]);
  });

  it('is not claimed if it gets no connection, and gives its place back', async () => {
    const visited = await order({ places: 1, answers: { opened: new ProviderError('PROVIDER_UNREACHABLE', 'down') } });
    expect(visited.calls).toEqual(['catalog', 'open', 'write']);
    expect(shownBy(visited).reason).toBe('ProviderUnavailable');
    expect(recordOf(visited)).toBeUndefined();
    expect(delayMs(visited)).toBe(0);
    expect(visited.quota.reserve('default', 'another', web().spec)).toHaveProperty('release');
  });

  it('is not claimed if its price became known before its turn came, and would pass the limit', async () => {
    const visited = await order({ maxPrice: 8.99, learns: 9 });
    expect(visited.calls).toEqual(['catalog', 'prices', 'open', 'write']);
    expect(shownBy(visited).reason).toBe('PriceLimit');
    expect(shownBy(visited).message).toContain('costs 9.00.');
    expect(recordOf(visited)).toBeUndefined();
    expect(visited.journal.entries(UID)).toEqual([]);
    const cheap = await order({ maxPrice: 9, learns: 9 });
    expect(cheap.requests).toHaveLength(1);
  });

  it('is not claimed if its time was over before its turn came, and gives its place back', async () => {
    const expiresAt = new Date(NOW + 30_000).toISOString();
    const visited = await order({ waits: 30_000 }, web({ spec: { expiresAt } }));
    expect(visited.calls).toEqual(['catalog', 'open', 'write']);
    expect(shownBy(visited).reason).toBe('Expired');
    expect(recordOf(visited)).toBeUndefined();
    expect(visited.journal.entries(UID)).toEqual([]);
    expect(delayMs(visited)).toBe(0);
    const timely = await order({ waits: 29_999 }, web({ spec: { expiresAt } }));
    expect(timely.requests).toHaveLength(1);
  });

  it('is not sent without the note in the journal that it is about to be sent', async () => {
    const visited = await order({ refusesSending: true, fails: true });
    expect(visited.error).toMatchObject({ message: 'the disk is full' });
    expect(visited.calls).toEqual(['catalog', 'open', 'write']);
    expect(visited.requests).toEqual([]);
    expect(recordOf(visited)).toMatchObject({ attempt: 'a1' });
    expect(noted(visited)).toEqual([{ attempt: 'a1', state: 'minted' }]);
  });

  it('is not claimed without the note in the journal that it was minted', async () => {
    const visited = await order({ journalProblem: 'the disk is full' });
    expect(visited.calls).toEqual(['catalog', 'write']);
    expect(shownBy(visited)).toMatchObject({
      reason: 'JournalUnavailable',
      message: expect.stringContaining(
        'The operator cannot write its journal in --journal-dir: the disk is full.',
      ) as string,
    });
    expect(recordOf(visited)).toBeUndefined();
  });
});

describe('a claim that the API server refuses', () => {
  const refused = (error: KubeError): Promise<Ordered> =>
    order({
      beforeWrite: () => {
        throw error;
      },
      fails: true,
    });

  it.each([409, 503])(
    'with %d sends nothing, keeps the note that proves it, and gives the place back',
    async (status) => {
      const error = new KubeError(status === 409 ? 'Conflict' : 'ServerError', 'refused', { status });
      const visited = await refused(error);
      expect(visited.error).toBe(error);
      expect(visited.calls).toEqual(['catalog', 'open', 'write']);
      expect(visited.requests).toEqual([]);
      expect(noted(visited)).toEqual([{ attempt: 'a1', state: 'minted' }]);
      expect(delayMs(visited)).toBe(0);
    },
  );
});

// Versions repeat after a restore of etcd, so a claim may hit an object that the visit has not seen.
describe('a claim that is answered with an object that', () => {
  /** What the claim finds: the object with these changes. */
  const changed =
    ({
      metadata,
      spec,
      status,
    }: Partial<Pick<VirtualServer, 'status'>> & {
      metadata?: Partial<VirtualServer['metadata']>;
      spec?: Partial<VirtualServer['spec']>;
    }) =>
    (object: VirtualServer): VirtualServer => ({
      ...object,
      metadata: { ...object.metadata, ...metadata },
      spec: { ...object.spec, ...spec },
      ...(status && object.status?.conditions === undefined && { status }),
    });

  it.each([
    { generation: 2, when: 'usually' },
    { generation: undefined, when: 'after a restore of etcd' },
  ])(
    'has another spec is taken back, and the next claim orders what the new spec says ($when)',
    async ({ generation }) => {
      const visited = await order({
        beforeWrite: changed({ metadata: { ...(generation && { generation }) }, spec: { product: 'VPSX8' } }),
      });
      const claim = ['catalog', 'open', 'write'];
      expect(visited.calls).toEqual([...claim, 'write', ...claim, 'order', 'write', 'poll', 'write']);
      expect(visited.requests).toMatchObject([{ product: 'VPSX8' }]);
      expect(visited.requests).toHaveLength(1);
      expect(noted(visited)).toEqual([{ attempt: 'a1', state: 'task', task: 7 }]);
    },
  );

  it('is paused is taken back', async () => {
    const visited = await order({
      beforeWrite: (object) => {
        const annotations = { ...object.metadata.annotations, [PAUSED_ANNOTATION]: 'true' };
        return changed({ metadata: { annotations } })(object);
      },
    });
    expect(visited.requests).toEqual([]);
    expect(visited.object?.metadata.finalizers).toEqual([FINALIZER]);
    expect(recordOf(visited)).toEqual({ ...record(), account: ACCOUNT });
    expect(visited.journal.entries(UID)).toEqual([]);
    expect(delayMs(visited)).toBe(0);
  });

  it('is being deleted is taken back, and the object is released', async () => {
    const metadata = { generation: 2, deletionTimestamp: '2026-01-02T00:00:00Z' };
    const visited = await order({
      beforeWrite: (object) => changed({ metadata: { ...metadata, finalizers: [FINALIZER] } })(object),
    });
    expect(visited.requests).toEqual([]);
    expect(visited.object).toBeUndefined();
    expect(visited.journal.entries(UID).filter(({ state }) => state !== 'minted')).toEqual([]);
    expect(delayMs(visited)).toBe(0);
  });

  it('has another attempt sends nothing, and the journal proves that', async () => {
    const visited = await order({
      beforeWrite: changed({ status: { record: { ...ATTEMPTED, attempt: 'a0', task: 6 } } }),
    });
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited).reason).toBe('RecordConflict');
    expect(noted(visited)).toEqual([{ attempt: 'a1', state: 'minted' }]);
    expect(delayMs(visited)).toBe(0);
  });
});

describe('the answer to an order', () => {
  it('is noted in the journal even if the record cannot be written', async () => {
    const conflict = new KubeError('Conflict', 'the object has been modified', { status: 409 });
    let writes = 0;
    const visited = await order({
      beforeWrite: (object) => {
        writes += 1;
        if (writes > 1) throw conflict;
        return object;
      },
      fails: true,
    });
    expect(visited.error).toBe(conflict);
    expect(visited.requests).toHaveLength(1);
    expect(noted(visited)).toEqual([{ attempt: 'a1', state: 'task', task: 7 }]);
    expect(delayMs(visited)).toBe(HOUR_MS);
  });

  it.each<{ what: string; answer: CreateOutcome; shows: string }>([
    {
      what: 'it created nothing',
      answer: { kind: 'notCreated', error: new ProviderError('PROVIDER_UNREACHABLE', 'down') },
      shows: 'ProviderUnavailable',
    },
    {
      what: 'it was refused',
      answer: { kind: 'refused', status: 402, error: new ResponseError(402, 'no money') },
      shows: 'CreateRejected',
    },
    {
      what: 'there is no such product',
      answer: { kind: 'refused', status: 404, error: new ResponseError(404, 'no such product') },
      shows: 'CreateRejected',
    },
  ])(
    'takes the attempt back if $what, and its place in the hour too if nothing was carried out',
    async ({ answer, shows }) => {
      const visited = await order({ answers: { order: answer } });
      expect(visited.calls).toEqual(['catalog', 'open', 'write', 'order', 'write', 'write']);
      expect(shownBy(visited).reason).toBe(shows);
      expect(recordOf(visited)).toEqual({ ...record(), account: ACCOUNT });
      expect(visited.journal.entries(UID)).toEqual([]);
      expect(delayMs(visited)).toBe(answer.kind === 'refused' ? HOUR_MS : 0);
    },
  );

  it('keeps the attempt and its place if the outcome is unknown', async () => {
    const answer = { kind: 'unknown', error: new ProviderError('PROVIDER_TIMEOUT', '60 s') } as const;
    const visited = await order({ answers: { order: answer } });
    expect(visited.calls).toEqual(['catalog', 'open', 'write', 'order', 'write', 'write']);
    expect(shownBy(visited).reason).toBe('CreateOutcomeUnknown');
    expect(recordOf(visited)).toMatchObject({ attempt: 'a1' });
    expect(noted(visited)).toEqual([{ attempt: 'a1', state: 'sending' }]);
    expect(delayMs(visited)).toBe(HOUR_MS);
  });

  it('is that it was not sent if another process may lead by now', async () => {
    const visited = await order({ leads: false });
    expect(visited.requests).toEqual([]);
    expect(recordOf(visited)).toEqual({ ...record(), account: ACCOUNT });
    expect(visited.journal.entries(UID)).toEqual([]);
    expect(delayMs(visited)).toBe(0);
  });
});
