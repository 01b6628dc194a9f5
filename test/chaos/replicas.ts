/** Part 3: two operators with leader election, and a leader that dies, sleeps, or is cut off at one request. */
import { NOT_CREATED_ANNOTATION } from '../../src/api/names.ts';
import type { Arena } from './arena.ts';
import type { Passing } from './exchange.ts';
import { recordOf } from '../fixtures/records.ts';
import type { Part, Result } from './plan.ts';
import type { Replica } from './replica.ts';
import { SCENARIOS, situationAt, type Scenario } from './scenarios.ts';
import { Stage } from './stage.ts';
import { orderedBy, type Interceptor } from './traffic.ts';

const HOUR_MS = 3_600_000;

interface Trouble {
  /** Whether the server handles the request before the leader is lost, after the other one has taken over, or never. */
  served: 'before' | 'after' | 'never';
  how: 'kill' | 'sleep' | 'cut' | 'outage';
  /** Offset of the second operator's clock (ms). */
  skewMs?: number;
  /** A person sets `not-created` while the create is still on its way. */
  earlyWord?: true;
}

const TROUBLES: Readonly<Record<string, Trouble>> = {
  'kill-before': { how: 'kill', served: 'never' },
  'kill-after': { how: 'kill', served: 'before' },
  sleep: { how: 'sleep', served: 'before' },
  'sleep-late': { how: 'sleep', served: 'after' },
  'sleep-late-ahead': { how: 'sleep', served: 'after', skewMs: HOUR_MS },
  'sleep-late-behind': { how: 'sleep', served: 'after', skewMs: -HOUR_MS },
  'cut-late': { how: 'cut', served: 'after' },
  outage: { how: 'outage', served: 'before' },
  'sleep-early-word': { how: 'sleep', served: 'after', earlyWord: true },
  'cut-early-word': { how: 'cut', served: 'after', earlyWord: true },
};

const PLAYED = [
  'life',
  'deleted-during-task',
  'unknown-and-created',
  'two-at-once',
  'handed-over',
  'public-failed-task',
  'named-life',
  'named-repeated',
  'named-found',
  'named-deleted-during-task',
];
/** Scenarios of one feature, and the labels of its requests; other scenarios cover their remaining requests. */
const FEATURES: Readonly<Record<string, RegExp>> = {
  catalog: /catalog/,
  connection: /connection/,
  'connection-expired': /connection/,
  'set-of-two': /set|POST-servers/,
  'set-scaled-up': /set|POST-servers/,
  'set-rolled-out': /set|POST-servers/,
  'named-change': /PATCH-server/,
  'named-change-goes-back': /PATCH-server/,
  'named-change-stop': /PATCH-server|PUT-power/,
  'named-change-taken-back': /PUT-power/,
  'named-power': /PUT-power|PUT-dormant|POST-reboot/,
  'named-set-change': /PATCH-server|PATCH-member/,
  'named-set-change-stop': /PATCH-server|PATCH-member|PUT-power/,
  'late-name-life': /POST-servers/,
  'held-life': /POST-servers/,
};
const BOUND_MS = 120_000;
/** After this many requests, or this much silence (ms), the new leader has done all it can. */
const ENOUGH_REQUESTS = 8;
const QUIET_MS = 600;
/** Longer than a leader is kept away. */
const PATIENT_CREATE = '--create-timeout=8s';

export const replicas: Part = {
  name: 'replicas',
  scenarios: [...PLAYED, ...Object.keys(FEATURES)],
  faultsAt: () => Object.keys(TROUBLES),
  situationAt,
  run(name, point) {
    const scenario = SCENARIOS[name];
    const trouble = point && TROUBLES[point.fault];
    if (scenario === undefined || (point !== undefined && trouble === undefined)) return undefined;
    // If the create's answer does not tell whether a server was created, a false `not-created` is believed: no check
    // could detect it.
    const isTrustworthy = point?.label === 'provider:POST-servers:attempt' && scenario.provider === undefined;
    if (trouble?.earlyWord === true && !isTrustworthy) return undefined;
    if (point !== undefined && FEATURES[name]?.test(point.label) === false) return undefined;
    return (arena, stage) => new ReplicaPlan(scenario, point?.label, trouble).run(arena, stage);
  },
};

class ReplicaPlan {
  readonly #scenario: Scenario;
  readonly #label: string | undefined;
  readonly #trouble: Trouble | undefined;
  #state: 'waiting' | 'away' | 'over' = 'waiting';
  /** Lets the leader return; set while it is away. */
  #comeBack: ((stage: Stage) => Promise<void>) | undefined;
  #lost: Replica | undefined;
  /** SSH keys of the create in flight. */
  #heldFor: unknown;
  #takenOverAt: number | undefined;

  constructor(scenario: Scenario, label: string | undefined, trouble: Trouble | undefined) {
    this.#scenario = scenario;
    this.#label = label;
    this.#trouble = trouble;
  }

  async run(arena: Arena, name: string): Promise<Result> {
    const { provider, api, world, asksNobody, flags = [] } = this.#scenario;
    const { skewMs = 0, earlyWord } = this.#trouble ?? {};
    const intercept: Interceptor = (label, exchange, sender) => this.#meet(label, exchange, sender);
    const stage = await Stage.open({
      arena,
      name,
      boundMs: BOUND_MS,
      skews: [0, skewMs],
      intercept,
      ...(provider && { provider }),
      ...(api && { api }),
      ...(world && { world }),
      ...(asksNobody && { asksNobody }),
      flags: [...flags, ...(earlyWord ? [PATIENT_CREATE] : [])],
    });
    stage.tend = () => this.#tend(stage);
    stage.isTroubled = () => this.#state !== 'waiting';
    // A leader that loses its lease exits, and the kubelet starts it again.
    stage.onEnd = (replica, code) => {
      if (code === 1 && replica.log.some((line) => line.includes('"leadership lost"'))) replica.start();
      else stage.violations.push(`${replica.name} exited unexpectedly with code ${code ?? 'none'}`);
    };
    const act = async (): Promise<void> => {
      await this.#scenario.act(stage);
      await stage.until('the lost leader to return', () => this.#state !== 'away');
    };
    return stage.play({ act }, () => this.#label === undefined || this.#state !== 'waiting');
  }

  async #meet(label: string, exchange: Passing, sender: Replica): Promise<boolean> {
    const trouble = this.#trouble;
    if (this.#state !== 'waiting' || trouble === undefined || label !== this.#label) return false;
    this.#state = 'away';
    this.#lost = sender;
    const answer = trouble.served === 'before' ? await exchange.forward() : undefined;
    const { promise: isBack, resolve: back } = Promise.withResolvers<undefined>();
    switch (trouble.how) {
      case 'kill':
        await sender.kill();
        sender.start();
        this.#state = 'over';
        exchange.breakOff();
        return true;
      case 'sleep':
        sender.signal('SIGSTOP');
        break;
      case 'cut':
        sender.proxy.reachable = false;
        break;
      case 'outage':
        // `#tend` cuts off the other replica.
        sender.proxy.reachable = false;
    }
    const { left } = exchange;
    this.#heldFor = orderedBy(exchange);
    let isLeft = false;
    void left.then(() => (isLeft = true));
    this.#comeBack = async () => {
      // A `not-created` that was set too early must not become false later: no operator could tell (documented limit).
      const isDropped = trouble.earlyWord === true && isLeft;
      // A watch whose client has disconnected is not started.
      const late = trouble.served === 'after' && !isDropped ? await exchange.forward().catch(() => undefined) : answer;
      if (late !== undefined) exchange.reply(late);
      sender.signal('SIGCONT');
      sender.proxy.reachable = true;
      back(undefined);
    };
    await Promise.race([isBack, left]);
    return true;
  }

  async #tend(stage: Stage): Promise<void> {
    const { how, earlyWord } = this.#trouble ?? {};
    if (this.#state !== 'away' || this.#comeBack === undefined) return;
    const other = stage.replicas.find((replica) => replica !== this.#lost);
    if (how === 'outage') {
      if (other !== undefined) other.proxy.reachable = false;
      if (this.#lost === undefined || !hasGivenUp(this.#lost)) return;
      if (other !== undefined) other.proxy.reachable = true;
    } else {
      if (stage.leader === this.#lost || !stage.leader.runs) return;
      this.#takenOverAt ??= stage.traffic.labels.length;
      if (earlyWord === true) await sayNotCreated(stage, this.#heldFor);
      if (stage.traffic.labels.length - this.#takenOverAt < ENOUGH_REQUESTS && stage.traffic.quietMs < QUIET_MS) return;
    }
    this.#state = 'over';
    await this.#comeBack(stage);
  }
}

/** Whether the outage has outlasted the lease or, without a lease, three attempts to acquire it. */
function hasGivenUp({ log }: Replica): boolean {
  const count = (text: string): number => log.filter((line) => line.includes(text)).length;
  return (
    count('"leadership lost"') > 0 || (count('"became the leader"') === 0 && count('"failed to write the lease"') >= 3)
  );
}

async function sayNotCreated(stage: Stage, sshKeys: unknown): Promise<void> {
  const object = stage.objects.ordering(sshKeys);
  const attempt = object && recordOf(object)?.attempt;
  if (attempt === undefined || object?.metadata.annotations?.[NOT_CREATED_ANNOTATION] === attempt) return;
  await stage.people.edit(object?.metadata.name ?? '', { annotations: { [NOT_CREATED_ANNOTATION]: attempt } });
}
