/**
 * Reports an object that counts its living server as gone, or that forgets what the server costs. Above all, a key without rights
 * proves nothing about a server.
 */
import { mirrorIn } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { annotatedRecordOf, recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import type { Truth } from './caretaker.ts';
import { isHandedOver } from './hand-overs.ts';
import { keyOf } from './object-store.ts';
import { UNDER_WAY_MS } from './oracles.ts';
import { isAlive, type Ownership } from './ownership.ts';

export interface ServerWatchParts {
  api: ApiServer;
  truth: Truth;
  ownership: Ownership;
  now: () => number;
}

export class ServerWatch {
  readonly violations: string[] = [];
  readonly #parts: ServerWatchParts;
  /** By uid: the version before. */
  readonly #before = new Map<string, VirtualServer>();
  #seen = 0;

  constructor(parts: ServerWatchParts) {
    this.#parts = parts;
    parts.api.servers.listeners.add(() => this.#follow());
  }

  #follow(): void {
    const { changes } = this.#parts.api.servers;
    for (const { object, deleted, restored } of changes.slice(this.#seen)) {
      const { uid } = object.metadata;
      const before = this.#before.get(uid);
      this.#before.set(uid, object);
      if (restored === true || before === undefined) continue;
      if (deleted) this.#judgeRelease(object);
      else {
        this.#judgeMissing(before, object);
        this.#judgePrice(before, object);
      }
    }
    this.#seen = changes.length;
  }

  #judgeRelease(object: VirtualServer): void {
    const { api, truth, now } = this.#parts;
    const { metadata, spec } = object;
    const isKept = spec.deletionPolicy === 'Retain' || isHandedOver(object, api.servers.list());
    const isNew = now() - (truth.guardedAt.get(metadata.uid) ?? -Infinity) < UNDER_WAY_MS;
    if (!isKept && !isNew) this.#judgeGone(object, 'was released');
  }

  #judgeMissing(before: VirtualServer, object: VirtualServer): void {
    const isNew = recordOf(object)?.missingAt !== undefined && recordOf(before)?.missingAt === undefined;
    if (isNew) this.#judgeGone(object, 'counts its server as gone');
  }

  #judgeGone(object: VirtualServer, what: string): void {
    const { truth, ownership } = this.#parts;
    const life = ownership.serverOf(object);
    if (life === undefined || !isAlive(life) || truth.late.has(life.serial)) return;
    if (truth.abandoned.has(object.metadata.uid) || truth.abandonedServers.has(life.serial)) return;
    this.violations.push(`${keyOf(object)} ${what}, but server ${life.identifier} is alive`);
  }

  /** A value that is not a price does not replace a price. */
  #judgePrice(earlier: VirtualServer, object: VirtualServer): void {
    const { status } = object;
    const { status: before } = earlier;
    const [was, is] = [annotatedRecordOf(earlier), annotatedRecordOf(object)];
    const isSameServer = is?.identifier !== undefined && was?.identifier === is.identifier;
    if (
      isSameServer &&
      is.fingerprint !== undefined &&
      was.price?.amount !== undefined &&
      is.price?.amount === undefined
    )
      this.violations.push(
        `the record of ${keyOf(object)} has forgotten that server ${is.identifier} costs ${was.price.amount}`,
      );
    // The record keeps no price of a server that was never read awake. It is written before the status.
    const isAsleep = [was, mirrorIn(before)].some(
      (one) => one?.price?.isDormant === true && one.price.amount === undefined,
    );
    if (isAsleep) return;
    const isSame = before?.identifier === status?.identifier && before?.serverStatus !== undefined;
    if (!isSame || before.price === undefined || status?.serverStatus === undefined) return;
    if (status.price === undefined)
      this.violations.push(`${keyOf(object)} has forgotten that server ${before.identifier} costs ${before.price}`);
  }
}
