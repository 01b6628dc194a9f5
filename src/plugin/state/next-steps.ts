/** Suggests commands for a reason, ready to paste, and names the page that explains them at length. Pure. */
import { commandLine, withComment, type Command, type Advice } from '../../controller/commands.ts';
import type { AnyReason } from '../../api/conditions.ts';
import { DOCUMENTATION, reasonPage } from '../../api/documentation.ts';
import {
  ADOPT_ANNOTATION,
  CANCEL_NOW_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  OPERATOR_LABELS,
  OPERATOR_NAMESPACE,
  PAUSED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  SET_SHORT_NAME,
  USER_DATA_SECRET_TYPE,
} from '../../api/names.ts';
import { isLetGo } from '../../api/server-state.ts';
import { subjectOf, userDataSourceOf, type UserDataSource } from '../../api/user-data.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { quoted } from '../../base/text.ts';
import { adviceOn, resolveSteps, type Case } from '../../virtual-server/decision/advice.ts';
import { knownRecord } from '../../virtual-server/decision/known-record.ts';
import { loginCommand } from './login-command.ts';
import { heldServer, orderOf, unseenServer, type OrderState } from './recorded-order.ts';
import { NOT_REPORTED, paused, serverReadiness, stalled } from './readiness.ts';
import { setArgument, setOf } from './set-members.ts';

/** How to find out why the operator has not reported; the object itself does not show it. */
export const findOut = ({ metadata }: Pick<VirtualServer, 'metadata'>, where: string): string[] => [
  `kubectl get events${where} --field-selector involvedObject.uid=${metadata.uid}`,
  `kubectl logs${where} -n ${OPERATOR_NAMESPACE} -l ${OPERATOR_LABELS} --tail=50   # change -n if the operator runs in another namespace`,
];

type Lines = (object: VirtualServer, where: string) => string[];

const lookAgain: Lines = ({ metadata }, where) => [
  `kubectl annotate --overwrite vps ${metadata.name}${where} ${RECONCILE_AT_ANNOTATION}="$(date)"   # retry, once it is fixed`,
];
const secret: Lines = ({ spec }, where) => [
  `${loginCommand(where, spec.apiKeySecretRef.name)}   # asks for the key ID and the secret, checks and stores them`,
];
const restoreKey: Lines = (object, where) => [...secret(object, where), ...lookAgain(object, where)];
const adoptRestored: Lines = (_object, where) => [
  `kubectl vps adopt --from-record --all${where}   # all restored objects of the namespace`,
];

/** A member of a set ends as the template of the set says. */
const extend: Lines = (object, where) =>
  setOf(object) === undefined
    ? [`kubectl vps extend ${object.metadata.name}${where} --expires-at TIME   # to set a later end`]
    : [];

const undelete: Lines = ({ metadata }, where) => [
  `kubectl vps undelete ${metadata.name}${where}   # to take the deletion back`,
];

/** The garbage collector removes its own finalizers. */
const OF_COLLECTOR = ['foregroundDeletion', 'orphan'];

/** Takes every finalizer away, so only for an object that the operator has let go, and that names no server that may exist. */
const removeFinalizers: Lines = (object, where) => {
  const { name, uid, finalizers = [] } = object.metadata;
  const foreign = finalizers.filter((finalizer) => !OF_COLLECTOR.includes(finalizer));
  if (!isLetGo(object) || foreign.length === 0 || object.status?.record !== undefined) return [];
  const test = `{"op":"test","path":"/metadata/uid","value":"${uid}"}`;
  return [
    `kubectl patch vps ${name}${where} --type json -p '[${test},{"op":"remove","path":"/metadata/finalizers"}]'   # only if no controller will remove ${foreign.join(', ')}`,
  ];
};

const correctSpec: Lines = (object, where) => [
  lineOf({ text: 'To correct spec', command: { verb: 'edit' } }, object, where),
];

const createUserData: Lines = (object, where) => {
  const { userDataFrom } = object.spec;
  if (userDataFrom === undefined) return [];
  const source = userDataSourceOf(userDataFrom);
  const { kind, name, key } = source;
  if (isThere(object, 'UserDataNotFound', source))
    return [`${keyCommand(source, where)}   # to put the user data into the ${kind}`];
  return kind === 'Secret'
    ? [`${userDataCommand(source, where)}   # to create the Secret with the user data`]
    : [
        `kubectl create configmap ${name}${where} --from-file=${key}=FILE   # to create the ConfigMap with the user data`,
      ];
};

/** Whether the operator has found the object that spec names, without a key in it that can be used. */
const isThere = (object: VirtualServer, reason: AnyReason, source: Omit<UserDataSource, 'kind'>): boolean =>
  subjectsOf(object, reason).includes(subjectOf(source, true));

const subjectsOf = ({ status }: VirtualServer, reason: AnyReason): (string | undefined)[] =>
  (status?.conditions ?? []).filter((condition) => condition.reason === reason).map(({ subject }) => subject);

/** Sets one key of an object that exists, and keeps the others. */
function keyCommand({ kind, name, key }: UserDataSource, where: string): string {
  const [type, made] = kind === 'Secret' ? ['secret', 'secret generic'] : ['configmap', 'configmap'];
  const body = `kubectl create ${made} ${name}${where} --from-file=${key}=FILE --dry-run=client -o yaml`;
  return `${body} | kubectl patch ${type} ${name}${where} --type merge --patch-file /dev/stdin`;
}

const userDataCommand = ({ name, key }: UserDataSource, where: string): string =>
  `kubectl create secret generic ${name}${where} --type=${USER_DATA_SECRET_TYPE} --from-file=${key}=FILE`;

/** One of several things that the operator may refuse in a spec. */
const replaceUserData: Lines = ({ spec: { userDataFrom } }, where) =>
  userDataFrom?.secretKeyRef === undefined
    ? []
    : [
        `${userDataCommand(userDataSourceOf(userDataFrom), where)}   # if the type of this Secret is wrong, once you have deleted the Secret`,
      ];

/** For the Secret that the reason is about; an earlier version of the operator does not tell which one that is. */
const createKeys: Lines = (object, where) => {
  const sources = (object.spec.sshKeysFrom ?? []).map((ref) => ({ kind: 'Secret' as const, ...ref }));
  const subjects = subjectsOf(object, 'SSHKeyNotFound');
  const named = sources.filter((source) => [true, false].some((there) => subjects.includes(subjectOf(source, there))));
  return (named.length === 0 ? sources : named).map((source) =>
    isThere(object, 'SSHKeyNotFound', source)
      ? `${keyCommand(source, where)}   # to put the SSH public keys into the Secret`
      : `kubectl create secret generic ${source.name}${where} --from-file=${source.key}=FILE   # to create the Secret with the SSH public keys`,
  );
};

/** The template of a set decides about the power of its members. */
const start: Lines = (object, where) => {
  const set = setOf(object);
  const name = set === undefined ? object.metadata.name : setArgument(set);
  return [`kubectl vps start ${name}${where}   # to switch ${set === undefined ? 'it' : 'the members of its set'} on`];
};

/** What the messages leave out: they are short, and their readers may not have the plugin. */
const MORE: Partial<Record<AnyReason | typeof NOT_REPORTED, Lines>> = {
  [NOT_REPORTED]: findOut,
  ChangeUnavailable: (object, where) =>
    setOf(object) === undefined
      ? [
          `kubectl vps replace ${object.metadata.name}${where}   # to order a new server as spec says, and cancel this one then`,
        ]
      : [],
  CreateRejected: lookAgain,
  Deleting: removeFinalizers,
  DeletionDelayed: undelete,
  DeletionProtected: (object, where) =>
    object.metadata.deletionTimestamp === undefined ? [] : undelete(object, where),
  ExpiresSoon: extend,
  SSHKeyNotFound: (object, where) => [...createKeys(object, where), ...correctSpec(object, where)],
  UserDataForbidden: correctSpec,
  UserDataNotFound: (object, where) => [...createUserData(object, where), ...correctSpec(object, where)],
  PoweredOff: start,
  Dormant: start,
  SecretNotFound: secret,
  SecretInvalid: secret,
  InvalidCredentials: secret,
  InvalidSpec: replaceUserData,
  Unauthorized: lookAgain,
  PermissionDenied: lookAgain,
  ProviderProtocolError: lookAgain,
  ServerMissing: (object, where) =>
    unseenServer(object) === undefined
      ? []
      : [`kubectl vps resolve ${object.metadata.name}${where} --gone   # you checked: the server no longer exists`],
  ServerNotVisible: restoreKey,
  IdentityUnproven: restoreKey,
  RecordMissing: adoptRestored,
  RecordMismatch: adoptRestored,
};

/** The step as a line to paste, with the commands of the plugin where it has its own. */
function lineOf({ text, command }: Advice, object: VirtualServer, where: string): string {
  if (command === undefined) return withComment(undefined, text);
  const set = setOf(object);
  if (command.verb === 'edit' && set !== undefined)
    return `kubectl edit ${SET_SHORT_NAME} ${quoted(set.name)}${where}   # the template of its set`;
  return withComment(ownCommand(command, object, where) ?? commandLine(command, object.metadata.name, where), text);
}

function ownCommand(command: Command, object: VirtualServer, where: string): string | undefined {
  const { name } = object.metadata;
  if (command.verb === 'unannotate' && command.annotations.join() === PAUSED_ANNOTATION)
    return `kubectl vps resume ${quoted(command.name ?? name)}${where}`;
  if (command.verb !== 'annotate') return undefined;
  const { attempt, identifier } = knownRecord(object) ?? {};
  switch (command.annotation) {
    case ADOPT_ANNOTATION:
      return attempt !== undefined && identifier === undefined
        ? `kubectl vps resolve ${name}${where} --adopt ${quoted(command.value)}`
        : `kubectl vps adopt ${name}${where} ${quoted(command.value)}`;
    case NOT_CREATED_ANNOTATION:
      return command.value === attempt ? `kubectl vps resolve ${name}${where} --not-created` : undefined;
    case CANCEL_NOW_ANNOTATION:
      return `kubectl vps cancel ${name}${where} --now`;
    case SERVER_GONE_ANNOTATION:
      // During other reasons, `resolve --gone` refuses the answer, which the operator takes from the annotation.
      return unseenServer(object) === undefined ? undefined : `kubectl vps resolve ${name}${where} --gone`;
    default:
      return undefined;
  }
}

/**
 * The steps as lines, without those that `resolve` and `adopt` would refuse: a status can be older than the order, and the order may then
 * still be answered. A text that only leads to such a command goes with it.
 */
function linesOf(steps: readonly Advice[], object: VirtualServer, where: string, order: OrderState): string[] {
  const { attempt } = knownRecord(object) ?? {};
  const isAwaited = order.kind === 'notYet';
  const isRefused = ({ command }: Advice): boolean => {
    if (command?.verb !== 'annotate') return false;
    if (command.annotation === ADOPT_ANNOTATION) return isAwaited || heldServer(object) !== undefined;
    return isAwaited && command.annotation === NOT_CREATED_ANNOTATION && command.value === attempt;
  };
  const kept = steps.filter((step) => !isRefused(step));
  const lines = (kept.length === steps.length ? kept : kept.filter(({ command }) => command !== undefined)).map(
    (step) => lineOf(step, object, where),
  );
  if (!isAwaited || kept.length === steps.length) return lines;
  return [`kubectl vps wait ${object.metadata.name}${where}   # the order may still be answered`, ...lines];
}

/** The page of the reason; for a reason that only the plugin gives, its own page. */
export function more(reason: string): string {
  return `# more: ${reason === NOT_REPORTED ? `${DOCUMENTATION}/reference/kubectl-plugin.md#status` : reasonPage(reason)}`;
}

/** The other conditions may have steps as well. */
const OF_READY = ['Ready', 'Reconciling', 'Stalled', 'Paused'];

/**
 * Commands, the likeliest first, advice after `#` where no command helps, and the page to read on; empty if there is
 * nothing to do. `where`: flags such as ` -n team`. `now`: ms since the epoch.
 */
export function nextSteps(object: VirtualServer, where: string, now: number): string[] {
  const { conditions = [] } = object.status ?? {};
  const verdict = stalled(object) ?? serverReadiness(object);
  const order = orderOf(object, now);
  const stepsOn = ({ reason, subject }: { reason: string; subject?: string }): string[] => {
    const about: Case = { object, record: knownRecord(object), subject, now };
    const open = order.kind === 'open' && reason === verdict.reason ? resolveSteps(about) : [];
    const lines = linesOf([...open, ...adviceOn(reason, about)], object, where, order);
    return [...lines, ...(MORE[reason as AnyReason]?.(object, where) ?? [])];
  };
  const others = conditions.filter((other) => !OF_READY.includes(other.type) && stepsOn(other).length > 0);
  const own = stepsOn(verdict);
  const pause = paused(object);
  const pauses = pause === undefined ? [] : [pause];
  /** The conditions with something to do, the most urgent first. */
  const [first] = [...(own.length > 0 || stalled(object) ? [verdict] : []), ...pauses, ...others];
  if (first === undefined) return [];
  // While the object is paused, nothing else has an effect.
  const steps = [...pauses.flatMap(stepsOn), ...own, ...others.flatMap(stepsOn)];
  return [...new Set(steps), more(first.reason)];
}
