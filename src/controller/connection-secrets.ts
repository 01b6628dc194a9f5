/** Writes connection Secrets, so that each says what its server was last seen with. Touches none that is not its object's. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { connectionData, connectionWrite, type Connection, type ConnectionData } from '../decision/connection.ts';
import { KubeError } from '../kube/error.ts';
import type { Secrets } from '../kube/secrets.ts';
import type { KubeErrorCode } from '../kube/types.ts';
import type { Logger } from '../logger.ts';
import type { Server } from '../provider/types.ts';

/** Answers that another try would bring again: nothing that is being ended waits for them. */
const FINAL: ReadonlySet<KubeErrorCode> = new Set(['Forbidden', 'Invalid', 'NotFound', 'Rejected']);

export class ConnectionSecrets {
  readonly #secrets: Secrets | undefined;
  readonly #log: Logger;

  /** `secrets` undefined: `--connection-secrets` was not given, and nothing is written. */
  constructor(secrets: Secrets | undefined, log: Logger) {
    this.#secrets = secrets;
    this.#log = log;
  }

  /** Undefined where the object asks for no Secret, or is being deleted. Never throws a KubeError: Ready is not about it. */
  async write(object: VirtualServer, server: Server): Promise<Connection | undefined> {
    if (object.spec.connectionSecretName === undefined || object.metadata.deletionTimestamp !== undefined)
      return undefined;
    const data = connectionData(server);
    try {
      return { state: await this.#bring(object, data) };
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return { state: 'failed', why: masked(error.message, data) };
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
    if ('create' in change) await secrets.create(change.create);
    else if (present !== undefined) await secrets.patch(present.metadata, change.patch);
    return 'written';
  }
}

/** An admission webhook may quote in its answer what it was asked about. */
function masked(message: string, data: ConnectionData): string {
  const password = data.vncPassword ?? '';
  const forms = [password, Buffer.from(password).toString('base64')].filter((form) => form !== '');
  return forms.reduce((text, form) => text.replaceAll(form, '***'), message);
}
