/** The connection Secret (`spec.connectionSecretName`): its content, its owner, and what to write. Pure. */
import { API_VERSION, CONNECTION_SECRET_TYPE, OWNER_ANNOTATION, SERVER_KIND } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { NewSecret, OwnerReference, Secret, SecretChanges } from '../../kube/kinds.ts';
import type { Server } from '../../provider/types.ts';
import { knownHosts, type HostKey } from './host-keys.ts';
import { SSH_PORT, SSH_USER, serverFields, sshEndpoint } from './server-status.ts';

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
  'known_hosts',
] as const;

/** The Secret does not have keys that are left out here. */
export type ConnectionData = Partial<Record<(typeof CONNECTION_KEYS)[number], string>>;

/** The result of writing the Secret. */
export type ConnectionSecretState =
  { state: 'written' | 'disabled' | 'observed' | 'taken' } | { state: 'failed'; why: string };

/** The condition ConnectionSecret. */
export interface ConnectionCondition {
  status: 'True' | 'False';
  reason: 'ConnectionSecretWritten' | 'ConnectionSecretsDisabled' | 'ConnectionSecretTaken' | 'ConnectionSecretFailed';
  message: string;
}

/** Longer texts are left out, since part of a password is useless. */
const MAX_TEXT = 1024;

/** The data for a server that was just read. */
export function connectionData(server: Server, hostKeys: readonly HostKey[]): ConnectionData {
  const fields = serverFields(server);
  const { ipv6 = [], ipv4 = [], adminConsole } = fields;
  const ssh = sshEndpoint(fields);
  const { vnc } = server;
  const all: Record<Exclude<keyof ConnectionData, 'known_hosts'>, string | number | undefined> = {
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
  const stored = Object.fromEntries(present.filter(([, value]) => isStorable(value))) as ConnectionData;
  const known = knownHosts(fields, hostKeys);
  return { ...stored, ...(known !== undefined && { known_hosts: known }) };
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
    case 'observed':
      return {
        status: 'False',
        reason: 'ConnectionSecretsDisabled',
        message: `${named} is not written, because the operator only observes (--observe-only)`,
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
