/** Suggests commands for a reason, ready to paste, and names the page that explains them at length. Pure. */
import {
  ADOPT_ANNOTATION,
  ALLOW_DELETION_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  SET_SHORT_NAME,
  START_OVER_ANNOTATION,
} from '../../api/names.ts';
import type { Reason } from '../../api/conditions.ts';
import { DOCUMENTATION, pageOf, reasonPage } from '../../api/documentation.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { annotationMeant, orphanName, unknownAnnotations } from '../../virtual-server/decision/inputs.ts';
import { retainedSpec } from '../../virtual-server/decision/commands.ts';
import { heldServer, orderOf, recordOf, unseenServer, type OrderState } from './order.ts';
import { NOT_REPORTED, paused, readiness, stalled } from './readiness.ts';
import { setOf } from './set-members.ts';
import { isPlain, quoted } from '../../base/text.ts';

/** Where deploy/manifests installs the operator. */
const OPERATOR_NAMESPACE = 'vps-operator-system';
const OPERATOR_LABEL = 'app.kubernetes.io/name=vps-operator';

type Steps = (object: VirtualServer, where: string) => string[];

const resolveBothWays: Steps = ({ metadata }, where) => [
  `kubectl vps resolve ${metadata.name}${where} --adopt IDENTIFIER   # there is a server`,
  `kubectl vps resolve ${metadata.name}${where} --not-created        # there is none`,
];
const resolveNone: Steps = (object, where) => resolveBothWays(object, where).slice(1);
const adopt: Steps = ({ metadata }, where) => [`kubectl vps adopt ${metadata.name}${where} IDENTIFIER`];
const adoptRestored: Steps = (_object, where) => [
  `kubectl vps adopt --from-record --all${where}   # all restored objects of the namespace`,
];
/** The identifier of an adopted server that the operator has never seen may be mistyped. */
const misnamed: Steps = (object, where) =>
  object.metadata.annotations?.[ADOPT_ANNOTATION] !== undefined && heldServer(object) === undefined
    ? adopt(object, where)
    : [];
const gone: Steps = (object, where) =>
  unseenServer(object) === undefined
    ? []
    : [`kubectl vps resolve ${object.metadata.name}${where} --gone   # you checked: the server no longer exists`];
/**
 * Only the message knows the word that accepts what the provider shows. The provider chose a part of the word: one that the
 * message quotes for the shell is not copied.
 */
const accept: Steps = (object, where) => {
  const { message } = stalled(object) ?? readiness(object);
  const [, word] = / (vps-operator\.dev\/accept-server=[^\s`']+)`/.exec(message) ?? [];
  const { name } = object.metadata;
  return word !== undefined && isPlain(word)
    ? [`kubectl annotate --overwrite vps ${name}${where} ${word}   # you are sure that it is the right one`]
    : [`# if you are sure that it is the right one: the command that kubectl describe vps ${name}${where} shows`];
};
const editOwn: Steps = ({ metadata }, where) => [`kubectl edit vps ${metadata.name}${where}`];
/** A set would replace a member whose spec differs from its template. */
const edit: Steps = (object, where) => {
  const set = setOf(object);
  return set === undefined
    ? editOwn(object, where)
    : [`kubectl edit ${SET_SHORT_NAME} ${quoted(set.name)}${where}   # the template of its set`];
};
const remove: Steps = (object, where) => [
  `kubectl delete vps ${object.metadata.name}${where}${setOf(object) === undefined ? '' : '   # its set orders a replacement'}`,
];
const secret: Steps = ({ spec }, where) => [
  `kubectl create secret generic ${spec.apiKeySecretRef.name}${where} --from-file=keyId --from-file=secret --dry-run=client -o yaml | kubectl apply${where} -f -   # reads the files keyId and secret`,
];

const secretNamed: Steps = ({ spec }) => [
  `# let the operator read Secret ${spec.apiKeySecretRef.name}, or set spec.apiKeySecretRef to another one: ${DOCUMENTATION}/concepts/security.md`,
];
const unprotect: Steps = ({ metadata }, where) => [
  `kubectl patch vps ${metadata.name}${where} --type merge -p '{"spec":{"deletionProtection":false}}'   # cancel the server`,
];
const keepServer = (object: VirtualServer, where: string): string =>
  `kubectl patch vps ${object.metadata.name}${where} --type merge -p '${JSON.stringify({ spec: retainedSpec(object) })}'`;
/** Not while an order is open: the server that would be left running is still unknown. */
const retain: Steps = (object, where) =>
  recordOf(object)?.attempt !== undefined && heldServer(object) === undefined
    ? []
    : [`${keepServer(object, where)}   # keep the server running`];
/** Only the message names the definition. One that is missing cannot be annotated. */
const allowDeletion: Steps = (object, where) => {
  const { message } = stalled(object) ?? readiness(object);
  const [, definition] = /`kubectl annotate crd (\S+) /.exec(message) ?? [];
  return definition === undefined
    ? ['# install the CustomResourceDefinition again   # cancel the servers of all sets']
    : [`kubectl annotate crd ${definition}${where} ${ALLOW_DELETION_ANNOTATION}=true   # cancel all servers`];
};
const correctAnnotations: Steps = ({ metadata }, where) => {
  const unknown = unknownAnnotations(metadata);
  const removed = unknown.map((name) => `${name}-`).join(' ');
  return [
    ...unknown.flatMap((wrong) => {
      const right = annotationMeant(wrong);
      if (right === undefined) return [];
      return [`kubectl annotate --overwrite vps ${metadata.name}${where} ${right}=VALUE ${wrong}-   # you meant this`];
    }),
    `kubectl annotate vps ${metadata.name}${where} ${removed}   # order a server`,
  ];
};
const startOver: Steps = ({ metadata }, where) => [
  `kubectl annotate vps ${metadata.name}${where} ${START_OVER_ANNOTATION}=${metadata.uid}   # order a new server`,
];
const letGo: Steps = (object, where) => [
  `kubectl annotate vps ${object.metadata.name}${where} ${NOT_CREATED_ANNOTATION}=${object.metadata.uid}   # there is no server`,
  ...(object.metadata.deletionTimestamp === undefined ? remove(object, where) : []),
];
const lookAgain: Steps = ({ metadata }, where) => [
  `kubectl annotate --overwrite vps ${metadata.name}${where} ${RECONCILE_AT_ANNOTATION}="$(date)"   # retry, once it is fixed`,
];

/** Advice where no command helps: the cause is outside of the cluster, or only the user can judge it. */
const say =
  (...words: string[]): Steps =>
  () =>
    words.map((line) => `# ${line}`);

/** How to find out why the operator has not reported; the object itself does not show it. */
export const findOut = ({ metadata }: Pick<VirtualServer, 'metadata'>, where: string): string[] => [
  `kubectl get events${where} --field-selector involvedObject.uid=${metadata.uid}`,
  `kubectl logs${where} -n ${OPERATOR_NAMESPACE} -l ${OPERATOR_LABEL} --tail=50   # change -n if the operator runs in another namespace`,
];

const both =
  (...all: Steps[]): Steps =>
  (object, where) =>
    all.flatMap((steps) => steps(object, where));

const restoreKey = both(
  say('restore the API key and the --base-url with which the server was last seen'),
  secret,
  lookAgain,
);

const STEPS: Partial<Record<string, Steps>> = {
  [NOT_REPORTED]: findOut,
  CreateOutcomeUnknown: resolveBothWays,
  TaskNotFound: resolveBothWays,
  InvalidSpec: edit,
  ServerLimit: say('delete a server in the namespace, or raise --max-servers-per-namespace'),
  JournalUnavailable: say("free up space in the operator's --journal-dir, or make it writable"),
  CreateRejected: both(edit, lookAgain),
  SSHKeyNotFound: edit,
  SecretNotFound: secret,
  SecretInvalid: secret,
  SecretForbidden: secretNamed,
  InvalidCredentials: secret,
  Unauthorized: both(say('send all requests from one IP address, and check --base-url and --auth-url'), lookAgain),
  ProviderProtocolError: both(
    say('check --base-url and --auth-url: a proxy or a login page may be answering instead of the provider'),
    lookAgain,
  ),
  ServerMissing: both(remove, gone),
  ServerNotVisible: both(misnamed, restoreKey, gone),
  AbsenceUnproven: gone,
  IdentityUnproven: both(restoreKey, accept, gone),
  Expired: (object, where) =>
    (recordOf(object)?.expiredAt === undefined ? both(editOwn, remove) : remove)(object, where),
  IdentifierInUse: (object, where) =>
    heldServer(object) === undefined ? adopt(object, where) : [keepServer(object, where), ...remove(object, where)],
  AdoptInvalid: adopt,
  UnknownAnnotation: correctAnnotations,
  RecordInvalid: say('ask an administrator to restore the earlier annotation'),
  RecordTooNew: say('run the newer version of the operator again'),
  RecordConflict: say('ask an administrator to correct the annotation'),
  RecordMissing: both(adopt, adoptRestored, letGo),
  RecordMismatch: both(adopt, adoptRestored, startOver),
  DeletionProtected: both(unprotect, retain),
  CancellationUnconfirmed: both(say("cancel the server in the provider's control panel"), retain),
  CRDDeleting: both(retain, allowDeletion),
} satisfies Partial<Record<Reason | typeof NOT_REPORTED | 'AbsenceUnproven' | 'IdentityUnproven', Steps>>;

/** Steps besides resolving the open order. None of them releases the object, since its server may exist. */
const OPEN_STEPS: Partial<Record<string, Steps>> = {
  CreateOutcomeUnknown: say(),
  TaskNotFound: say(),
  IdentifierInUse: say(),
  AdoptInvalid: say(),
  ServerNotVisible: restoreKey,
} satisfies Partial<Record<Reason, Steps>>;

function stepsFor(reason: string, order: OrderState): Steps | undefined {
  if (order.kind !== 'open') return STEPS[reason];
  // Once the task has named a server, the object cannot hold another one.
  const word = order.named === undefined ? resolveBothWays : resolveNone;
  return both(word, OPEN_STEPS[reason] ?? STEPS[reason] ?? say());
}

/** The page that the message points to, or else that of the reason; for a reason that only the plugin gives, its own page. */
export function more(reason: string, message = ''): string {
  const own = reason === NOT_REPORTED ? `${DOCUMENTATION}/reference/kubectl-plugin.md#status` : reasonPage(reason);
  return `# more: ${pageOf(message) ?? own}`;
}

/**
 * Commands, the likeliest first, advice after `#` where no command helps, and the page to read on; empty if there is
 * nothing to do. `where`: flags such as ` -n team`. `now`: ms since the epoch.
 */
export function nextSteps(object: VirtualServer, where: string, now: number): string[] {
  const { name } = object.metadata;
  const reason = stalled(object)?.reason ?? readiness(object).reason;
  const steps = stepsFor(reason, orderOf(object, now))?.(object, where) ?? [];
  /** The reasons with something to do, the most urgent first. */
  const about = steps.length > 0 || stalled(object) ? [reason] : [];
  if (paused(object)) {
    steps.unshift(`kubectl annotate vps ${name}${where} ${PAUSED_ANNOTATION}-`);
    about.push('Paused');
  }
  const orphans = recordOf(object)?.orphans ?? [];
  if (orphans.length > 0) {
    const handled = quoted(orphans.map(orphanName).join(','));
    steps.push(
      `kubectl annotate --overwrite vps ${name}${where} ${ORPHAN_HANDLED_ANNOTATION}=${handled}   # after you cancelled the orphans`,
    );
    about.push('OrphanedServer');
  }
  const [first] = about;
  return first === undefined ? [] : [...steps, more(first)];
}
