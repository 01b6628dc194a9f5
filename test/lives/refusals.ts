/**
 * An admission policy, or a webhook that is down, refuses the operator's writes of metadata for a while. Reports an object that
 * does not say so, and one that says of a server that is gone that it runs.
 */
import { RECORD_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { CallOptions } from '../../src/kube/http.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import { isHandedOver } from './hand-overs.ts';
import type { Network } from './network.ts';
import { keyOf, type PatchBody } from './object-store.ts';
import { isAlive, type Ownership } from './ownership.ts';
import type { Random } from './random.ts';
import type { Place } from './routes.ts';
import type { Weather } from './weather.ts';

const MINUTE = 60_000;
const WORDS = 'no metadata is written here';
/** For how long versions from before a restore may be known (ms). */
const RESTORED_MS = 20 * MINUTE;
const ANSWERS = [
  new KubeError('Forbidden', `ValidatingAdmissionPolicy 'p' denied request: ${WORDS}`, { status: 403 }),
  new KubeError('Invalid', `admission webhook "w" denied the request: ${WORDS}`, { status: 422 }),
  new KubeError('ServerError', `failed calling webhook "w": ${WORDS}`, { status: 500 }),
];

export interface RefusalParts {
  api: ApiServer;
  network: Network;
  ownership: Ownership;
  /** Apart from those of the rest of the world. */
  random: Random;
  tell: (what: string) => void;
}

/** A write that was refused. */
interface Refused {
  /** The process. */
  by: object;
  /** The version of the object that was stored then. */
  version: string;
  weather: Weather;
  /** How often etcd was restored: a restored object has its old status. */
  restores: number;
  /** It was to remove the finalizer. */
  isRelease: boolean;
}

export class Refusals {
  readonly violations: string[] = [];
  readonly #parts: RefusalParts;
  #present: { answer: KubeError; until: number } | undefined;
  /** By uid: the last refusal of this period. */
  readonly #last = new Map<string, Refused>();
  /** How many objects were judged. */
  judged = 0;

  constructor(parts: RefusalParts) {
    this.#parts = parts;
  }

  act(): void {
    const { random, network, tell } = this.#parts;
    if (!random.chance(0.1)) return;
    const ms = random.pick([10_000, MINUTE, 10 * MINUTE, 40 * MINUTE]);
    const answer = random.pick(ANSWERS);
    this.#last.clear();
    this.#present = { answer, until: network.scheduler.now + ms };
    tell(`writes of metadata are refused for ${ms} ms: ${answer.message}`);
  }

  end(): void {
    this.#present = undefined;
  }

  /** The answer to a request that is refused now. */
  answer({ method, body }: CallOptions, { store, namespace = '', name = '', part }: Place, by: object) {
    const { api, network } = this.#parts;
    const isOurs = store.plural === api.servers.plural && method === 'PATCH' && part === undefined;
    if (!isOurs || this.#present === undefined || network.scheduler.now >= this.#present.until) return undefined;
    const object = api.servers.get(namespace, name);
    if (object !== undefined) this.#judge(object, body ?? {}, by);
    return this.#present.answer;
  }

  /** The process has failed at this object before, and has retried since, so it had time to report it. */
  #judge(object: VirtualServer, { metadata = {} }: PatchBody, by: object): void {
    // A set tells in its own status what it may not write to its members.
    const written = metadata.annotations?.[RECORD_ANNOTATION];
    if (written === undefined) return;
    const { network, ownership, api } = this.#parts;
    const { uid, resourceVersion } = object.metadata;
    const last = this.#last.get(uid);
    // A status that is based on an older version meets a conflict.
    const isCurrent = metadata.resourceVersion === resourceVersion && isCalm(network.kube);
    const isRelease = written === null;
    const { restores } = api;
    if (isCurrent) this.#last.set(uid, { by, version: resourceVersion, weather: network.kube, restores, isRelease });
    else this.#last.delete(uid);
    if (last?.by !== by || last.weather !== network.kube || last.restores !== restores || !isCurrent) return;
    this.judged += 1;
    const { conditions = [] } = object.status ?? {};
    const isTold = conditions.some(({ message }) => message.includes(WORDS));
    // A process may know another object under this version, from before a restore of etcd.
    const isOld = network.scheduler.now - (api.restoredAt ?? -Infinity) < RESTORED_MS;
    if (!isTold && !isOld && last.version === resourceVersion)
      this.violations.push(`${keyOf(object)} does not say that its writes are refused`);
    if (!isTold || !isRelease || !last.isRelease) return;
    const isKept = object.spec.deletionPolicy === 'Retain' || isHandedOver(object, api.servers.list());
    const life = recordOf(object) && ownership.serverOf(object);
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (!isKept && life !== undefined && !isAlive(life) && isReady)
      this.violations.push(`${keyOf(object)} is Ready, although server ${life.identifier} is gone and it may not go`);
  }
}

const isCalm = ({ lost, error, conflictAfterApplied, statusRefused }: Weather): boolean =>
  lost + error + conflictAfterApplied + statusRefused === 0;
