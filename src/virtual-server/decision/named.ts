/**
 * An order under an identifier that the operator, or spec.identifier, has chosen (public-service API). It is safe to repeat: at most one server at a
 * time has the identifier, so a lost answer can be resolved without asking anyone. Pure.
 */
import { MAX_MARKED, orderBody, type OrderValues } from '../../api/ordered-fields.ts';
import { isNamed, type Held, type Named } from '../../api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { ended } from '../../base/text.ts';
import { without } from '../../base/without.ts';
import type { OrderBody, Server } from '../../provider/types.ts';
import { namesAsGone } from './inputs.ts';
import { claimed } from './order-claim.ts';
import type { Operation } from './types.ts';
import { isNewClaim, notDue, taskIsOver, type OwnView, type View } from './view.ts';

/** Of the public service: lower-case letters and digits, of which a letter comes first. */
const MAX_LENGTH = 20;
const RANDOM_LENGTH = 12;

/** `random`: 16 random hexadecimal digits. The name at the beginning is for people; the rest cannot be guessed. */
export function identifierFor({ metadata: { name } }: VirtualServer, random: string): string {
  const readable = name.replaceAll(/[^a-z0-9]/g, '').replace(/^(?=\d|$)/, 'v');
  const unique = BigInt(`0x${random}`).toString(36).padStart(RANDOM_LENGTH, '0').slice(-RANDOM_LENGTH);
  return readable.slice(0, MAX_LENGTH - RANDOM_LENGTH) + unique;
}

/** What the order sends. The text of a body must not change from version to version: its hash is stored. */
export function namedBody(object: VirtualServer, values: OrderValues): OrderBody {
  const name = markedName(object);
  return { ...orderBody(values), ...(name !== undefined && { name }) };
}

/**
 * The name that tells people in the provider's control panel, and the operator, whose server it is; undefined if you have chosen
 * another. An identifier that others can choose too needs the mark, whatever the name.
 */
export function markedName(object: VirtualServer): string | undefined {
  const { metadata, spec } = object;
  if (spec.serverName !== undefined && spec.identifier === undefined) return undefined;
  const { serverName = `${metadata.namespace}/${metadata.name}` } = spec;
  const mark = ` ${markOf(object)}`;
  return serverName.slice(0, MAX_MARKED) + mark;
}

/** The name that you have chosen for the server, as an order sends it; undefined: none. */
export function chosenName(object: VirtualServer): string | undefined {
  const { serverName } = object.spec;
  return serverName === undefined ? undefined : (markedName(object) ?? serverName);
}

interface Marked {
  metadata: Pick<VirtualServer['metadata'], 'uid'>;
}

const markOf = ({ metadata: { uid } }: Marked): string => `(${uid.slice(0, 8)})`;
const MARKED = /\([0-9a-f]{8}\)$/;

/** Why an object must not choose this name; undefined: it may. With such a name, its server would count as that of another object. */
export const serverNameProblem = ({ serverName = '' }: VirtualServerSpec): string | undefined =>
  MARKED.test(serverName.trim())
    ? 'spec.serverName must not end with eight hexadecimal digits in parentheses: that is how the operator marks its servers'
    : undefined;

/** Which object owns the server, by its name: every order of the operator sends a name that ends with a mark of its object. */
export function namesOwner(object: Marked, { name = '' }: Pick<Server, 'name'>): 'own' | 'other' | 'unknown' {
  const shown = name.trim();
  if (shown.endsWith(markOf(object))) return 'own';
  return MARKED.test(shown) ? 'other' : 'unknown';
}

/**
 * True if the operator chose the identifier, whose random part no other order can guess. Another order may have the identifier
 * that you chose: in another cluster, or by hand.
 */
export const isUnguessable = ({ chosen }: { chosen?: true | undefined }): boolean => chosen === undefined;

/** Whether this object's order has led to the server that the provider shows under the identifier. */
export function whoOrdered(
  object: VirtualServer,
  { sent, task, createFailure }: Named,
  server: Server,
): 'own' | 'other' | 'unknown' {
  if (isUnguessable(sent)) return 'own';
  const owner = namesOwner(object, server);
  if (owner !== 'unknown') return owner;
  return task !== undefined && createFailure === undefined ? 'own' : 'unknown';
}

/**
 * True if an order has led to this server, however late: no one else can have guessed its identifier, and it has the mark of the
 * object. Not if the server was read before: its addresses tell then.
 */
export const isLateServer = (object: VirtualServer, record: Held, server: Server): boolean =>
  record.sent !== undefined &&
  isUnguessable(record.sent) &&
  record.fingerprint === undefined &&
  namesOwner(object, server) === 'own';

/** What an object says whose order would find its identifier in use. `why`: a sentence; `shown`: if the API key can read the server. */
export function takenVerdict(why: string, shown: string | undefined): Verdict {
  return {
    reason: 'IdentifierTaken',
    message: `${ended(why)} The operator ordered nothing, and tries again later`,
    ...(shown !== undefined && { subject: shown }),
  };
}

/** The record of an object that orders a server under this identifier. `body`: the hash of what is sent. */
export function namedClaim(
  at: View,
  {
    identifier,
    body,
    ...claim
  }: { attempt: string; identifier: string; account: string; body: string; userDataDigest?: string | undefined },
): Named {
  const { object, now } = at;
  const isChosen = object.spec.identifier === identifier;
  return {
    ...claimed(at, claim),
    mode: 'named',
    attempt: claim.attempt,
    sent: { at: new Date(now).toISOString(), body, ...(isChosen && { chosen: true }) },
    identifier,
    // What you said of an earlier server with this identifier is no answer to this order.
    goneRefuted: namesAsGone(object, { identifier }) ? true : undefined,
  };
}

/** The claim of the same order, before its next request. It is later than the last one, whichever clock that was written under. */
export const sentAgain = (record: Named, { now }: View): Named => ({
  ...without<Named, 'task' | 'createFailure'>(record, 'task', 'createFailure'),
  sent: { ...record.sent, at: new Date(Math.max(now, Date.parse(record.sent.at) + SECOND_MS)).toISOString() },
});

/** `attemptedAt` has no fraction of a second. */
const SECOND_MS = 1000;

/** True if the last request of this order was not the first. */
export const isSentAgain = ({ attemptedAt = '', sent }: Named): boolean =>
  Math.abs(Date.parse(sent.at) - Date.parse(attemptedAt)) >= SECOND_MS;

/** True while an earlier request of this order may still be on its way to the provider. */
export function mayArrive(record: Named, view: View): boolean {
  const own = view.memo.evidence.sent;
  if (own?.attempt === record.attempt && own.at === record.sent.at && own.answer !== 'lost') return false;
  return isNewClaim(record, view);
}

/** The provider has denied this server when it was last asked, which was after your last word. */
export const isDeniedSince = ({ memo: { evidence }, inputs }: View, identifier: string): boolean =>
  evidence.denials?.of === `server ${identifier}` && evidence.denials.inputs === inputs;

/**
 * The provider shows no server of the order, or another one, or cannot be asked with this key; and no request could be on its way
 * when it was asked.
 */
export function isNamedLost(view: OwnView, own: Named): boolean {
  const { memo, inputs } = view;
  const { denials, unrecognized, unaskable, asked } = memo.evidence;
  if (taskIsOver(view) || (own.task !== undefined && !isTaskLost(view))) return false;
  if (denials !== undefined && isDeniedSince(view, own.identifier))
    return !mayArrive(own, { ...view, monotonic: denials.lastAt });
  const isOther = own.sent.chosen === true && unrecognized === own.identifier;
  // Nothing with this key can speak against your word, and the key of that account may be lost.
  if (unaskable?.identifier === own.identifier) return !mayArrive(own, { ...view, monotonic: unaskable.at });
  return isOther && asked === inputs && !mayArrive(own, view);
}

/** For how long an order is repeated (ms). */
const REPEATED_MS = 24 * 60 * 60_000;

export const isRepeatedTooLong = ({ attemptedAt = '' }: Named, { now }: View): boolean =>
  now - Date.parse(attemptedAt) > REPEATED_MS;

/**
 * The order has no answer that counts, so the same order is sent again unless the provider shows the server. Never once the server
 * was shown, if only to an operator that observes, which writes no record: it may have been cancelled since.
 */
export function orderIsToRepeat(view: OwnView): Operation | undefined {
  const { own } = view;
  if (!isNamed(own) || taskIsOver(view)) return undefined;
  return notDue(view, 'order') ?? { type: 'repeat', record: own };
}

/** True if the task of a named order tells nothing more about it, and its server is not shown. */
export const isTaskLost = ({ own, memo }: OwnView): boolean =>
  isNamed(own) && own.task !== undefined && own.task === memo.evidence.lostTask;
