/** Part 2: from one request on, the operator sees an old state or misses events, while people act. */
import type { Arena } from './arena.ts';
import { jsonAnswer, type Passing } from './exchange.ts';
import { GAPS, type Gap } from './gaps.ts';
import type { Part, Result } from './plan.ts';
import type { Replica } from './replica.ts';
import { Stage } from './stage.ts';
import type { Interceptor } from './traffic.ts';

const VIEWS = [
  /** The watch is silent; writes pass. */
  'frozen',
  /** The watch ends, and a list shows the old state again, like a lagging API server. */
  'frozen-relist',
  /** A new process starts with the old state. */
  'frozen-restart',
  /** The events are lost; later the watch ends and the operator has to list again. */
  'lost',
  /** The process is down while people act. */
  'absent',
] as const;
type View = (typeof VIEWS)[number];

const BOUND_MS = 90_000;
/** After this many requests, or this much silence (ms), the operator has done all that its view asks for. */
const ENOUGH_REQUESTS = 6;
const QUIET_MS = 600;

export const stale: Part = {
  name: 'stale',
  scenarios: Object.keys(GAPS),
  faultsAt: () => VIEWS,
  run(name, point) {
    const gap = GAPS[name];
    const view = VIEWS.find((known) => known === point?.fault);
    if (gap === undefined || (point !== undefined && view === undefined)) return undefined;
    // Other scenarios cover what a member asks the provider.
    if (gap.begin !== undefined && point?.label.startsWith('provider:') === true) return undefined;
    return (arena, stage) => new StalePlan(gap, point?.label, view).run(arena, stage);
  },
};

class StalePlan {
  readonly #gap: Gap;
  readonly #label: string | undefined;
  readonly #view: View | undefined;
  #state: 'waiting' | 'blind' | 'over' = 'waiting';
  #acted = false;
  #oldList: unknown;
  #since = 0;

  constructor(gap: Gap, label: string | undefined, view: View | undefined) {
    this.#gap = gap;
    this.#label = label;
    this.#view = view;
  }

  async run(arena: Arena, name: string): Promise<Result> {
    let stage: Stage | undefined = undefined as Stage | undefined;
    const intercept: Interceptor = async (label, exchange, sender) =>
      stage === undefined ? false : this.#meet(stage, label, exchange, sender);
    const { flags = [], api, asksNobody } = this.#gap;
    const way = { ...(api && { api }), ...(asksNobody && { asksNobody }) };
    stage = await Stage.open({ arena, name, boundMs: BOUND_MS, intercept, flags, ...way });
    const opened = stage;
    stage.tend = () => this.#see(opened);
    return stage.play({ act: () => this.#act(opened) }, () => this.#label === undefined || this.#state !== 'waiting');
  }

  async #act(stage: Stage): Promise<void> {
    await stage.people.putSecret();
    await (this.#gap.begin?.(stage) ?? stage.people.apply('web', this.#gap.spec));
    await stage.start();
    const acted = (): boolean => this.#acted;
    if (this.#gap.lead === undefined) await stage.until('the gap', () => acted() || stage.calm.isResting('web'));
    else await this.#gap.lead(stage, acted);
    if (!acted()) await this.#people(stage);
    await stage.until('the operator to see again', () => this.#state !== 'blind');
    await this.#gap.end(stage);
    await stage.until('the operator to see again', () => this.#state !== 'blind');
  }

  async #people(stage: Stage): Promise<void> {
    this.#acted = true;
    await stage.traffic.hold(() => this.#gap.act(stage));
  }

  async #meet(stage: Stage, label: string, exchange: Passing, sender: Replica): Promise<boolean> {
    if (label === 'kube:LIST' && this.#state === 'blind' && this.#view?.startsWith('frozen') === true) {
      exchange.reply(jsonAnswer(200, this.#oldList));
      return true;
    }
    if (this.#state !== 'waiting' || label !== this.#label) return false;
    this.#state = 'blind';
    this.#since = Infinity;
    const { gate } = sender.proxy;
    this.#oldList = await stage.people.list();
    if (this.#view === 'lost') gate.drop();
    else if (this.#view !== 'absent') gate.hold();
    const killed = this.#view === 'frozen-restart' || this.#view === 'absent';
    if (killed) await sender.kill();
    // A request in flight while people act meets the result of what they did.
    if (!this.#acted) await this.#people(stage);
    if (this.#view === 'frozen-relist') gate.expire('hold');
    if (killed) sender.start();
    this.#since = stage.traffic.labels.length;
    if (killed) exchange.breakOff();
    return killed;
  }

  /** Ends the blindness once the operator has acted on its old view. */
  async #see(stage: Stage): Promise<void> {
    // While people act all requests wait, so silence proves nothing about the operator.
    if (this.#state !== 'blind' || this.#since === Infinity) return;
    if ((await this.#gap.whileBlind?.(stage)) === true) this.#since = stage.traffic.labels.length;
    if (stage.traffic.labels.length - this.#since < ENOUGH_REQUESTS && stage.traffic.quietMs < QUIET_MS) return;
    this.#state = 'over';
    const { gate } = stage.leader.proxy;
    if (this.#view === 'lost') gate.expire('open');
    else gate.open();
  }
}
