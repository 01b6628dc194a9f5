/** Scenarios with the public API, where a 403 may deny a server or a right; added to those in `scenarios.ts`. */
import { REBOOT_ANNOTATION, RECONCILE_AT_ANNOTATION } from '../../src/api/names.ts';
import { mayBeChanging } from '../../src/api/ordered-fields.ts';
import { KubeError } from '../../src/kube/error.ts';
import { recordOf } from '../fixtures/records.ts';
import { begin, removed } from './acts.ts';
import { isProvable } from './caretaker.ts';
import { jsonAnswer } from './exchange.ts';
import { ANONYMOUS, NAMED } from './named.ts';
import { beginWith, emptied, settles } from './sets.ts';
import type { ServerObject } from '../../src/simulator/server-object.ts';
import type { Scenario, Unusual } from './scenarios.ts';
import type { Stage } from './stage.ts';

const TEXT = 'No host has room for this product';

/** Orders the server of `web`; its task names the server, and then fails. */
async function failedOrder(stage: Stage): Promise<void> {
  stage.caretaker.leaves = isProvable;
  stage.tasksEnd = false;
  await begin(stage);
  await stage.people.apply('web');
  const first = () => stage.simulator.ledger.creates()[0];
  await stage.until('the task to name its server', () => isFollowed(stage));
  // A fault may have lost the answer to the order, and a person has resolved the order.
  const { task = 0 } = first() ?? {};
  if (stage.simulator.aliveServers().some(({ state, task: own }) => own === task && state === 'creating'))
    stage.simulator.fleet.failTask(task, { text: TEXT });
}

/** The operator polls the task, looks for the server, or asks. */
function isFollowed(stage: Stage): boolean {
  const { simulator, panel, objects } = stage;
  const [first] = simulator.ledger.creates();
  const object = objects.object('web');
  if (first === undefined || object === undefined) return false;
  return panel.polls(first.task) > 0 || panel.isLookedFor(object) || stage.reason('web') === 'CreateOutcomeUnknown';
}

/** Each order but the last has failed, and the object remembers those whose server it has known. */
function checkFates(stage: Stage): void {
  const fates = stage.simulator.fleet.history().map(({ state }) => state);
  if (fates.join() !== 'failed,running') stage.violations.push(`the servers that were ordered are ${fates.join()}`);
  const [first, second] = stage.simulator.ledger.creates();
  const object = stage.objects.object('web');
  const { failed = [] } = (object && recordOf(object)) ?? {};
  const isRemembered = failed.some(({ identifier }) => identifier === first?.identifier);
  const isAnswered = stage.caretaker.hasAnswered;
  // Without an answer to an order under an identifier, nothing tells that it has failed, and it is sent again.
  const isRepeated = second?.identifier === first?.identifier;
  if (!isRemembered && !isAnswered && !isRepeated) stage.violations.push('the record has lost the order that failed');
}

/** The object says what came of its restart, even if that is unknown, or that it comes later by the clock of its operator. */
function hasOutcome({ objects, hasLateClock }: Stage): boolean {
  const { conditions = [] } = objects.object('web')?.status ?? {};
  return conditions.some(({ type, reason }) => type === 'Rebooted' && (hasLateClock || reason !== 'RebootPending'));
}

/** Whatever was lost, the server did not restart twice. */
function checkRestarts({ simulator, violations }: Stage): void {
  const { length } = simulator.ledger.power({ call: 'reboot' });
  if (length > 1) violations.push(`the server was restarted ${length} times`);
}

/** Changes `web` in place, once its server is Ready. */
async function changed(stage: Stage, spec: object): Promise<void> {
  await begin(stage);
  await stage.people.apply('web');
  await stage.rests('web');
  await stage.people.edit('web', { spec });
}

/** The provider refuses each change of a server. */
const noRoomForChanges: Unusual = async ({ method }, forward) =>
  method === 'PATCH' ? jsonAnswer(400, { message: TEXT }) : forward();

const pendingIn = ({ objects }: Stage): string | undefined =>
  objects.object('web')?.status?.conditions?.find(({ type }) => type === 'ChangePending')?.reason;

const isDone = (edit: Promise<void>): Promise<boolean> =>
  edit.then(
    () => true,
    (error: unknown) => {
      if (error instanceof KubeError && error.code === 'Invalid') return false;
      throw error;
    },
  );

/**
 * Waits until the server is as spec says, runs, and the record is clear. `isStopped`: the server is shut down for the change. If that
 * request was lost, the operator watches the server for a quarter of an hour, longer than a plan lasts.
 */
async function agrees(
  stage: Stage,
  is: (server: ServerObject) => boolean,
  { name = 'web', isStopped = false }: { name?: string; isStopped?: boolean } = {},
): Promise<void> {
  await stage.until('the server to be as spec says', () => {
    const object = stage.objects.object(name);
    const record = object && recordOf(object);
    const [account = 'default'] = stage.simulator.aliveServers().map((server) => server.account);
    const server = stage.simulator.fleet.find(account, record?.identifier ?? '')?.object;
    const isTold = object?.status?.conditions?.some(({ type }) => type === 'ChangePending') === true;
    const isOver = (record?.change === undefined && !isTold) || (isStopped && record?.change?.phase === 'start');
    return server?.status === 'running' && is(server) && isOver;
  });
  await stage.rests(name);
}

/** A server of the set that was replaced would be an order for nothing. */
function checkMembers({ objects, violations }: Stage, members: readonly string[]): void {
  const names = objects.all().map(({ metadata }) => metadata.name);
  if (names.toSorted().join() !== members.join()) violations.push(`the members of the set are ${names.join()}`);
}

const BASE: Readonly<Record<string, Scenario>> = {
  change: {
    async act(stage) {
      await changed(stage, { changePolicy: 'Online', product: 'VPSX8', diskSize: 20480 });
      await agrees(stage, ({ product, specs }) => product === 'VPSX8' && specs.disk_size === 20480);
      const { power, changes } = { power: stage.simulator.ledger.power(), changes: stage.simulator.ledger.changes() };
      if (power.length > 0) stage.violations.push('a server was stopped without AllowStop');
      if (changes.length === 0) stage.violations.push('no change was sent');
      await removed(stage, 'web');
    },
  },
  'change-stop': {
    async act(stage) {
      await changed(stage, { changePolicy: 'AllowStop', advanced: { tablet: false } });
      await agrees(stage, ({ tablet }) => tablet === false, { isStopped: true });
      await removed(stage, 'web');
    },
  },
  'change-taken-back': {
    async act(stage) {
      await changed(stage, { changePolicy: 'AllowStop', advanced: { tablet: false } });
      // Whatever was begun, the server runs in the end.
      await stage.until('the change to begin', () => stage.simulator.ledger.power().length > 0);
      await stage.people.edit('web', { spec: { changePolicy: 'Online' } });
      await stage.until('the server to run', () => {
        const object = stage.objects.object('web');
        const { identifier = '', change } = (object && recordOf(object)) ?? {};
        const server = stage.simulator.fleet.find('default', identifier)?.object;
        // The operator may still watch whether the server shuts down.
        return server?.status === 'running' && change?.phase !== 'stop';
      });
      await removed(stage, 'web');
    },
  },
  'change-goes-back': {
    provider: noRoomForChanges,
    async act(stage) {
      await changed(stage, { changePolicy: 'Online', product: 'VPSX8' });
      await stage.until('the provider to refuse the change', () => pendingIn(stage) === 'ChangeRefused');
      await stage.people.viewOf('web');
      const object = stage.objects.object('web');
      const back = stage.people.edit('web', { spec: { product: 'VPSX4', changePolicy: null } });
      // A request without an answer may still have an effect, for longer than a plan lasts.
      if (object !== undefined && mayBeChanging(object)) {
        if (await isDone(back)) stage.violations.push('spec went back while a request may still have an effect');
      } else {
        await back;
        await agrees(stage, ({ product }) => product === 'VPSX4');
      }
      if (stage.simulator.ledger.changes().length > 0) stage.violations.push('a change was made that was refused');
      await removed(stage, 'web');
    },
  },
  'set-change': {
    async act(stage) {
      const members = ['web-0', 'web-1'];
      await beginWith(stage, members, { changePolicy: 'Online' });
      await stage.people.editSet({ template: { spec: { product: 'VPSX8' } } });
      for (const member of members) await agrees(stage, ({ product }) => product === 'VPSX8', { name: member });
      await settles(stage, 2);
      checkMembers(stage, members);
      if (stage.simulator.ledger.power().length > 0) stage.violations.push('a server was stopped without AllowStop');
      await emptied(stage);
    },
  },
  'set-change-stop': {
    async act(stage) {
      await beginWith(stage, ['web-0'], { changePolicy: 'AllowStop' });
      const strategy = { rollingUpdate: { maxUnavailable: 1 } };
      await stage.people.editSet({ strategy, template: { spec: { advanced: { tablet: false } } } });
      await agrees(stage, ({ tablet }) => tablet === false, { name: 'web-0', isStopped: true });
      checkMembers(stage, ['web-0']);
      await emptied(stage);
    },
  },
  'failed-task': {
    async act(stage) {
      await failedOrder(stage);
      stage.tasksEnd = true;
      await stage.reaches('web', 'CreateBackOff', 'Available');
      await stage.people.edit('web', { annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } });
      await stage.rests('web');
      checkFates(stage);
      await removed(stage, 'web');
    },
  },
  'failed-task-deleted': {
    async act(stage) {
      await failedOrder(stage);
      await stage.people.remove('web');
      stage.tasksEnd = true;
      await stage.gone('web');
    },
  },
  power: {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      await stage.people.edit('web', { spec: { power: 'Off' } });
      await stage.reaches('web', 'PoweredOff');
      await stage.people.edit('web', { spec: { power: 'On' } });
      await stage.rests('web');
      await stage.people.edit('web', { annotations: { [REBOOT_ANNOTATION]: new Date().toISOString() } });
      await stage.until('the outcome of the restart', () => hasOutcome(stage));
      await stage.people.edit('web', { spec: { power: 'Dormant' } });
      await stage.reaches('web', 'Dormant');
      await removed(stage, 'web');
      checkRestarts(stage);
    },
  },
  'rights-lost': {
    async act(stage) {
      const { accounts } = stage.simulator;
      await begin(stage);
      await Promise.all([stage.people.apply('web'), stage.people.apply('db')]);
      await stage.rests('web');
      await stage.rests('db');
      // Single servers look as if they did not exist.
      accounts.restrict({ account: 'default' }, 'hidden');
      await stage.people.remove('web');
      await stage.reaches('web', 'PermissionDenied');
      await stage.reaches('db', 'PermissionDenied');
      accounts.permit({ account: 'default' });
      for (const name of ['web', 'db'])
        await stage.people.edit(name, { annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } });
      await stage.gone('web');
      await stage.rests('db');
      await removed(stage, 'db');
    },
  },
};

export const PUBLIC_SERVICE: Readonly<Record<string, Scenario>> = Object.fromEntries<Scenario>(
  Object.entries(BASE).flatMap(([name, scenario]) => [
    [`public-${name}`, { ...scenario, ...ANONYMOUS }],
    [`named-${name}`, { ...scenario, ...NAMED }],
  ]),
);
