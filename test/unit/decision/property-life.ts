/**
 * One object under random events, with an API server, a journal and a service that are as simple as can be. It throws
 * when a promise is broken. What design.md calls a documented limit (record, mirror and journal all lost at once) is not
 * brought about.
 */
import { FINALIZER, NOT_CREATED_ANNOTATION, PAUSED_ANNOTATION, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../src/api/record.ts';
import { statusSchema, type VirtualServer } from '../../../src/api/virtual-server.ts';
import { decide } from '../../../src/decision/decide.ts';
import { holdsSomething, viewRecord } from '../../../src/decision/record.ts';
import { settle } from '../../../src/decision/settle.ts';
import type { Action, AttemptNote, Facts, Memo, Next, Outcome } from '../../../src/decision/types.ts';
import { TransportError } from '../../../src/provider/errors/transport-error.ts';
import { ACCOUNT, SERVER, gathered, web, NOW } from '../../gen/decision.ts';
import { annotated, EVENTS } from './property-events.ts';

const error = new TransportError('no way');

export class Life {
  readonly story: string[] = [];
  readonly actions: Action['type'][] = [];
  #object: VirtualServer = web();
  #memo: Memo = { failures: 0 };
  /** This process's journal, kept over a crash. */
  #notes: AttemptNote[] = [];
  #claimed: string | undefined;
  #now = NOW;
  #seed: number;
  #minted = 0;
  /** Attempts that were sent and of which nobody has proved that they created nothing. */
  readonly #open = new Set<string>();
  /** Identifiers of servers that are proved to be gone. */
  readonly #gone = new Set<string>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Mulberry32: at least 0 and less than 1. */
  #random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<T>(values: readonly [T, ...T[]]): T {
    return values[Math.floor(this.#random() * values.length)] ?? values[0];
  }

  /** One event from outside, or one step of the operator. */
  step(): void {
    if (this.#claimed === undefined && this.#chance(0.3)) this.#event();
    else this.#visit();
    this.#now += this.#pick([100, 60_000, 700_000]);
  }

  #visit(): void {
    const facts = this.#facts();
    const action = decide(this.#object, facts);
    this.#tell(`${action.type} ${JSON.stringify(action.type === 'park' ? action.verdict.reason : action)}`);
    this.actions.push(action.type);
    this.#judge(action);
    const outcome = this.#perform(action);
    if (outcome === undefined) {
      this.#crash();
      return;
    }
    this.#tell(`  ${JSON.stringify(outcome)}`);
    const next = settle(this.#object, action, outcome, this.#facts());
    this.#write(action, next);
  }

  #facts(): Facts {
    return gathered({
      now: this.#now,
      memo: this.#memo,
      notes: this.#notes.filter((note) => note.attempt !== this.#claimed || note.state !== 'minted'),
      ...(this.#claimed !== undefined && { claimed: this.#claimed }),
    });
  }

  /** The promises, held against what is about to be done. */
  #judge(action: Action): void {
    const own = this.#own();
    if (action.type === 'create' && this.#open.size > 0)
      throw new Error(`a second create, ${[...this.#open].join()} is open`);
    if (action.type === 'claim' && this.#open.size > 0) throw new Error('a claim over an open attempt');
    if (action.type === 'claim' && this.#object.metadata.deletionTimestamp !== undefined)
      throw new Error('a deleted object is claimed');
    if (action.type === 'deleteServer' && own?.identifier !== action.identifier)
      throw new Error('a DELETE for another server');
    if (action.type === 'release' && action.why === 'cancelled' && !this.#gone.has(own?.identifier ?? '')) {
      throw new Error('released as cancelled without a proof');
    }
    const holds = own !== undefined && holdsSomething(own) && !this.#gone.has(own.identifier ?? '');
    const isRetained = this.#object.spec.deletionPolicy === 'Retain';
    if (action.type === 'release' && !isRetained && (holds || own?.orphans !== undefined)) {
      throw new Error('released while something is held');
    }
    const paused = this.#object.metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
    if (paused && !['wait', 'park', 'record'].includes(action.type)) throw new Error('an action while paused');
  }

  #own(): ServerRecord | undefined {
    const view = viewRecord(this.#object, this.#notes);
    return view.kind === 'own' ? view.record : undefined;
  }

  /** Undefined: the process dies on the way. */
  #perform(action: Action): Outcome | undefined {
    switch (action.type) {
      case 'claim':
        return this.#mint();
      case 'create':
        return this.#create(action.attempt);
      case 'pollTask':
        return this.#pick<Outcome>([
          { type: 'pending', status: 'installing 20 %' },
          { type: 'pending', identifier: `srv-${action.task}` },
          { type: 'complete', identifier: `srv-${action.task}` },
          { type: 'taskNotFound', counts: true },
          { type: 'failed', error },
        ]);
      case 'adopt':
      case 'readServer':
        return this.#pick<Outcome>([
          { type: 'server', server: { ...SERVER, identifier: action.identifier }, account: ACCOUNT },
          { type: 'serverNotFound', counts: action.type === 'readServer', detail: '' },
          { type: 'failed', error },
        ]);
      case 'deleteServer':
        return this.#delete(action.identifier);
      default:
        return { type: 'done' };
    }
  }

  #mint(): Outcome {
    const attempt = `a${++this.#minted}`;
    this.#note({ attempt, state: 'minted', account: ACCOUNT });
    return { type: 'minted', attempt };
  }

  #create(attempt: string): Outcome | undefined {
    this.#note({ attempt, state: 'sending', account: ACCOUNT });
    this.#open.add(attempt);
    if (this.#chance(0.2)) return undefined;
    const kind = this.#pick(['created', 'notCreated', 'refused', 'unknown']);
    if (kind === 'created') {
      this.#note({ attempt, state: 'task', task: this.#minted, account: ACCOUNT });
      return this.#chance(0.2) ? undefined : { type: 'sent', result: { kind, task: this.#minted } };
    }
    if (kind === 'unknown') return { type: 'sent', result: { kind, error } };
    this.#open.delete(attempt);
    this.#note({ attempt, state: 'minted', account: ACCOUNT });
    return { type: 'sent', result: kind === 'refused' ? { kind, status: 400, error } : { kind: 'notCreated', error } };
  }

  #delete(identifier: string): Outcome {
    const outcome = this.#pick<Outcome>([
      { type: 'cancelled' },
      { type: 'serverNotFound', counts: true, detail: '' },
      { type: 'serverNotFound', counts: false, detail: '' },
      { type: 'changed' },
      { type: 'failed', error },
    ]);
    if (outcome.type === 'cancelled' || (outcome.type === 'serverNotFound' && outcome.counts))
      this.#gone.add(identifier);
    return outcome;
  }

  #note(note: AttemptNote): void {
    const others = this.#notes.filter(({ attempt }) => attempt !== note.attempt);
    this.#notes = [...others, note];
  }

  /** Metadata first, then status; the process may die, or the API server fail, before each of them. */
  #write(action: Action, next: Next): void {
    if (this.#chance(0.1)) {
      this.#crash();
      return;
    }
    if (next.record === null) {
      this.#begin();
      return;
    }
    if (next.record !== undefined) {
      const { metadata } = this.#object;
      this.#object = annotated(this.#object, { [RECORD_ANNOTATION]: formatRecord(next.record) });
      if (metadata.deletionTimestamp === undefined) this.#object.metadata.finalizers = [FINALIZER];
      this.#settleJournal(action, next.record.attempt);
    }
    if (next.status !== undefined && this.#chance(0.9)) {
      statusSchema.parse(next.status);
      this.#object = { ...this.#object, status: next.status };
    } else if (next.status !== undefined) {
      this.#crash();
      return;
    }
    this.#memo = next.memo;
    this.#claimed = next.claimed;
  }

  /** As the reconciler does it. */
  #settleJournal(action: Action, attempt: string | undefined): void {
    const byPerson = action.type === 'record' && action.why !== 'restored';
    if (byPerson) this.#resolve(action);
    this.#notes = this.#notes.filter((note) => note.attempt === attempt || !(byPerson || note.state === 'minted'));
  }

  /** A person said that the attempt created nothing; it is the one thing besides an answer that may say so. */
  #resolve(action: Action): void {
    const word = this.#object.metadata.annotations?.[NOT_CREATED_ANNOTATION];
    if (action.type === 'record' && action.why === 'notCreated' && word !== undefined) this.#open.delete(word);
  }

  /** The object is gone; another one with another life begins. */
  #begin(): void {
    this.#tell('  gone');
    this.#object = web();
    this.#memo = { failures: 0 };
    this.#notes = [];
    this.#claimed = undefined;
    this.#open.clear();
    this.#gone.clear();
  }

  #crash(): void {
    this.#tell('  crash');
    this.#memo = { failures: 0 };
    this.#claimed = undefined;
  }

  #event(): void {
    const event = EVENTS[Math.floor(this.#random() * EVENTS.length)];
    if (event === undefined) throw new Error('there are no events');
    this.#tell(event[0]);
    const change = event[1]({
      object: this.#object,
      own: this.#own(),
      notes: this.#notes,
      attempt: `a${this.#minted}`,
      chance: (probability) => this.#chance(probability),
    });
    this.#object = change.object ?? this.#object;
    this.#notes = change.notes ?? this.#notes;
    if (change.crash === true) this.#crash();
  }

  #tell(line: string): void {
    this.story.push(line);
  }
}
