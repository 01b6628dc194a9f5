/** What a person can do about a reason, as commands to copy. Pure; docs/operations.md says the same at length. */
import {
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  RECORD_ANNOTATION,
  START_ANEW_ANNOTATION,
} from '../../api/names.ts';
import { parseRecord, type ServerRecord } from '../../api/record.ts';
import type { Reason } from '../../api/conditions.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { orphanName } from '../../decision/inputs.ts';
import { paused, readiness, stalled } from './readiness.ts';
import { quoted } from './terminal.ts';

/** What the operator wrote down about the server; the annotation counts, the mirror in status where it is lost. */
export function recordOf({ metadata, status }: VirtualServer): ServerRecord | undefined {
  const parsed = parseRecord(metadata.annotations?.[RECORD_ANNOTATION]);
  return (parsed.ok ? parsed.record : undefined) ?? status?.record;
}

type Steps = (object: VirtualServer, where: string) => string[];

const resolveBothWays: Steps = ({ metadata }, where) => [
  `kubectl vps resolve ${metadata.name}${where} --adopt <identifier>   # there is a server`,
  `kubectl vps resolve ${metadata.name}${where} --not-created          # there is none`,
];
const adopt: Steps = ({ metadata }, where) => [`kubectl vps adopt ${metadata.name}${where} <identifier>`];
/** A server that is adopted, and was never seen, may have been named wrongly. */
const misnamed: Steps = (object, where) =>
  object.metadata.annotations?.[ADOPT_ANNOTATION] !== undefined && recordOf(object)?.identifier === undefined
    ? adopt(object, where)
    : [];
const edit: Steps = ({ metadata }, where) => [`kubectl edit vps ${metadata.name}${where}`];
const remove: Steps = ({ metadata }, where) => [`kubectl delete vps ${metadata.name}${where}`];
const secret: Steps = ({ spec }, where) => [
  `kubectl create secret generic ${spec.apiKeySecretRef.name}${where} --from-file=keyId --from-file=secret --dry-run=client -o yaml | kubectl apply${where} -f -   # from two files of these names`,
];

const secretNamed: Steps = ({ spec }) => [
  `# Secret ${spec.apiKeySecretRef.name}: let the operator read it, as docs/security.md says, or name another one in spec`,
];
const unprotect: Steps = ({ metadata }, where) => [
  `kubectl patch vps ${metadata.name}${where} --type merge -p '{"spec":{"deletionProtection":false}}'   # cancel the server`,
  `kubectl patch vps ${metadata.name}${where} --type merge -p '{"spec":{"deletionPolicy":"Retain"}}'   # leave it running`,
];
const startAnew: Steps = ({ metadata }, where) => [
  `kubectl annotate vps ${metadata.name}${where} ${START_ANEW_ANNOTATION}=${metadata.uid}   # order a new one`,
];
const lookAgain: Steps = ({ metadata }, where) => [
  `kubectl annotate --overwrite vps ${metadata.name}${where} ${RECONCILE_AT_ANNOTATION}="$(date)"   # when it is mended`,
];

/** Where the cause lies outside of the cluster, or in what only a person can judge. */
const say =
  (...words: string[]): Steps =>
  () =>
    words.map((line) => `# ${line}`);

const both =
  (...all: Steps[]): Steps =>
  (object, where) =>
    all.flatMap((steps) => steps(object, where));

const STEPS: Partial<Record<Reason, Steps>> = {
  CreateOutcomeUnknown: resolveBothWays,
  TaskNotFound: resolveBothWays,
  InvalidSpec: edit,
  ServerLimit: say('delete a server of the namespace, or raise --max-servers-per-namespace'),
  JournalUnavailable: say('free space in --journal-dir of the operator, or make it writable'),
  CreateRejected: both(edit, lookAgain),
  SSHKeyNotFound: edit,
  SecretNotFound: secret,
  SecretInvalid: secret,
  SecretForbidden: secretNamed,
  InvalidCredentials: secret,
  Unauthorized: both(say('let all requests leave from one address, and check --base-url and --auth-url'), lookAgain),
  ProviderProtocolError: both(
    say('check --base-url and --auth-url: a proxy or a login page may answer in place of the service'),
    lookAgain,
  ),
  ServerMissing: remove,
  ServerNotVisible: both(
    misnamed,
    say('restore the key and the --base-url that the server was seen with'),
    secret,
    lookAgain,
  ),
  Expired: (object, where) => (recordOf(object)?.expiredAt === undefined ? both(edit, remove) : remove)(object, where),
  IdentifierInUse: ({ metadata }, where) => [
    `kubectl patch vps ${metadata.name}${where} --type merge -p '{"spec":{"deletionPolicy":"Retain"}}'`,
    `kubectl delete vps ${metadata.name}${where}`,
  ],
  AdoptInvalid: adopt,
  RecordInvalid: say('put the earlier text back; that is for an administrator:', 'docs/operations.md#recordinvalid'),
  RecordConflict: say('correct the annotation; that is for an administrator:', 'docs/operations.md#recordconflict'),
  RecordMissing: both(adopt, say('without a server: docs/operations.md#recordmissing')),
  RecordMismatch: both(adopt, startAnew),
  DeletionProtected: unprotect,
};

/** For a reason that takes more words than fit here. */
function runbook(reason: string): string {
  return `# docs/operations.md#${reason.toLowerCase()}`;
}

/**
 * Commands, the likeliest first, and words behind `#` where no command can help; empty where nothing is to be done.
 * `where`: flags such as ` -n team`.
 */
export function nextSteps(object: VirtualServer, where: string): string[] {
  const { name } = object.metadata;
  const reason = stalled(object)?.reason ?? readiness(object).reason;
  const steps = STEPS[reason as Reason]?.(object, where) ?? (stalled(object) ? [runbook(reason)] : []);
  if (paused(object)) {
    steps.unshift(`kubectl annotate vps ${name}${where} ${PAUSED_ANNOTATION}-`);
  }
  const orphans = recordOf(object)?.orphans ?? [];
  if (orphans.length > 0) {
    const handled = quoted(orphans.map(orphanName).join(','));
    steps.push(
      `kubectl annotate --overwrite vps ${name}${where} ${ORPHAN_HANDLED_ANNOTATION}=${handled}   # once cancelled`,
    );
  }
  return steps;
}

/** The annotation that says: somebody looked, and this attempt created nothing. */
export function notCreated(attempt: string): Record<string, string> {
  return { [NOT_CREATED_ANNOTATION]: attempt };
}
