/**
 * Scenarios: what users do with objects. Whatever the fault, each life reaches the end that its scenario
 * states. A new one is added here for `crash/`, in gaps.ts for `stale/`, and by its name in replicas.ts for two replicas.
 */
import { ADOPT_ANNOTATION } from '../../src/api/names.ts';
import { DEFAULT_KEY, type ApiName } from '../../src/simulator/index.ts';
import { begin, removed } from './acts.ts';
import { CONNECTIONS } from './connections.ts';
import { jsonAnswer, type Answer, type Exchange } from './exchange.ts';
import { FEATURES } from './features.ts';
import { FORMATS } from './formats.ts';
import { isAboutState, isOrder } from './labels.ts';
import { ANONYMOUS, NAMED, NAMED_ORDERS } from './named.ts';
import { OBSERVED } from './observed.ts';
import { PUBLIC_SERVICE } from './public-service.ts';
import { recordOf } from '../fixtures/records.ts';
import { SETS } from './sets.ts';
import type { Stage } from './stage.ts';
import { FAILING_WORLDS, WORLDS, type World } from './worlds.ts';
import { WORSE } from './worse.ts';

export interface Scenario {
  /** The provider's unusual answer to a request; `forward` gets the usual one. */
  provider?: Unusual;
  /** The provider's API; as documented if left out. */
  api?: ApiName;
  /** What the provider does where the sources leave it open. */
  world?: World;
  /** Additional operator flags. */
  flags?: readonly string[];
  /** Whether the operator reaches the provider only through an HTTP proxy. */
  isProxied?: true;
  /** Every order has to end without a person. */
  asksNobody?: true;
  act: (stage: Stage) => Promise<void>;
}

export type Unusual = (exchange: Exchange, forward: () => Promise<Answer>, stage: Stage) => Promise<Answer>;

const LOOK_MS = 5;
/** Number of polls of a task after which the result of the first one is recorded. */
const POLLS = 2;

const isPoll = ({ path }: Exchange): boolean => path.includes('/queue/vps/');

/** The first create gets a 503, which does not tell whether the provider acted on it; `acts` decides whether it did. */
function firstCreateFails(acts: boolean): Unusual {
  const seen = new WeakSet<Stage>();
  return async (exchange, forward, stage) => {
    if (!isOrder(exchange) || seen.has(stage)) return forward();
    seen.add(stage);
    if (acts) await forward();
    return jsonAnswer(503, {});
  };
}

/** The order fails while an object asks for this product. */
const soldOut = async (exchange: Exchange, forward: () => Promise<Answer>): Promise<Answer> => {
  if (!isOrder(exchange)) return forward();
  const { product } = JSON.parse(exchange.body) as { product?: string };
  return product === 'VPSX8' ? jsonAnswer(422, { message: 'sold out' }) : forward();
};

/** Holds every poll until the object is deleted, so the server has no name before. */
const namelessAtFirst: Unusual = async (exchange, forward, stage) => {
  const waits = (): boolean => stage.objects.all().some(({ metadata }) => metadata.deletionTimestamp === undefined);
  while (isPoll(exchange) && waits() && !exchange.isOver) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  return forward();
};

async function taskRuns(stage: Stage, name: string): Promise<void> {
  await stage.until(`the task of ${name} to be polled`, () => {
    const object = stage.objects.object(name);
    const task = object && recordOf(object)?.task;
    const isPolled = task !== undefined && stage.panel.polls(task) >= POLLS;
    // If the answer was lost, either the server is looked for, or a person has to resolve the order, and it exists by then.
    return isPolled || (object && stage.panel.isLookedFor(object)) === true || stage.reason(name) === 'Available';
  });
}

async function unknown(stage: Stage): Promise<void> {
  stage.peopleLook = false;
  await begin(stage);
  await stage.people.apply('web');
  await stage.reaches('web', 'CreateOutcomeUnknown');
}

const DOCUMENTED: Readonly<Record<string, Scenario>> = {
  life: {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'deleted-during-task': {
    async act(stage) {
      stage.tasksEnd = false;
      await begin(stage);
      await stage.people.apply('web');
      await taskRuns(stage, 'web');
      await stage.people.remove('web');
      stage.tasksEnd = true;
      await stage.gone('web');
    },
  },
  'deleted-before-create': {
    async act(stage) {
      await stage.start();
      await stage.people.apply('web');
      await stage.reaches('web', 'SecretNotFound');
      await removed(stage, 'web');
    },
  },
  adopted: {
    async act(stage) {
      const { identifier } = stage.simulator.fleet.addServer('default');
      await begin(stage);
      await stage.people.apply('web', {}, { [ADOPT_ANNOTATION]: identifier });
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'refused-then-fixed': {
    provider: soldOut,
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web', { product: 'VPSX8' });
      await stage.reaches('web', 'CreateRejected');
      await stage.people.edit('web', { spec: { product: 'VPSX16' } });
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'unknown-and-created': {
    provider: firstCreateFails(true),
    async act(stage) {
      await unknown(stage);
      stage.peopleLook = true;
      stage.caretaker.hasPlugin = true;
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'unknown-and-not-created': {
    provider: firstCreateFails(false),
    async act(stage) {
      await unknown(stage);
      stage.peopleLook = true;
      stage.caretaker.hasPlugin = true;
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'unknown-then-deleted': {
    provider: firstCreateFails(true),
    async act(stage) {
      await unknown(stage);
      await stage.people.remove('web');
      stage.peopleLook = true;
      await stage.gone('web');
    },
  },
  'unknown-then-deleted-not-created': {
    provider: firstCreateFails(false),
    async act(stage) {
      await unknown(stage);
      await stage.people.remove('web');
      stage.peopleLook = true;
      await stage.gone('web');
    },
  },
  retained: {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web', { deletionPolicy: 'Retain' });
      await stage.rests('web');
      stage.retained.add(stage.objects.object('web')?.spec.sshKeys?.join('\n'));
      await removed(stage, 'web');
    },
  },
  'retained-during-task': {
    provider: namelessAtFirst,
    async act(stage) {
      stage.tasksEnd = false;
      await begin(stage);
      await stage.people.apply('web', { deletionPolicy: 'Retain' });
      // A process that was killed in between polls first and reports afterwards.
      const isPolled = (): boolean => stage.traffic.labels.some((label) => label.startsWith('provider:GET-task'));
      const reasons = ['Creating', 'Available'];
      await stage.until('the task to be known', () => reasons.includes(stage.reason('web') ?? '') || isPolled());
      stage.retained.add(stage.objects.object('web')?.spec.sshKeys?.join('\n'));
      stage.tasksEnd = true;
      await removed(stage, 'web');
    },
  },
  'key-rotated-during-task': {
    async act(stage) {
      stage.tasksEnd = false;
      await begin(stage);
      await stage.people.apply('web');
      await taskRuns(stage, 'web');
      stage.simulator.accounts.rotateKey(DEFAULT_KEY.keyId, 'another-secret-of-this-key');
      stage.simulator.accounts.forgetTokens();
      // Timing decides whether the operator notices the changed Secret before the old key is refused.
      await stage.reaches('web', 'InvalidCredentials');
      await stage.people.putSecret({ ...DEFAULT_KEY, secret: 'another-secret-of-this-key' });
      stage.tasksEnd = true;
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  proxied: {
    isProxied: true,
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'two-at-once': {
    async act(stage) {
      await begin(stage);
      await Promise.all([stage.people.apply('web'), stage.people.apply('db')]);
      await stage.rests('web');
      await stage.rests('db');
      await Promise.all([stage.people.remove('web'), stage.people.remove('db')]);
      await stage.gone('web');
      await stage.gone('db');
    },
  },
  protected: {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web', { deletionProtection: true });
      await stage.rests('web');
      await stage.people.remove('web');
      await stage.reaches('web', 'DeletionProtected');
      await stage.people.edit('web', { spec: { deletionProtection: false } });
      await stage.gone('web');
    },
  },
  ...CONNECTIONS,
  ...FEATURES,
  ...FORMATS,
  ...OBSERVED,
  ...SETS,
  ...WORSE,
};

/** Played with the public API too: what a 403, or the list of servers, says decides in each of them. */
const PUBLIC = [
  'life',
  'deleted-during-task',
  'adopted',
  'unknown-and-created',
  'lagging-reads',
  'cancelled-elsewhere',
];
/** Played with named orders too. */
const WITH_NAMES = [
  'life',
  'deleted-during-task',
  'refused-then-fixed',
  'retained-during-task',
  'lagging-reads',
  'two-at-once',
  'cancelled-elsewhere',
];

/** Played in each of the worlds. */
const IN_WORLDS = ['life', 'deleted-during-task'];
const IN_FAILING_WORLDS = ['named-failed-task', 'named-failed-task-deleted'];

/** The scenarios of these names, in another way, under a name with this beginning. */
const playedAgain = (
  scenarios: Readonly<Record<string, Scenario>>,
  prefix: string,
  names: readonly string[],
  way: Partial<Scenario>,
): Record<string, Scenario> =>
  Object.fromEntries(
    Object.entries(scenarios).flatMap(([name, scenario]) =>
      names.includes(name) ? [[`${prefix}-${name}`, { ...scenario, ...way }]] : [],
    ),
  );

const playedIn = (
  worlds: Readonly<Record<string, World>>,
  scenarios: Readonly<Record<string, Scenario>>,
  names: readonly string[],
): Record<string, Scenario> =>
  Object.assign(
    {},
    ...Object.entries(worlds).map(([name, world]) => playedAgain(scenarios, name, names, { ...NAMED, world })),
  ) as Record<string, Scenario>;

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  ...DOCUMENTED,
  ...playedAgain(DOCUMENTED, 'public', PUBLIC, ANONYMOUS),
  ...playedAgain(DOCUMENTED, 'named', WITH_NAMES, NAMED),
  ...PUBLIC_SERVICE,
  ...NAMED_ORDERS,
  ...playedIn(WORLDS, DOCUMENTED, IN_WORLDS),
  ...playedIn(FAILING_WORLDS, PUBLIC_SERVICE, IN_FAILING_WORLDS),
};

/** See `Part.situationAt`. */
export function situationAt(name: string, label: string, before: readonly string[]): string {
  const { api, world, flags, isProxied, provider } = SCENARIOS[name] ?? {};
  const setting = JSON.stringify([api, world, flags, isProxied]);
  // No object's fate depends on the answer.
  if (!isAboutState(label)) return `${setting} ${label}`;
  const past = before.filter(isAboutState);
  // The labels do not tell what an object has been through that was there before the operator, what is unusual about an answer, or
  // what was edited.
  const isEdited = [...past, label].some((one) => /[:+]edited\b/.test(one));
  const isTold = /:(fresh|none)\b/.test(past[0] ?? label) && provider === undefined && !isEdited;
  return [setting, isTold ? '' : name, label, ...[...new Set(past)].sort()].join(' ');
}
