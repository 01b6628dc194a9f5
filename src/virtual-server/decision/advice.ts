/**
 * What you can do about each reason. The message of a condition, the plugin and the documentation render these steps, so no
 * program has to read a message. Pure.
 */
import { annotate, unannotate, type Command, type Advice } from '../../controller/commands.ts';
import type { Reason } from '../../api/conditions.ts';
import { identifierProblem } from '../../api/identifier.ts';
import {
  ACCEPT_HOST_KEY_ANNOTATION,
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  CANCEL_NOW_ANNOTATION,
  HAND_OVER_ANNOTATION,
  HAND_OVER_MARK_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  SERVER_DEFINITION,
  SERVER_GONE_ANNOTATION,
  SET_KIND,
  START_OVER_ANNOTATION,
  TAKE_OVER_ANNOTATION,
} from '../../api/names.ts';
import { phaseOf, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { fieldsOf } from './change-fields.ts';
import { annotationMeant, namesAsGone, orphanName, takerOf, unknownAnnotations } from './inputs.ts';
import { viewRecord } from './known-record.ts';
import { SHOWN_CANCELLED, YET_LISTED } from './sentences.ts';
import { wasRead } from './server-status.ts';
import { isOverdue } from './view.ts';

export interface Case {
  object: VirtualServer;
  record: ServerRecord | undefined;
  /** `subject` of the condition. */
  subject?: string;
  /** ms since the epoch. */
  now: number;
}

type Steps = (about: Case) => Advice[];

/** Writes IDENTIFIER where the identifier is unknown, or where the annotation cannot hold it. */
export function adoptCommand(identifier?: string): Command {
  const isUsable = identifier !== undefined && identifierProblem(identifier) === undefined;
  return annotate(ADOPT_ANNOTATION, isUsable ? identifier : 'IDENTIFIER');
}

/** The change of spec that allows the deletion and keeps the server. The API server accepts no expiry with it. */
function retainedSpec({ spec: { deletionProtection, ttl, expiresAt } }: Pick<VirtualServer, 'spec'>): object {
  return {
    deletionPolicy: 'Retain',
    ...(deletionProtection && { deletionProtection: false }),
    ...(ttl !== undefined && { ttl: null }),
    ...(expiresAt !== undefined && { expiresAt: null }),
  };
}

const isBeingDeleted = ({ metadata }: VirtualServer): boolean => metadata.deletionTimestamp !== undefined;
const patch = (spec: object): Command => ({ verb: 'patch', spec });
const REMOVE: Advice = { text: 'To delete this object', command: { verb: 'delete' } };
const edit = (text: string, then?: string): Advice => ({ text, command: { verb: 'edit' }, then });
const setOf = ({ metadata: { ownerReferences = [] } }: VirtualServer): string | undefined =>
  ownerReferences.find(({ kind, controller }) => controller === true && kind === SET_KIND)?.name;
const isMember = (object: VirtualServer): boolean => setOf(object) !== undefined;
/** A set makes its objects itself. */
const anotherFor = (object: VirtualServer): Advice[] =>
  isMember(object) ? [] : [{ text: 'If you want another server, create a new object' }];
/** After the end of a server. */
const replace: Steps = ({ object }) =>
  isMember(object) ? [{ ...REMOVE, text: 'To let its set order a replacement' }] : [REMOVE, ...anotherFor(object)];
/** For a server that was set up with earlier user data. */
export function setUpAnother(object: VirtualServer): Advice[] {
  const { name, namespace } = object.metadata;
  const set = setOf(object);
  const command = set === undefined ? `replace ${name}` : `rollout restart set/${set}`;
  const ordered = set === undefined ? 'a server' : 'new servers for all members of its set';
  return [{ text: `To order ${ordered} with the present user data, run \`kubectl vps ${command} -n ${namespace}\`` }];
}
/** Whether the change that the operator does not make has several fields: each that is not set back is sent again. */
const isOfMany = (record: ServerRecord | undefined): boolean => (fieldsOf(record?.change?.change ?? '')?.size ?? 0) > 1;
const setBack = (record: ServerRecord | undefined): string =>
  isOfMany(record) ? 'set all these fields back' : 'set the field back';
const CORRECT_SPEC: Steps = () => [edit('To correct spec')];
const CORRECT_ADOPTION: Steps = () => [{ text: 'To correct the annotation', command: adoptCommand() }];

/** What you can do about an open attempt; none of it releases the object. */
export function resolveSteps({ object, record }: Pick<Case, 'object' | 'record'>): Advice[] {
  const { attempt, attemptedAt, identifier } = record ?? {};
  if (attempt === undefined) return [];
  // An annotation that is still there would be obeyed instead of ordering.
  const adopts = object.metadata.annotations?.[ADOPT_ANNOTATION] !== undefined;
  const orders = adopts
    ? '; once you remove the annotation adopt as well, the operator orders again'
    : '; the operator then orders again';
  const none = {
    command: annotate(NOT_CREATED_ANNOTATION, attempt),
    then: isBeingDeleted(object) ? '; the deletion then continues' : orders,
  };
  if (identifier !== undefined)
    return [{ text: `If the provider's control panel does not show server ${identifier}`, ...none }];
  const created = attemptedAt === undefined ? '' : `was created after ${attemptedAt} and that `;
  return [
    {
      text:
        `Look in the provider's control panel, or with kubectl vps resolve ${object.metadata.name} if the provider lists ` +
        `servers, at least a minute after the order, for a server that ${created}no VirtualServer in any cluster holds`,
    },
    { text: 'If there is one', command: adoptCommand(), then: ' with its identifier' },
    { text: 'If you are sure that there is none', ...none },
  ];
}

/** For a server that you know to be gone. The operator obeys an annotation that it has refuted only once you set it again. */
function goneSteps({ object, record }: Case, text?: string): Advice[] {
  const { identifier } = record ?? {};
  if (identifier === undefined) return [];
  const then = isBeingDeleted(object)
    ? '; the deletion then continues'
    : '; the operator then counts the server of this object as gone, and orders no other';
  return [
    {
      text: text ?? `If the control panel of the server's account does not show server ${identifier} either`,
      command: annotate(SERVER_GONE_ANNOTATION, identifier),
      without: namesAsGone(object, { identifier }) ? SERVER_GONE_ANNOTATION : undefined,
      then,
    },
  ];
}

/** Only you can tell while the provider cannot be asked: that the server is gone, or what came of a long order. */
const unanswered: Steps = (about) => {
  const { object, record, now } = about;
  if (record === undefined) return [];
  switch (phaseOf(record)) {
    case 'unordered':
    case 'claimed':
      return [];
    case 'following':
      return isOverdue(record, now) ? resolveSteps(about) : [];
    case 'named':
    case 'held':
      return isBeingDeleted(object) ? goneSteps(about) : [];
  }
};

/** For an adoption that fails. While an attempt is open, no step may lead to a release. */
const misadopted: Steps = (about) =>
  about.record?.attempt === undefined ? CORRECT_ADOPTION(about) : resolveSteps(about);

/** Without the subject, only a cluster administrator can see all objects that hold the server. */
const heldTwice: Steps = ({ subject }) => {
  if (subject === undefined) return [];
  const spec = { deletionPolicy: 'Retain', ttl: null, expiresAt: null };
  return [
    {
      text: 'For each object that must not keep the server',
      command: { verb: 'patch', spec, name: 'NAME' },
    },
    { text: 'Then delete that object; the server keeps running' },
  ];
};

/** The subject is the value that accepts what the provider shows. */
const accept: Steps = (about) => {
  const { record, subject } = about;
  // An earlier version of the operator wrote no subject.
  if (subject === undefined) return goneSteps(about);
  const command = annotate(ACCEPT_SERVER_ANNOTATION, subject);
  if (subject.startsWith(`task-${record?.task}@`)) {
    // If the task has named a server, the operator does not ask the provider here, so no annotation about it would count.
    const open = record?.identifier === undefined ? resolveSteps(about) : [];
    return [{ text: 'If you are sure that the task belongs to this order', command }, ...open];
  }
  return [
    {
      text: 'If it is the server of this object',
      command,
      then: '; the operator then manages it, and may cancel it',
    },
    ...goneSteps(about, 'If it is another server'),
    { text: 'If you are unsure, change nothing' },
  ];
};

/** Not while an order is open: the server that would be left running is still unknown. */
function keep({ object, record }: Case, text: string): Advice[] {
  if (record?.attempt !== undefined && record.identifier === undefined) return [];
  return [{ text, command: patch(retainedSpec(object)) }];
}

/** The subject tells that the list contradicts the denial. Your word that the server is gone counts only if it is shown as cancelled. */
const denied: Steps = (about) => {
  const { object, record, subject } = about;
  if (subject === SHOWN_CANCELLED)
    return goneSteps(
      about,
      "If the control panel of the server's account shows it as cancelled, or no longer shows it",
    );
  if (subject !== YET_LISTED) return goneSteps(about);
  const ask = { text: 'If this lasts, ask the provider why it lists a server that it does not show' };
  if (!isBeingDeleted(object)) return [ask];
  // The operator keeps no server that may not exist, so only your word ends the wait, which counts once no key is left.
  if (record !== undefined && !wasRead(object, record)) {
    const then = ', and set spec.apiKeySecretRef to a Secret that does not exist; the deletion then continues';
    return [ask, ...goneSteps(about, 'If you know that it is gone').map((step) => ({ ...step, then }))];
  }
  return [ask, ...keep(about, 'To release this object and leave the server to you')];
};

const handingOver: Steps = ({ object, record }) => {
  if (takerOf(object) === undefined) return [];
  const isGone = record?.missingAt !== undefined || record?.expiredAt !== undefined;
  const ends = isGone
    ? '; this object then goes, and the object that waits for the server orders a new one'
    : '; the operator then cancels the server, after spec.deletionDelay';
  const then = isBeingDeleted(object) ? ends : '';
  const isMarked = object.metadata.annotations?.[HAND_OVER_MARK_ANNOTATION] !== undefined;
  const command = unannotate(HAND_OVER_ANNOTATION, ...(isMarked ? [HAND_OVER_MARK_ANNOTATION] : []));
  return [{ text: 'To hand nothing over', command, then }];
};

/** The subject is the deleted object that has lost its server, or the object itself if none hands a server over to it. */
const refusedHandOver: Steps = (about) => {
  const { object, subject } = about;
  if (subject === undefined) return handingOver(about);
  const isOwn = subject === object.metadata.name;
  const command = isOwn ? unannotate(TAKE_OVER_ANNOTATION) : { ...unannotate(HAND_OVER_ANNOTATION), name: subject };
  return [{ text: 'To order a new server for this object', command }];
};

const isGuarded = ({ object: { spec } }: Case): boolean => spec.deletionProtection || spec.deletionPolicy === 'Retain';

const orphans: Steps = ({ object, record }) => {
  const names = record?.orphans?.map(orphanName).join(',');
  if (names === undefined) return [];
  const then = isBeingDeleted(object) ? '; the deletion then continues' : '; this only ends the message';
  return [{ text: 'When none is left', command: annotate(ORPHAN_HANDLED_ANNOTATION, names), then }];
};

const correctAnnotations: Steps = ({ object: { metadata } }) => {
  const unknown = unknownAnnotations(metadata);
  const them = unknown.length === 1 ? 'the annotation' : 'them';
  return [
    ...unknown.flatMap((wrong): Advice[] => {
      const right = annotationMeant(wrong);
      return right === undefined ? [] : [{ text: `If you mean ${right}`, command: { verb: 'rename', wrong, right } }];
    }),
    { text: `To remove ${them} and let the operator order a server`, command: unannotate(...unknown) },
  ];
};

/** Releases an object without any record, with no call to the provider. */
function letGo(object: VirtualServer, text: string): Advice[] {
  const command = annotate(NOT_CREATED_ANNOTATION, object.metadata.uid);
  if (isBeingDeleted(object)) return [{ text, command, then: '; the object is then released' }];
  return [
    { text, command },
    { ...REMOVE, text: 'To delete the object then' },
  ];
}

const copied: Steps = ({ object }) => {
  const view = viewRecord(object, []);
  const identifier = view.kind === 'foreign' ? view.record.identifier : undefined;
  const server = identifier === undefined ? 'its server' : `server ${identifier}`;
  return [
    { text: `Otherwise, to take over ${server}`, command: adoptCommand(identifier) },
    {
      text: `To leave ${server} alone and order a new one`,
      command: annotate(START_OVER_ANNOTATION, object.metadata.uid),
    },
  ];
};

const restoreRecord: Steps = ({ object }) => {
  const view = viewRecord(object, []);
  if (view.kind !== 'conflict' || view.other === 'the journal') return [];
  return [
    { text: 'If status.record is right', command: { verb: 'removeRecord' } },
    { text: 'If the annotation is right', command: { verb: 'removeMirror' } },
  ];
};

/** The subject is the definition that is being deleted; none if the definition of sets is already gone. */
const definitionDeleting: Steps = (about) => {
  const { record, subject } = about;
  const [which, first] =
    subject === SERVER_DEFINITION
      ? ['all servers of the cluster', 'reinstall the definition, and ']
      : ['the servers of all members', ''];
  const text = `To cancel ${which}, except protected and retained ones`;
  return [
    ...keep(about, 'To keep the server'),
    { text: `Then ${first}create an object with annotation ${ADOPT_ANNOTATION}: ${record?.identifier ?? ''}` },
    subject === undefined
      ? { text: `${text}, install the definition again` }
      : { text, command: { verb: 'allowDeletion', definition: subject } },
  ];
};

const ADVICE: Partial<Record<Reason, Steps>> = {
  TaskOverdue: resolveSteps,
  TaskNotFound: resolveSteps,
  TaskFailed: resolveSteps,
  CreateFailed: resolveSteps,
  // The subject is the server that the task now names.
  TaskInUse: (about) => [
    ...(about.subject === undefined
      ? []
      : [{ text: 'If the server that it names now belongs to this order', command: adoptCommand(about.subject) }]),
    ...resolveSteps(about),
  ],
  CreateOutcomeUnknown: resolveSteps,
  ProviderUnavailable: unanswered,
  ProviderRateLimited: unanswered,
  ProviderProtocolError: unanswered,
  InvalidCredentials: unanswered,
  Unauthorized: unanswered,
  PermissionDenied: unanswered,
  AbsenceUnproven: goneSteps,
  IdentityUnproven: accept,
  ServerNotVisible: (about) => (about.record?.identifier === undefined ? misadopted : denied)(about),
  ServerMissing: replace,
  Expired: (about) => (about.record?.expiredAt === undefined ? [edit('To set a later time')] : replace(about)),
  IdentifierInUse: (about) => (about.record?.identifier === undefined ? misadopted : heldTwice)(about),
  IdentifierTaken: ({ subject }) => [
    edit('To order under another identifier', '; set spec.identifier, or remove it so that the operator chooses one'),
    ...(subject === undefined
      ? []
      : [
          {
            text: 'If the server is yours, no VirtualServer in any cluster holds it, and this object shall have it',
            command: adoptCommand(subject),
          },
        ]),
  ],
  AdoptInvalid: CORRECT_ADOPTION,
  AdoptIgnored: () => [{ text: 'To remove the annotation', command: unannotate(ADOPT_ANNOTATION) }],
  UnknownAnnotation: correctAnnotations,
  InvalidSpec: CORRECT_SPEC,
  CreateRejected: CORRECT_SPEC,
  // The subject is the uid if no copy of the record is left.
  RecordInvalid: ({ object, subject }) =>
    subject === undefined
      ? [
          {
            text: 'To let the operator restore the record from status.record instead',
            command: { verb: 'removeRecord' },
          },
        ]
      : letGo(object, "If you have none and the provider's control panel shows no server that you need"),
  RecordMissing: ({ object }) => [
    { text: "If the provider's control panel shows the server of this object", command: adoptCommand() },
    ...letGo(object, 'If it shows none'),
  ],
  RecordMismatch: copied,
  RecordConflict: restoreRecord,
  OrphanedServer: orphans,
  DeletionDelayed: (about) => [
    ...keep(about, 'To release this object and keep the server'),
    {
      text: 'To cancel the server now',
      command: annotate(CANCEL_NOW_ANNOTATION, about.record?.identifier ?? 'IDENTIFIER'),
    },
  ],
  HandOverPending: handingOver,
  HandOverRefused: refusedHandOver,
  DeletionProtected: (about) => [
    { text: 'To cancel the server', command: patch({ deletionProtection: false }) },
    ...keep(about, 'To delete the object and keep the server running'),
  ],
  CancellationUnconfirmed: (about) => [
    ...handingOver(about),
    ...keep(about, isBeingDeleted(about.object) ? 'To release this object and keep the server' : 'To keep the server'),
  ],
  CRDDeleting: definitionDeleting,
  PowerUnavailable: () => [{ text: 'To leave the power to you', command: patch({ power: null }) }],
  Paused: () => [{ text: 'To continue', command: unannotate(PAUSED_ANNOTATION) }],
  StopRequired: ({ object, record }) =>
    object.spec.changePolicy === 'AllowStop'
      ? []
      : [
          { text: 'To let the operator shut the server down for it', command: patch({ changePolicy: 'AllowStop' }) },
          edit('To keep the server unchanged', `; ${setBack(record)}`),
        ],
  RestartPending: ({ object }) =>
    object.spec.changePolicy === 'AllowStop'
      ? []
      : [
          {
            text: 'Restart the server yourself; or, to let the operator do that',
            command: patch({ changePolicy: 'AllowStop' }),
          },
        ],
  ChangeRefused: ({ record }) => [
    edit(
      'To keep the server unchanged',
      `; ${setBack(record)}. If you change ${isOfMany(record) ? 'one' : 'it'} again after that, the operator tries again`,
    ),
  ],
  ChangeUnavailable: ({ object, record }) => [
    edit('To keep the server unchanged', `; ${setBack(record)}`),
    ...anotherFor(object),
  ],
  ExpiresSoon: () => [edit('To keep the server', '; set expiresAt or ttl to a later time, or remove it')],
  ExpiryBlocked: (about) => [
    ...handingOver(about),
    ...(isGuarded(about)
      ? [{ text: 'To have it cancelled', command: patch({ deletionProtection: false, deletionPolicy: 'Delete' }) }]
      : []),
    { text: 'To keep it, set expiresAt or ttl to a later time, or remove it' },
  ],
  // The subject is the fingerprint that the host shows.
  HostKeyChanged: ({ subject }) =>
    subject === undefined
      ? []
      : [
          {
            text: 'Compare the fingerprint on the console of the server. If it is the key of this server',
            command: annotate(ACCEPT_HOST_KEY_ANNOTATION, subject),
          },
        ],
  Drifted: ({ object }) => (object.status?.userDataChanged === true ? setUpAnother(object) : []),
  HasOwners: (about) => keep(about, 'To lift the protection and keep the server'),
};

/** Empty if there is no command for the reason: its message then says what to do. */
export function adviceOn(reason: string, about: Case): Advice[] {
  return Object.hasOwn(ADVICE, reason) ? (ADVICE[reason as Reason]?.(about) ?? []) : [];
}
