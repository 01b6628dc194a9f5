/**
 * One object under random events, with a minimal API server and journal, and a provider that errs (property-world.ts).
 * Throws when the operator breaks a promise. Leaves out what design.md calls a documented limit: losing record, mirror
 * and journal all at once.
 */
import { ProviderError } from '../../../../src/provider/error.ts';
import { ACCEPT_SERVER_ANNOTATION, FINALIZER, NOT_CREATED_ANNOTATION, PAUSED_ANNOTATION, RECORD_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../../src/api/record.ts';
import { statusSchema, type VirtualServer } from '../../../../src/api/virtual-server.ts';
import { isSameAccount } from '../../../../src/virtual-server/decision/identity.ts';
import { decide } from '../../../../src/virtual-server/decision/decide.ts';
import { holdsSomething, resolvesAttempts, viewRecord } from '../../../../src/virtual-server/decision/record.ts';
import { settle } from '../../../../src/virtual-server/decision/settle.ts';
import type { Action, AttemptNote, Facts, Memo, Next, Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { lookAt, type View } from '../../../../src/virtual-server/decision/view.ts';
import { NOW, gathered, others, web } from '../../../gen/decision.ts';
import { EVENTS, annotated } from './property-events.ts';
import { cancel } from './property-cancellation.ts';
import { World, type Asking } from './property-world.ts';

const error = new ProviderError('PROVIDER_UNREACHABLE', 'no way');
/** More steps than any terminating visit takes. */
const MAX_STEPS = 20;

const isAccepted = (
  word: string,
  identifier: string,
  { server, account }: Extract<Outcome, { type: 'server' }>,
): boolean => word === `${identifier}@${server.macs[0] ?? server.ipv6[0] ?? account}`;

export class Life {
  readonly story: string[] = [];
  readonly actions: Action['type'][] = [];
  #object: VirtualServer = web();
  #memo: Memo = { failures: 0 };
  /** This process's journal, which survives a crash. */
  #notes: AttemptNote[] = [];
  #claimed: string | undefined;
  #now = NOW;
  /** The error of the wall clock (ms). */
  #skew = 0;
  /** Another object holds, follows or orders the same server. */
  #isShared = false;
  /** Steps since the operator last had nothing to do. */
  #restless = 0;
  #seed: number;
  #world = new World(() => this.#random());
  #minted = 0;
  /** Attempts that were sent and are not proven to have created nothing. */
  readonly #open = new Set<string>();
  /** Identifiers of servers that you have called gone. */
  readonly #saidGone = new Set<string>();

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

  /** One external event, or one step of the operator. */
  async step(): Promise<void> {
    if (this.#claimed === undefined && this.#chance(0.3)) this.#event();
    else await this.#visit();
    this.#now += this.#pick([100, 60_000, 700_000]);
  }

  async #visit(): Promise<void> {
    const view = lookAt(this.#object, this.#facts());
    const first = decide(view);
    // Only a cancellation has something left to gather here.
    const cancelled = first.type === 'gather' ? await this.#cancel(view) : undefined;
    if (first.type === 'gather' && cancelled === undefined) return;
    const action = cancelled?.action ?? first;
    this.#tell(`${action.type} ${JSON.stringify(action.type === 'park' ? action.verdict.reason : action)}`);
    this.actions.push(action.type);
    this.#judge(action);
    const outcome = cancelled?.outcome ?? this.#perform(action);
    if (outcome === undefined) {
      this.#crash();
      return;
    }
    this.#tell(`  ${JSON.stringify(outcome)}`);
    const next = settle(lookAt(this.#object, this.#facts()), action, outcome);
    this.#restless = next.again ? this.#restless + 1 : 0;
    if (this.#restless > MAX_STEPS) throw new Error('a visit without an end');
    this.#obey(action, outcome);
    this.#write(action, next);
    this.#judgeRecord();
  }

  /** A server that you have named or accepted belongs to the object from now on. */
  #obey(action: Action, outcome: Outcome): void {
    const word = this.#object.metadata.annotations?.[ACCEPT_SERVER_ANNOTATION];
    if (action.type === 'adopt' && outcome.type === 'server') this.#world.take(action.identifier);
    if (word === undefined) return;
    if (action.type === 'readServer' && outcome.type === 'server' && isAccepted(word, action.identifier, outcome))
      this.#world.take(action.identifier);
    const isTask = action.type === 'pollTask' && word === `task-${action.task}@${this.#world.key}`;
    if (!isTask || (outcome.type !== 'pending' && outcome.type !== 'complete')) return;
    const identifier = outcome.identifier ?? action.record.identifier;
    if (identifier !== undefined) this.#world.take(identifier);
  }

  #facts(): Facts {
    const holders = this.#isShared ? ['default/other'] : [];
    return gathered({
      now: this.#now + this.#skew,
      monotonic: this.#now - NOW,
      credentials: { ok: true, account: this.#world.key },
      others: others({ withServer: () => holders, withTask: () => holders, ordering: () => holders }),
      memo: this.#memo,
      notes: this.#notes.filter((note) => note.attempt !== this.#claimed || note.state !== 'minted'),
      ...(this.#claimed !== undefined && { claimed: this.#claimed }),
    });
  }

  /** Checks the promises against the next action. */
  #judge(action: Action): void {
    const own = this.#own();
    const said = this.#object.metadata.annotations?.[SERVER_GONE_ANNOTATION];
    if (said !== undefined) this.#saidGone.add(said);
    this.#judgeOrder(action);
    const isGone = own?.identifier !== undefined && (this.#isGone(own) || this.#saidGone.has(own.identifier));
    const isOver = action.type === 'release' && (action.why === 'cancelled' || action.why === 'gone');
    if (isOver && !isGone) throw new Error(`released as ${action.why}, and the server runs`);
    if (action.type === 'record' && action.why === 'expired' && !isGone)
      throw new Error('counted as expired, and the server runs');
    const isRetained = this.#object.spec.deletionPolicy === 'Retain' && own?.identifier !== undefined;
    const holds = own !== undefined && holdsSomething(own) && !isGone;
    if (action.type === 'release' && !isRetained && (holds || own?.orphans !== undefined)) {
      throw new Error('released while something is held');
    }
    const paused = this.#object.metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
    if (paused && !['wait', 'park', 'record'].includes(action.type)) throw new Error('an action while paused');
  }

  #judgeOrder(action: Action): void {
    if (action.type === 'create' && this.#open.size > 0)
      throw new Error(`a second create, ${[...this.#open].join()} is open`);
    if (action.type === 'claim' && this.#open.size > 0) throw new Error('a claim over an open attempt');
    if (action.type === 'claim' && this.#object.metadata.deletionTimestamp !== undefined)
      throw new Error('a deleted object is claimed');
    if (action.type === 'pollTask' && this.#isShared) throw new Error('a task is polled that another object follows');
  }

  #judgeCancellation(identifier: string, own: ServerRecord | undefined): void {
    if (own?.identifier !== identifier) throw new Error('a DELETE for another server');
    if (this.#isShared) throw new Error('a DELETE for a server that another object holds');
    const state = this.#world.stateOf({ identifier, account: this.#world.key });
    if (state !== 'runs' && state !== 'gone') throw new Error('a DELETE for a server of other people');
  }

  #isGone(own: ServerRecord): boolean {
    const state = this.#world.stateOf(own);
    return state === 'gone' || state === 'reused';
  }

  /** Checks the record after a write: the object holds its own server, or one that you have named. */
  #judgeRecord(): void {
    const own = this.#own();
    const state = own === undefined ? undefined : this.#world.stateOf(own);
    if (own?.identifier === undefined || own.expiredAt !== undefined || state === 'runs' || state === 'gone') return;
    if (state === 'reused' && own.missingAt !== undefined) return;
    throw new Error(state === 'reused' ? 'another server was taken back' : 'a server of other people is held');
  }

  #own(): ServerRecord | undefined {
    const view = viewRecord(this.#object, this.#notes);
    return view.kind === 'own' ? view.record : undefined;
  }

  /** Undefined: the process dies before it has an outcome. */
  #perform(action: Action): Outcome | undefined {
    switch (action.type) {
      case 'claim':
        return this.#mint();
      case 'create':
        return this.#create(action.attempt);
      case 'pollTask':
        return this.#world.poll(action.task);
      case 'adopt':
        return this.#world.adopt(action.identifier);
      case 'readServer':
        return this.#world.read(action.identifier, this.#asking(action.record));
      default:
        return { type: 'done' };
    }
  }

  #cancel({ own: record, facts }: View): ReturnType<typeof cancel> {
    if (record?.identifier === undefined) throw new Error('a cancellation without a server');
    const { identifier } = record;
    const asking = this.#asking(record);
    const shown = this.#world.read(identifier, asking);
    this.#tell(`  shown ${JSON.stringify(shown)}`);
    const word = this.#object.metadata.annotations?.[ACCEPT_SERVER_ANNOTATION];
    const isTaken = word !== undefined && shown.type === 'server' && isAccepted(word, identifier, shown);
    if (isTaken) this.#world.take(identifier);
    return cancel({
      object: this.#object,
      live: this.#chance(0.1) ? undefined : this.#object,
      facts,
      account: this.#world.key,
      shown,
      remove: () => {
        this.#tell('  DELETE');
        this.#judgeCancellation(identifier, this.#own());
        // The server that you have accepted belonged to the object, whatever account the record still names.
        if (isTaken) this.#world.replace(record);
        return this.#world.delete(identifier, asking);
      },
    });
  }

  #mint(): Outcome {
    const attempt = `a${++this.#minted}`;
    this.#note({ attempt, state: 'minted', account: this.#world.key });
    return { type: 'minted', attempt };
  }

  #create(attempt: string): Outcome | undefined {
    this.#note({ attempt, state: 'sending', account: this.#world.key });
    this.#open.add(attempt);
    if (this.#chance(0.1)) return undefined;
    const kind = this.#pick(['created', 'created', 'created', 'created', 'notCreated', 'refused', 'unknown']);
    if (kind === 'created') {
      this.#world.accept(this.#minted);
      this.#note({ attempt, state: 'task', task: this.#minted, account: this.#world.key });
      return this.#chance(0.1) ? undefined : { type: 'sent', result: { kind, task: this.#minted } };
    }
    if (kind === 'unknown') return { type: 'sent', result: { kind, error } };
    this.#open.delete(attempt);
    this.#note({ attempt, state: 'minted', account: this.#world.key });
    return { type: 'sent', result: kind === 'refused' ? { kind, status: 400, error } : { kind: 'notCreated', error } };
  }

  #asking({ account, fingerprint, mode, identifier }: ServerRecord): Asking {
    const isExplained = this.#memo.cancelAsked !== undefined && this.#memo.cancelAsked === identifier;
    return {
      now: this.#now,
      isOwnAccount: account === undefined || isSameAccount(account, this.#world.key),
      wasRead: fingerprint !== undefined || mode === 'adopt' || isExplained,
    };
  }

  #note(note: AttemptNote): void {
    const others = this.#notes.filter(({ attempt }) => attempt !== note.attempt);
    this.#notes = [...others, note];
  }

  /** Writes metadata first, then status; the process may die, or the API server fail, before each. */
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

  /** Does what the reconciler does. */
  #settleJournal(action: Action, attempt: string | undefined): void {
    const isResolved = resolvesAttempts(action);
    if (isResolved) this.#resolve(action);
    this.#notes = this.#notes.filter((note) => note.attempt === attempt || !(isResolved || note.state === 'minted'));
  }

  /** You said that the attempt created nothing; only that and an answer of the provider may resolve an attempt. */
  #resolve(action: Action): void {
    const word = this.#object.metadata.annotations?.[NOT_CREATED_ANNOTATION];
    if (action.type === 'record' && action.why === 'notCreated' && word !== undefined) this.#open.delete(word);
  }

  /** The object is gone; another one starts a new life. */
  #begin(): void {
    this.#tell('  gone');
    this.#object = web();
    this.#memo = { failures: 0 };
    this.#notes = [];
    this.#claimed = undefined;
    this.#world = new World(() => this.#random());
    this.#isShared = false;
    this.#restless = 0;
    this.#open.clear();
    this.#saidGone.clear();
  }

  #crash(): void {
    this.#tell('  crash');
    this.#memo = { failures: 0 };
    this.#claimed = undefined;
  }

  #event(): void {
    if (this.#chance(0.15)) {
      this.#tell(this.#world.happen(this.#own()));
      return;
    }
    if (this.#chance(0.1)) {
      this.#isShared = this.#chance(0.05);
      this.#skew = this.#pick([0, -86_400_000, 86_400_000]);
      this.#tell(`shared ${this.#isShared}, clock off by ${this.#skew} ms`);
      return;
    }
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
