/** Writes connection Secrets, so that each says what its server was last seen with. Touches none that is not its object's. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { connectionData, connectionWrite, type Connection, type ConnectionData } from '../decision/connection.ts';
import { KubeError } from '../kube/error.ts';
import type { Secrets } from '../kube/secrets.ts';
import type { Kube, KubeErrorCode } from '../kube/types.ts';
import type { Logger } from '../logger.ts';
import type { Server } from '../provider/types.ts';

/** Answers that another try would bring again: nothing that is being ended waits for them. */
const FINAL: ReadonlySet<KubeErrorCode> = new Set(['Forbidden', 'Invalid', 'NotFound', 'Rejected']);

export class ConnectionSecrets {
  readonly #secrets: Secrets | undefined;
  readonly #log: Logger;
  readonly #kube: Pick<Kube, 'getVirtualServer'>;

  /** `secrets` undefined: `--connection-secrets` was not given, and nothing is written. */
  constructor(secrets: Secrets | undefined, log: Logger, kube: Pick<Kube, 'getVirtualServer'>) {
    this.#secrets = secrets;
    this.#log = log;
    this.#kube = kube;
  }

  /**
   * Undefined where the object asks for no Secret, or is being deleted. Ready is not about it: of KubeErrors it throws
   * `Conflict` only, which means what it means of every write: look at the newer version.
   */
  async write(object: VirtualServer, server: Server): Promise<Connection | undefined> {
    if (object.spec.connectionSecretName === undefined || object.metadata.deletionTimestamp !== undefined)
      return undefined;
    try {
      return { state: await this.#bring(object, connectionData(server)) };
    } catch (error) {
      if (!(error instanceof KubeError) || error.code === 'Conflict') throw error;
      return { state: 'failed', why: error.message };
    }
  }

  /** The server is no more, the object stays. Throws KubeError where another try may help. */
  async empty(object: VirtualServer): Promise<void> {
    await this.#end(object, {});
  }

  /** The object is about to go: with or without its Secret, as deletionPolicy says. Throws as `empty`. */
  async letGo(object: VirtualServer): Promise<void> {
    await this.#end(object, undefined);
  }

  async #end(object: VirtualServer, data: ConnectionData | undefined): Promise<void> {
    try {
      await this.#bring(object, data, false);
    } catch (error) {
      if (!(error instanceof KubeError && FINAL.has(error.code))) throw error;
      const { namespace, name, uid } = object.metadata;
      this.#log.warn({ namespace, name, uid, err: error }, 'connection Secret not written');
    }
  }

  async #bring(
    object: VirtualServer,
    data: ConnectionData | undefined,
    makes = true,
  ): Promise<'written' | 'disabled' | 'taken'> {
    const { connectionSecretName: name } = object.spec;
    const secrets = this.#secrets;
    if (secrets === undefined || name === undefined) return 'disabled';
    const present = await secrets.get(object.metadata.namespace, name);
    if (present === undefined && !makes) return 'written';
    const change = connectionWrite(object, name, present, data);
    if (change === 'taken') return 'taken';
    if (change === 'same') return 'written';
    await this.#confirm(object);
    try {
      if ('create' in change) await secrets.create(change.create);
      else if (present !== undefined) await secrets.patch(present.metadata, change.patch);
    } catch (error) {
      throw error instanceof KubeError ? masked(error, [present?.data.vncPassword, data?.vncPassword]) : error;
    }
    return 'written';
  }

  /**
   * A cache may show an object that was deleted long ago: its Secret, kept with `Retain`, would be bound to it once more,
   * and go. Throws KubeError `Conflict` where a write of the object would fail, too.
   */
  async #confirm({ metadata: { namespace, name, uid, resourceVersion } }: VirtualServer): Promise<void> {
    const live = await this.#kube.getVirtualServer(namespace, name);
    if (live?.metadata.uid !== uid || live.metadata.resourceVersion !== resourceVersion)
      throw new KubeError('Conflict', `VirtualServer ${name} has changed meanwhile`, { status: 409 });
  }
}

/** An admission webhook may quote in its answer what it was asked about: what is to be written, and what was there. */
function masked(error: KubeError, passwords: (string | undefined)[]): KubeError {
  const known = passwords.filter((password) => password !== undefined && password !== '') as string[];
  const forms = known.flatMap((password) => [password, Buffer.from(password).toString('base64')]);
  const { code, status, reason, retryAfterMs } = error;
  const message = forms.reduce((text, form) => text.replaceAll(form, '***'), error.message);
  return new KubeError(code, message, { status, reason, retryAfterMs });
}
