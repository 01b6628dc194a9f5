/**
 * Other versions of the operator. An upgrade: what is stored becomes what a version with format 1 of the record has left, and
 * this version starts. A downgrade: such a version parks each object whose record it does not understand, then this one returns.
 */
import { currentReason } from '../../src/api/conditions.ts';
import {
  ACCEPT_SERVER_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  RECORD_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../src/api/names.ts';
import { RECORD_FORMAT, mirrorIn } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { isDeepEqual } from '../../src/base/deep-equal.ts';
import { without } from '../../src/base/without.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { CallOptions } from '../../src/kube/http.ts';
import { compose } from '../../src/virtual-server/decision/compose.ts';
import { knownRecord } from '../../src/virtual-server/decision/known-record.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import { keyOf } from './object-store.ts';
import type { Random } from './random.ts';
import type { Place } from './routes.ts';

const MINUTE = 60_000;
/** Which reasons tell a version with format 1 of this doubt. */
const SHOWN_FOR: Record<string, readonly string[]> = {
  AbsenceUnproven: ['AbsenceUnproven', 'ServerMissing', 'ReleaseRefused'],
  IdentityUnproven: ['IdentityUnproven'],
};

const ANSWERS = [NOT_CREATED_ANNOTATION, SERVER_GONE_ANNOTATION, ACCEPT_SERVER_ANNOTATION];

type Copy = Readonly<Record<string, unknown>>;
type Left = 'doubt' | 'open' | 'readyAt';

/** What a version with format 1 knows about the order and the server, and stores in the conditions alone. */
interface Known {
  /** The server that is in doubt. */
  doubt: string | undefined;
  open: string | undefined;
}

export interface FormatParts {
  api: ApiServer;
  /** Apart from those of the rest of the world. */
  random: Random;
  now: () => number;
  tell: (what: string) => void;
  /** All processes die now. Those of this version start after `act`, and are suspended for `ms`. */
  replaceAll: (act: () => void, ms: number) => void;
  /** Whether the last answer to a read of the server has shown it. */
  isShown: (identifier: string) => boolean;
  /** Whether an operator that only observes may have recognized the server: it stores nothing, and its status shows no doubt anymore. */
  mayBeRecognized: (object: VirtualServer) => boolean;
}

export class Formats {
  readonly violations: string[] = [];
  upgrades = 0;
  downgrades = 0;
  /** Doubts and open questions that an upgrade found in the conditions alone. */
  left = 0;
  readonly #parts: FormatParts;
  /** At how many more writes of objects the processes are replaced. */
  #writesLeft: number | undefined;
  /** By uid: what only the conditions of an object say, until this version has written one of its copies. */
  readonly #left = new Map<string, Known>();

  constructor(parts: FormatParts) {
    this.#parts = parts;
    const { servers } = parts.api;
    servers.listeners.add(() => {
      const last = servers.changes.at(-1);
      // A restore of etcd brings back what was known before.
      if (last?.restored === true) this.#left.clear();
      else if (last?.deleted === false) this.#judge(last.object);
    });
  }

  act(): void {
    const { random } = this.#parts;
    if (random.chance(0.04)) this.#replace();
    if (random.chance(0.06)) this.#writesLeft = random.int(1, 12);
  }

  end(): void {
    this.#writesLeft = undefined;
  }

  /** The processes may be replaced at a write: it is lost, or its answer is. */
  interrupt({ method = 'GET' }: CallOptions, { store }: Place): KubeError | undefined {
    const isWrite = method !== 'GET' && store.plural === this.#parts.api.servers.plural;
    if (!isWrite || this.#writesLeft === undefined) return undefined;
    this.#writesLeft -= 1;
    if (this.#writesLeft > 0) return undefined;
    this.#writesLeft = undefined;
    this.#replace();
    return this.#parts.random.chance(0.5) ? new KubeError('Unreachable', 'the write is lost') : undefined;
  }

  #replace(): void {
    const { api, random, tell, replaceAll } = this.#parts;
    const isUpgrade = random.chance(0.7);
    if (isUpgrade) this.upgrades += 1;
    else this.downgrades += 1;
    const ms = isUpgrade || random.chance(0.5) ? 0 : random.int(0, 10 * MINUTE);
    replaceAll(() => {
      tell(isUpgrade ? 'an upgrade from format 1' : `a downgrade to format 1 for ${ms} ms`);
      for (const object of api.servers.list()) {
        if (isUpgrade) this.#asFormat1(object);
        else this.#park(object);
      }
    }, ms);
  }

  /** One copy alone may still be of format 1, after a write that never came. Then the other one says everything. */
  #asFormat1(object: VirtualServer): void {
    const { api, random } = this.#parts;
    const { namespace, name, uid } = object.metadata;
    const which = random.pick(['both', 'both', 'both', 'annotation', 'status'] as const);
    const before = knownIn(object);
    const left = which === 'both' ? leftToConditions(object) : [];
    const text = annotationOf(object);
    // No version with format 1 has orders under an identifier.
    if (text?.['mode'] === 'named') return;
    const { record: mirror, ...status } = object.status ?? {};
    if (which !== 'status' && text !== undefined)
      api.servers.annotate(namespace, name, { [RECORD_ANNOTATION]: JSON.stringify(inFormat1(text, left)) });
    if (which !== 'annotation' && mirror !== undefined)
      api.servers.replaceStatus(namespace, name, {
        ...status,
        record: inFormat1(mirror, left),
      });
    if (left.every((field) => field === 'readyAt')) return;
    this.left += 1;
    const { doubt, open } = before;
    this.#left.set(uid, {
      doubt: left.includes('doubt') ? doubt : undefined,
      open: left.includes('open') ? open : undefined,
    });
    const after = api.servers.get(namespace, name);
    if (after !== undefined) this.#judge(after);
  }

  /** Writes what a version with format 1 writes: nothing but conditions. */
  #park(object: VirtualServer): void {
    const { api, now } = this.#parts;
    const { namespace, name } = object.metadata;
    const mirror = object.status?.record;
    const formats = [annotationOf(object)?.['format'], mirror?.['format']];
    if (!formats.includes(RECORD_FORMAT)) return;
    const message = `A newer version of the operator wrote the record: it has format ${RECORD_FORMAT}`;
    // To this version, a record is as unknown with the next format as its own record is to the older version.
    const record = { format: RECORD_FORMAT + 1, owner: object.metadata.uid, mode: 'create' } as const;
    const composed = compose(object, { record, verdict: { reason: 'RecordTooNew', message } }, now());
    const status = { ...without(composed, 'record'), ...(mirror && { record: mirror }) };
    api.servers.replaceStatus(namespace, name, status);
  }

  /** While no copy is in the format of this version, the operator can read what the conditions said. */
  #judge(object: VirtualServer): void {
    const { uid } = object.metadata;
    const known = this.#left.get(uid);
    if (known === undefined) return;
    // What users say about the order or the server ends it too.
    if (!needsConditions(object) || ANSWERS.some((name) => object.metadata.annotations?.[name] !== undefined)) {
      this.#left.delete(uid);
      return;
    }
    const present = knownIn(object);
    for (const what of ['doubt', 'open'] as const) {
      // A question may become another one: an order in flight, one without an answer. So may a doubt, if the provider denies a server
      // of which it has shown another one before: both ask for the same proof.
      const isKept = what === 'open' ? present.open !== undefined : present.doubt === known.doubt;
      // A server that is shown is visible, even if it may belong to another object. An order with a task
      // has its answer. A server that an observer has recognized has to prove itself again to the next operator that acts.
      const isAnswered =
        what === 'doubt'
          ? this.#parts.mayBeRecognized(object)
          : (known.open?.startsWith('ServerNotVisible') === true && this.#isShown(object)) ||
            (known.open?.startsWith('CreateInFlight') === true && recordOf(object)?.task !== undefined);
      if (known[what] === undefined || isKept || isAnswered) continue;
      this.violations.push(`${keyOf(object)} has lost what only conditions said: ${what} ${known[what]}`);
      this.#left.delete(uid);
    }
  }

  #isShown(object: VirtualServer): boolean {
    const { identifier } = recordOf(object) ?? {};
    return identifier !== undefined && this.#parts.isShown(identifier);
  }
}

/** The record in the annotation; undefined if there is none that can be read. */
function annotationOf({ metadata: { annotations } }: VirtualServer): Copy | undefined {
  const text = annotations?.[RECORD_ANNOTATION];
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Copy) : undefined;
  } catch {
    return undefined;
  }
}

function inFormat1(copy: Copy, left: readonly Left[]): Copy {
  return without(copy, 'format', ...left);
}

/** Whether only annotation and mirror together with the conditions say what the operator knows. */
export function needsConditions(object: VirtualServer): boolean {
  const copies = [annotationOf(object), object.status?.record];
  return !copies.some((copy) => copy?.['format'] === RECORD_FORMAT);
}

function knownIn(object: VirtualServer): Known {
  const { doubt, open } = knownRecord(object) ?? {};
  return {
    doubt: doubt?.identifier,
    open: open && `${open.reason} because of ${open.cause ?? 'nothing'}`,
  };
}

/** What the conditions of the object say too, as a version with format 1 wrote them. */
function leftToConditions(object: VirtualServer): Left[] {
  const { spec, status } = object;
  const { identifier, doubt, open, missingAt, createFailure, attempt } = recordOf(object) ?? {};
  const reason = currentReason(status?.conditions) ?? '';
  const subject = status?.conditions?.find((condition) => condition.reason === reason)?.subject;
  const isSame = (field: 'doubt' | 'open', value: unknown): boolean =>
    [annotationOf(object), status?.record].every(
      (copy) => copy?.[field] === undefined || isDeepEqual(copy[field], value),
    );
  const left: Left[] = spec.ttl === undefined ? ['readyAt'] : [];
  const isAboutServer = identifier !== undefined && doubt?.identifier === identifier && missingAt === undefined;
  if (isAboutServer && SHOWN_FOR[doubt.reason]?.includes(reason) === true && isSame('doubt', doubt))
    return [...left, 'doubt'];
  const isOfOrder = attempt !== undefined && mirrorIn(status)?.attempt === attempt && createFailure === undefined;
  const isAboutTask = identifier === undefined || open?.reason !== 'IdentityUnproven';
  const isTold = open?.reason === reason && (open.cause === undefined || open.cause === subject);
  if (doubt === undefined && isOfOrder && isAboutTask && isTold && isSame('open', open)) return [...left, 'open'];
  return left;
}
