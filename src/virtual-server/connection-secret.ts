/** Writes connection Secrets, so that each shows its server as last seen. Never touches a Secret of another object. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { KubeError, type KubeErrorCode } from '../kube/error.ts';
import type { NewSecret, OwnerReference, Secret, SecretChanges, Secrets } from '../kube/kinds.ts';
import type { Kube } from './kube.ts';
import type { Logger } from '../base/logger.ts';
import type { Server } from '../provider/types.ts';
import { API_VERSION, CONNECTION_SECRET_TYPE, OWNER_ANNOTATION, SERVER_KIND } from '../api/names.ts';
import { SSH_PORT, SSH_USER, serverFields, sshEndpoint } from './decision/status.ts';

/* Writes connection Secrets, so that each shows its server as last seen. Never touches a Secret of another object. */

export interface ConnectionSecretsOptions {
  /** Undefined: `--connection-secrets` was not given, and nothing is written. */
  secrets: Secrets | undefined;
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

  /** Undefined if the object asks for no Secret or is being deleted. */
  async write(object: VirtualServer, server: Server): Promise<ConnectionSecretState | undefined> {
    if (object.spec.connectionSecretName === undefined || object.metadata.deletionTimestamp !== undefined)
      return undefined;
    return this.#tried(object, connectionData(server));
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
   * of a server that is gone. Throws KubeError if a retry may help.
   */
  async letGo(object: VirtualServer, isServerGone: boolean): Promise<void> {
    const stays = object.spec.deletionPolicy === 'Retain';
    try {
      await this.#bring(object, stays && isServerGone ? {} : undefined);
    } catch (error) {
      const isFinal = error instanceof KubeError && FINAL.has(error.code) && error.status !== UNAUTHORIZED;
      if (!isFinal) throw error;
      const { namespace, name, uid } = object.metadata;
      this.#options.log.warn({ namespace, name, uid, err: error }, 'connection Secret not written');
    }
  }

  async #tried(object: VirtualServer, data: ConnectionData): Promise<ConnectionSecretState> {
    try {
      return { state: await this.#bring(object, data) };
    } catch (error) {
      if (!(error instanceof KubeError) || error.code === 'Conflict') throw error;
      return { state: 'failed', why: error.message };
    }
  }

  async #bring(object: VirtualServer, data: ConnectionData | undefined): Promise<'written' | 'disabled' | 'taken'> {
    const { secrets } = this.#options;
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
   * and be deleted. Throws KubeError `Conflict` if a write of the object would fail, too.
   */
  async #confirm({ metadata: { namespace, name, uid, resourceVersion } }: VirtualServer): Promise<void> {
    const live = await this.#options.kube.getVirtualServer(namespace, name);
    if (live?.metadata.uid !== uid || live.metadata.resourceVersion !== resourceVersion)
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

/* The connection Secret (`spec.connectionSecretName`): its content, its owner, and what to write. Pure. */

/**
 * Every key that the operator writes; it leaves other keys of the Secret alone. docs/how-to/connection-secret.md describes
 * each.
 */
export const CONNECTION_KEYS = [
  'identifier',
  'ipv6',
  'ipv4',
  'sshHost',
  'sshPort',
  'sshUser',
  'adminConsoleHost',
  'adminConsoleUser',
  'vncMode',
  'vncPassword',
  'vncDisplay',
  'vncPort',
  'vncIPv4',
  'vncIPv6',
] as const;

/** The Secret does not have keys that are left out here. */
export type ConnectionData = Partial<Record<(typeof CONNECTION_KEYS)[number], string>>;

/** The result of writing the Secret. */
export type ConnectionSecretState = { state: 'written' | 'disabled' | 'taken' } | { state: 'failed'; why: string };

/** The condition ConnectionSecret. */
export interface ConnectionCondition {
  status: 'True' | 'False';
  reason: 'ConnectionSecretWritten' | 'ConnectionSecretsDisabled' | 'ConnectionSecretTaken' | 'ConnectionSecretFailed';
  message: string;
}

/** Longer texts are left out, since part of a password is useless. */
const MAX_TEXT = 1024;

/** The data for a server that was just read. */
export function connectionData(server: Server): ConnectionData {
  const fields = serverFields(server);
  const { ipv6 = [], ipv4 = [], adminConsole } = fields;
  const ssh = sshEndpoint(fields);
  const { vnc } = server;
  const all: Record<keyof ConnectionData, string | number | undefined> = {
    identifier: server.identifier,
    ipv6: listed(ipv6),
    ipv4: listed(ipv4),
    sshHost: ssh?.host,
    sshPort: ssh && (ssh.port ?? SSH_PORT),
    sshUser: ssh && SSH_USER,
    adminConsoleHost: adminConsole?.hostname,
    adminConsoleUser: adminConsole?.username,
    vncMode: vnc?.mode,
    vncPassword: vnc?.password,
    vncDisplay: vnc?.display,
    vncPort: vnc?.port,
    vncIPv4: vnc?.ipv4,
    vncIPv6: vnc?.ipv6,
  };
  const present = Object.entries(all).map(([key, value]) => [key, value === undefined ? undefined : String(value)]);
  return Object.fromEntries(present.filter(([, value]) => isStorable(value))) as ConnectionData;
}

const listed = (addresses: readonly string[]): string | undefined =>
  addresses.length === 0 ? undefined : addresses.join(',');
const isStorable = (value: string | undefined): boolean =>
  value !== undefined && value.length <= MAX_TEXT && value.isWellFormed();

/**
 * What to write so that the Secret holds `data` (left out: keep its data) and is deleted or kept with its object,
 * following deletionPolicy. `taken`: a Secret of this name exists that was not created for this object.
 */
export function connectionWrite(
  object: VirtualServer,
  name: string,
  present: Secret | undefined,
  data: ConnectionData | undefined,
): { create: NewSecret } | { patch: SecretChanges } | 'same' | 'taken' {
  const holds = data !== undefined && Object.keys(data).length > 0;
  if (present === undefined) return holds ? { create: newSecret(object, name, data) } : 'same';
  if (!isOwn(object, present)) return 'taken';
  const { ownerReferences = [] } = present.metadata;
  const isBound = ownerReferences.some(({ uid }) => uid === object.metadata.uid);
  const others = ownerReferences.filter(({ uid }) => uid !== object.metadata.uid);
  const changes = data === undefined ? {} : differences(present.data, data);
  const patch: SecretChanges = {
    ...(isBound !== goesWith(object) && {
      metadata: { ownerReferences: isBound ? others : [...others, ownerReference(object)] },
    }),
    ...(Object.keys(changes).length > 0 && { data: changes }),
  };
  return Object.keys(patch).length === 0 ? 'same' : { patch };
}

/**
 * The uid annotation decides the owner, not the owner reference: with `Retain` there is no reference, since the garbage
 * collector would delete the Secret with the object.
 */
function isOwn({ metadata: { uid } }: VirtualServer, { type, metadata }: Secret): boolean {
  return type === CONNECTION_SECRET_TYPE && metadata.annotations?.[OWNER_ANNOTATION] === uid;
}

const goesWith = ({ spec }: VirtualServer): boolean => spec.deletionPolicy === 'Delete';

function newSecret(object: VirtualServer, name: string, data: ConnectionData): NewSecret {
  const { namespace, uid } = object.metadata;
  return {
    metadata: {
      namespace,
      name,
      labels: { 'app.kubernetes.io/managed-by': 'vps-operator' },
      annotations: { [OWNER_ANNOTATION]: uid },
      ...(goesWith(object) && { ownerReferences: [ownerReference(object)] }),
    },
    type: CONNECTION_SECRET_TYPE,
    data,
  };
}

/** Without blockOwnerDeletion, which needs a separate permission. */
function ownerReference({ metadata: { name, uid } }: VirtualServer): OwnerReference {
  return { apiVersion: API_VERSION, kind: SERVER_KIND, name, uid };
}

function differences(present: Record<string, string>, data: ConnectionData): Record<string, string | null> {
  const different = CONNECTION_KEYS.filter((key) => present[key] !== data[key]);
  return Object.fromEntries(different.map((key) => [key, data[key] ?? null]));
}

/** The condition, with what to do about it; undefined if the spec names no Secret, or if nothing was done. */
export function connectionCondition(
  { spec: { connectionSecretName: name } }: VirtualServer,
  connection: ConnectionSecretState | undefined,
): ConnectionCondition | undefined {
  if (name === undefined || connection === undefined) return undefined;
  const named = `Secret ${name}, named in spec.connectionSecretName,`;
  switch (connection.state) {
    case 'written':
      return {
        status: 'True',
        reason: 'ConnectionSecretWritten',
        message: `Secret ${name} holds the connection data`,
      };
    case 'disabled':
      return {
        status: 'False',
        reason: 'ConnectionSecretsDisabled',
        message: `${named} is not written, because the operator runs without --connection-secrets. Ask an administrator to add the component connection-secrets, or remove the field`,
      };
    case 'taken':
      return {
        status: 'False',
        reason: 'ConnectionSecretTaken',
        message: `${named} does not belong to this object, so the operator does not change it. Set another name, or inspect that Secret and delete it`,
      };
    case 'failed':
      return {
        status: 'False',
        reason: 'ConnectionSecretFailed',
        message: `${named} is not up to date: ${connection.why}. The operator retries automatically. If the API server answers forbidden, ask an administrator to bind the component connection-secrets in this namespace`,
      };
  }
}
