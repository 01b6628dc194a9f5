/** What a person can do about a reason, as commands to copy. Pure; docs/operations.md says the same at length. */
import {
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
  START_ANEW_ANNOTATION,
} from '../../api/names.ts';
import { parseRecord, type ServerRecord } from '../../api/record.ts';
import type { Reason } from '../../api/conditions.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { conditionOf, readiness, stalled } from './readiness.ts';

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
const edit: Steps = ({ metadata }, where) => [`kubectl edit vps ${metadata.name}${where}`];
const remove: Steps = ({ metadata }, where) => [`kubectl delete vps ${metadata.name}${where}`];
const secret: Steps = ({ spec }, where) => [
  `kubectl create secret generic ${spec.apiKeySecretRef.name}${where} --from-file=keyId --from-file=secret --dry-run=client -o yaml | kubectl apply${where} -f -`,
];

const STEPS: Partial<Record<Reason, Steps>> = {
  CreateOutcomeUnknown: resolveBothWays,
  TaskNotFound: resolveBothWays,
  InvalidSpec: edit,
  CreateRejected: edit,
  SSHKeyNotFound: edit,
  SecretNotFound: secret,
  SecretInvalid: secret,
  InvalidCredentials: secret,
  ServerMissing: remove,
  IdentifierInUse: ({ metadata }, where) => [
    `kubectl patch vps ${metadata.name}${where} --type merge -p '{"spec":{"deletionPolicy":"Retain"}}'`,
    `kubectl delete vps ${metadata.name}${where}`,
  ],
  AdoptInvalid: adopt,
  RecordMissing: adopt,
  RecordMismatch: (object, where) => [
    ...adopt(object, where),
    `kubectl annotate vps ${object.metadata.name}${where} ${START_ANEW_ANNOTATION}=${object.metadata.uid}   # order a new one`,
  ],
  DeletionProtected: ({ metadata }, where) => [
    `kubectl patch vps ${metadata.name}${where} --type merge -p '{"spec":{"deletionProtection":false}}'`,
  ],
};

/** Commands, the likeliest first; empty where nothing is to be done. `where`: flags such as ` -n team`. */
export function nextSteps(object: VirtualServer, where: string): string[] {
  const { name } = object.metadata;
  const reason = stalled(object)?.reason ?? readiness(object).reason;
  const steps = STEPS[reason as Reason]?.(object, where) ?? [];
  if (conditionOf(object, 'Paused')?.status === 'True') {
    steps.unshift(`kubectl annotate vps ${name}${where} ${PAUSED_ANNOTATION}-`);
  }
  const orphans = recordOf(object)?.orphans ?? [];
  if (orphans.length > 0) {
    const handled = orphans.map(({ task, attempt }) => task ?? attempt).join(',');
    steps.push(`kubectl annotate vps ${name}${where} ${ORPHAN_HANDLED_ANNOTATION}=${handled}   # once cancelled`);
  }
  return steps;
}

/** The annotation that says: somebody looked, and this attempt created nothing. */
export function notCreated(attempt: string): Record<string, string> {
  return { [NOT_CREATED_ANNOTATION]: attempt };
}
