/** Alternates visits of this version with visits of a newer one that adds keys to the record: no key is lost. */
import { ProviderError } from '../../../../src/provider/error.ts';
import { describe, expect, it } from 'vitest';
import { ON_CHANGE } from '../../../../src/virtual-server/decision/next.ts';
import {
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  RECORD_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../../../src/api/names.ts';
import { mirrorIn, parseRecord, type ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { decide } from '../../../../src/virtual-server/decision/decide.ts';
import { NEW_MEMO, type Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { parked } from '../../../../src/virtual-server/decision/outcome.ts';
import type { AttemptNote } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import type { Server, TaskState } from '../../../../src/provider/types.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import { HELD, NOW, SERVER, web, webWith, withKey } from '../../../fixtures/decision.ts';
import { DENIED, visit, type Answers } from '../../../fixtures/visits.ts';
import { Random } from '../../../lives/random.ts';

const LIVES = 100;
const STEPS = 40;
const WORDS: Record<string, string> = {
  [ADOPT_ANNOTATION]: 'srv9',
  [NOT_CREATED_ANNOTATION]: 'a1',
  [SERVER_GONE_ANNOTATION]: 'srv1',
  [ORPHAN_HANDLED_ANNOTATION]: '3,7',
};

class Life {
  /** What has happened to records that had keys of the newer version. */
  readonly seen = new Set<string>();
  readonly #random: Random;
  #object: VirtualServer | undefined = web();
  #memo: Memo = NEW_MEMO;
  #now = NOW;
  /** The keys that the newer version has written. */
  readonly #keys: Record<string, unknown> = {};

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS && this.#object !== undefined; step += 1) {
      if (this.#random.chance(0.4)) this.#write(this.#object);
      if (this.#random.chance(0.3)) this.#change(this.#object);
      const before = record(this.#object);
      const isWhole = await this.#visit(this.#object);
      if (Object.keys(this.#keys).length > 0) this.#judge(before, isWhole);
    }
  }

  /** The newer version, which writes the merged record to the annotation before the mirror and may end in between. */
  #write(object: VirtualServer): void {
    const present = record(object) && knownRecord(object);
    if (present === undefined) return;
    this.#keys[`key${this.#random.int(0, 5)}`] = this.#random.pick([
      0,
      '',
      false,
      'Z1',
      [1, { a: [] }],
      { b: { c: 2 } },
    ]);
    const keys = this.#random.chance(0.5)
      ? { ...this.#keys, ...present, ...this.#keys }
      : { ...present, ...this.#keys };
    const annotations = { ...object.metadata.annotations, [RECORD_ANNOTATION]: JSON.stringify(keys) };
    const isMirrored = object.status?.record !== undefined && this.#random.chance(0.7);
    this.#object = {
      ...object,
      metadata: { ...object.metadata, annotations },
      ...(isMirrored && { status: { ...object.status, record: keys } }),
    };
  }

  /** You set an annotation or delete the object, or one copy of the record is lost while the other one is intact. */
  #change(object: VirtualServer): void {
    const { metadata, status } = object;
    const [word, value] = this.#random.pick(Object.entries(WORDS));
    const kind = this.#random.pick(['say', 'say', 'unsay', 'lose', 'wipe', 'delete'] as const);
    const lost =
      kind === 'unsay' ? word : kind === 'lose' && this.#isIn(mirrorIn(status)) ? RECORD_ANNOTATION : undefined;
    const kept = Object.entries(metadata.annotations ?? {}).filter(([name]) => name !== lost);
    const annotations = Object.fromEntries(kind === 'say' ? [...kept, [word, value]] : kept) as Record<string, string>;
    const isWiped = kind === 'wipe' && this.#isIn(record(object));
    const isDeleted = kind === 'delete' && this.#random.chance(0.3);
    this.#object = {
      ...object,
      metadata: { ...metadata, annotations, ...(isDeleted && { deletionTimestamp: '2026-01-02T00:00:00Z' }) },
      status: isWiped ? { observedGeneration: -1 } : (status ?? {}),
    };
  }

  /** False if a crash ended the visit. */
  async #visit(object: VirtualServer): Promise<boolean> {
    this.#now += this.#random.pick([0, 60_000, 400_000]);
    const attempt = record(object)?.attempt;
    // The journal forgets an orphan that you have handled.
    const isHandled = object.metadata.annotations?.[ORPHAN_HANDLED_ANNOTATION] !== undefined;
    const isOrphan = !isHandled && this.#random.chance(0.1);
    const notes: AttemptNote[] = [
      ...(attempt === undefined || attempt === 'a0' ? [] : [{ attempt, state: 'sending' as const }]),
      ...(attempt === 'a0' || isOrphan ? [{ attempt: 'a0', state: 'task' as const, task: 3 }] : []),
    ];
    const isWhole = !this.#random.chance(0.2);
    const visited = await visit(object, {
      answers: this.#answers(),
      notes,
      now: this.#now,
      memo: this.#memo,
      ...(!isWhole && { lasts: this.#random.int(1, 6) }),
    });
    this.#object = visited.object;
    this.#memo = isWhole ? visited.memo : NEW_MEMO;
    return isWhole;
  }

  #answers(): Answers {
    const pick = this.#random.pick.bind(this.#random);
    const failed = new ResponseError(503, 'away');
    const error = new ProviderError('PROVIDER_TIMEOUT', 'no answer');
    return {
      order: pick([
        { kind: 'created', task: 7 },
        { kind: 'notCreated', error },
        { kind: 'refused', status: 422, error: new ResponseError(422, 'no') },
        { kind: 'unknown', error, task: 8 },
      ]),
      task: pick<TaskState | Error>([
        failed,
        { state: 'pending', status: 'installing' },
        { state: 'pending', identifier: 'srv1' },
        { state: 'complete', identifier: 'srv1' },
        DENIED,
      ]),
      server: pick<Server | Error>([failed, SERVER, SERVER, DENIED]),
      removed: pick<string | Error>([failed, DENIED, 'cancelled']),
    };
  }

  #judge(before: ServerRecord | undefined, isWhole: boolean): void {
    if (this.#object === undefined) {
      this.seen.add('released');
      return;
    }
    const after = record(this.#object);
    expect(after).toMatchObject(this.#keys);
    if (isWhole) expect(this.#object.status?.record).toMatchObject(this.#keys);
    if (before === undefined) this.seen.add('restored');
    if (after?.mode === 'adopt') this.seen.add('adopted');
    if (before?.attempt === undefined && after?.attempt !== undefined) this.seen.add('ordered again');
    if (before?.attempt !== undefined && after?.attempt === undefined) this.seen.add('without its attempt');
    for (const field of ['identifier', 'missingAt', 'hintedTask', 'orphans', 'settled'] as const)
      if (after?.[field] !== undefined) this.seen.add(field);
  }

  #isIn(known: ServerRecord | undefined): boolean {
    const present = known as Record<string, unknown> | undefined;
    return Object.entries(this.#keys).every(([key, value]) => JSON.stringify(present?.[key]) === JSON.stringify(value));
  }
}

function record({ metadata }: VirtualServer): ServerRecord | undefined {
  const parsed = parseRecord(metadata.annotations?.[RECORD_ANNOTATION]);
  if (!parsed.ok) throw new Error(parsed.error.problem);
  return parsed.value;
}

describe('keys of a newer version', () => {
  it('survive random lives of their object, in annotation and mirror', async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= LIVES; seed += 1) {
      const life = new Life(seed);
      try {
        await life.run();
      } catch (cause) {
        throw new Error(`seed ${seed}`, { cause });
      }
      for (const word of life.seen) seen.add(word);
    }
    // A generator that no longer reaches a change of the record proves nothing about it.
    const changes = ['released', 'restored', 'adopted', 'ordered again', 'without its attempt'];
    const fields = ['identifier', 'missingAt', 'hintedTask', 'orphans', 'settled'];
    expect([...seen].sort()).toEqual([...changes, ...fields].sort());
  });
});

describe('a record that a newer version has written in a newer format', () => {
  const newer = { format: 3, orphans: 'none', identifier: { of: 'srv1' }, readyAt: 7 };
  const strange: Record<string, unknown> = { ...HELD, ...newer };
  const conditions = [
    {
      type: 'Expiring',
      status: 'True',
      reason: 'ExpiresSoon',
      message: 'as it was',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ] as const;

  it.each([
    ['without changes', {}],
    ['while the object is deleted', { deleting: true }],
    ['with every annotation', { annotations: WORDS }],
    ['after the expiry of the server', { spec: { expiresAt: '2026-01-01T00:00:00Z' } }],
  ])('is kept unchanged, and so are its conditions, %s', (_, shape) => {
    const text = JSON.stringify(strange);
    const asked = { identifier: 'srv1', cancelRequestedAt: '2026-01-01T00:00:00Z' };
    const status = { ...asked, conditions: [...conditions] };
    const view = viewOf(webWith(HELD, { annotated: text, mirror: strange, status, ...shape }), withKey());
    const operation = decide(view);
    if (operation.type !== 'park') throw new Error(operation.type);
    const next = parked(view, operation);
    expect(next.record).toBeUndefined();
    expect(next.status).toMatchObject({ ...asked, record: strange });
    expect(next.status?.conditions).toContainEqual(conditions[0]);
    expect(next.events).toMatchObject([{ type: 'Warning', reason: 'RecordTooNew' }]);
    expect(next.when).toEqual(ON_CHANGE);
  });
});
