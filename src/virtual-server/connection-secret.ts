/** Writes connection Secrets, so that each shows its server as last seen. Never touches a Secret of another object. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { KubeError, type KubeErrorCode } from '../kube/error.ts';
import type { Secret, SecretChanges, Secrets } from '../kube/kinds.ts';
import type { Kube } from './kube.ts';
import type { Logger } from '../base/logger.ts';
import type { Server } from '../provider/types.ts';
import type { HostKey } from './decision/host-keys.ts';
import { inputsOf } from './decision/inputs.ts';
import {
  connectionData,
  connectionWrite,
  type ConnectionData,
  type ConnectionSecretState,
} from './decision/connection.ts';

export interface ConnectionSecretsOptions {
  /** Undefined: `--connection-secrets` was not given, and nothing is written. */
  secrets: Secrets | undefined;
  /** True if the operator only observes: nothing is written. */
  observes?: boolean;
  kube: Pick<Kube, 'getVirtualServer'>;
  /** True while no other process can be the active one; checked right before a write. */
  leads: () => boolean;
  log: Logger;
}

/** Errors that a retry would repeat, so no object waits for them. */
const FINAL: ReadonlySet<KubeErrorCode> = new Set(['Forbidden', 'Invalid', 'NotFound', 'Rejected']);
const UNAUTHORIZED = 401;

/**
 * The only KubeError that `write` and `empty` throw is `Conflict`. As with any write, the caller then has to look
 * again.
 */
export class ConnectionSecrets {
  readonly #options: ConnectionSecretsOptions;

  constructor(options: ConnectionSecretsOptions) {
    this.#options = options;
  }

  /** `hostKeys`: those that are trusted. Undefined if the object asks for no Secret or is being deleted. */
  async write(
    object: VirtualServer,
    server: Server,
    hostKeys: readonly HostKey[],
  ): Promise<ConnectionSecretState | undefined> {
    if (object.spec.connectionSecretName === undefined || object.metadata.deletionTimestamp !== undefined)
      return undefined;
    return this.#tried(object, connectionData(server, hostKeys));
  }

  /**
   * The server no longer exists, but the object stays. Undefined if the Secret has nothing left, or belongs to another
   * object.
   */
  async empty(object: VirtualServer): Promise<ConnectionSecretState | undefined> {
    if (object.spec.connectionSecretName === undefined) return undefined;
    const connection = await this.#tried(object, {});
    return connection.state === 'failed' ? connection : undefined;
  }

  /**
   * The object is about to go; deletionPolicy decides whether its Secret goes too. A Secret that stays must not hold the data
   * of a server that is gone. Resolves with why it was not written, if so. Throws KubeError if a retry may help.
   */
  async letGo(object: VirtualServer, isServerGone: boolean): Promise<string | undefined> {
    const stays = object.spec.deletionPolicy === 'Retain';
    try {
      await this.#bring(object, stays && isServerGone ? {} : undefined);
    } catch (error) {
      const isFinal = error instanceof KubeError && FINAL.has(error.code) && error.status !== UNAUTHORIZED;
      if (!isFinal) throw error;
      const { namespace, name, uid } = object.metadata;
      this.#options.log.warn({ namespace, name, uid, err: error }, 'connection Secret not written');
      return error.message;
    }
    return undefined;
  }

  async #tried(object: VirtualServer, data: ConnectionData): Promise<ConnectionSecretState> {
    try {
      return { state: await this.#bring(object, data) };
    } catch (error) {
      if (!(error instanceof KubeError) || error.code === 'Conflict') throw error;
      return { state: 'failed', why: error.message };
    }
  }

  async #bring(
    object: VirtualServer,
    data: ConnectionData | undefined,
  ): Promise<'written' | 'disabled' | 'observed' | 'taken'> {
    const { secrets, observes } = this.#options;
    if (observes === true) return 'observed';
    const { connectionSecretName: name } = object.spec;
    if (secrets === undefined || name === undefined) return 'disabled';
    const present = await secrets.get(object.metadata.namespace, name);
    const change = connectionWrite(object, name, present, data);
    if (change === 'taken') return 'taken';
    if (change === 'same') return 'written';
    await this.#confirm(object);
    try {
      if ('create' in change) await secrets.create(change.create);
      else if (present !== undefined) await patch(secrets, present, change.patch);
    } catch (error) {
      throw error instanceof KubeError ? withoutData(error) : error;
    }
    return 'written';
  }

  /**
   * A cache may show an object that was deleted long ago. Its Secret, kept with `Retain`, would be bound to it again
   * and be deleted. Throws KubeError `Conflict` if a write of the object would fail, too. Versions repeat after a restore of
   * etcd, so the same version is not enough.
   */
  async #confirm(object: VirtualServer): Promise<void> {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const live = await this.#options.kube.getVirtualServer(namespace, name);
    const isSame = live?.metadata.uid === uid && live.metadata.resourceVersion === resourceVersion;
    if (!isSame || inputsOf(live) !== inputsOf(object))
      throw conflict(`VirtualServer ${name} has changed since it was read`);
    if (!this.#options.leads()) throw conflict('another process leads');
  }
}

async function patch(secrets: Secrets, { metadata }: Secret, changes: SecretChanges): Promise<void> {
  try {
    await secrets.patch(metadata, changes);
  } catch (error) {
    if (error instanceof KubeError && error.code === 'NotFound')
      throw conflict('the Secret was deleted after it was read');
    throw error;
  }
}

function conflict(message: string): KubeError {
  return new KubeError('Conflict', message, { status: 409 });
}

/**
 * A webhook or a policy may quote the Secret in its answer, in any form. So only answers that the API server gives
 * before anything inspects the Secret keep their text.
 */
function withoutData(error: KubeError): KubeError {
  const { code, status, retryAfterMs, message } = error;
  if (status === undefined || /^secrets( "[^"]*")? is forbidden: User /.test(message)) return error;
  const [by] = /admission webhook "[^"]*"|ValidatingAdmissionPolicy '[^']*'/.exec(message) ?? [];
  const words = [`the API server answered ${status}`, by].filter((word) => word !== undefined);
  return new KubeError(code, words.join(', '), { status, retryAfterMs });
}
