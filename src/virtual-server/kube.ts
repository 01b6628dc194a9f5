/** The calls to the API server that VirtualServers need. */
import { ALLOW_DELETION_ANNOTATION, SERVER_DEFINITION, SET_DEFINITION } from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { createClient, type Client } from '../kube/client.ts';
import { KubeError } from '../kube/error.ts';
import { FailingReads } from '../kube/failing-reads.ts';
import type { KubeHttp } from '../kube/http.ts';
import { sharedRead } from '../base/shared-read.ts';
import { realTimers, type Timers } from '../base/timers.ts';
import {
  CONFIG_MAPS,
  DEFINITIONS,
  EVENTS,
  SECRETS,
  type ConfigMap,
  type Event,
  type SecretReader,
} from '../kube/kinds.ts';
import { VIRTUAL_SERVERS } from './resource.ts';

/**
 * Deleting the CustomResourceDefinition deletes every object, although no user asked to delete any single one. An
 * annotation can allow it.
 */
export type DefinitionState = 'kept' | 'deleting' | 'deletionAllowed' | 'missing';

/** Calls throw KubeError (see kube/error.ts); each has a deadline. */
export interface Kube extends SecretReader, Pick<Client<VirtualServer>, 'patchMetadata' | 'writeStatus'> {
  /** Like `Client.get`. */
  getVirtualServer: Client<VirtualServer>['get'];
  /** The CustomResourceDefinition of VirtualServers. Reads it every time; KubeError `Forbidden` if that is not allowed. */
  getDefinition(): Promise<DefinitionState>;
  /** The same for VirtualServerSets. */
  getSetDefinition(): Promise<DefinitionState>;
  /** Undefined if the ConfigMap does not exist; KubeError `Forbidden` if the operator may not read it. */
  getConfigMap: Client<ConfigMap>['get'];
  events: Pick<Client<Event>, 'create'>;
  /** The API server's clock (ms since the epoch) according to its last answer; undefined before the first one. */
  serverTime(): number | undefined;
}

/** `timers`: tell since when a read fails. */
export function createKube(http: KubeHttp, timers: Pick<Timers, 'now' | 'monotonic'> = realTimers): Kube {
  const reads = new FailingReads(timers);
  const client = createClient(http, VIRTUAL_SERVERS);
  const secrets = createClient(http, SECRETS);
  const configMaps = createClient(http, CONFIG_MAPS);
  return {
    ...client,
    getVirtualServer: (namespace, name) => client.get(namespace, name),
    getDefinition: definitionReader(http, reads, SERVER_DEFINITION),
    getSetDefinition: definitionReader(http, reads, SET_DEFINITION),
    async getSecret(namespace, name) {
      const secret = await reads.read(`Secret ${namespace}/${name}`, () => secrets.get(namespace, name));
      if (secret === undefined) return undefined;
      const { metadata, type, data } = secret;
      return { type, uid: metadata.uid, data, resourceVersion: metadata.resourceVersion };
    },
    getConfigMap: (namespace, name) =>
      reads.read(`ConfigMap ${namespace}/${name}`, () => configMaps.get(namespace, name)),
    events: createClient(http, EVENTS),
    serverTime: () => http.serverTime(),
  };
}

/** Each deletion needs a read that begins after it has read its object; many deletions can share one. */
function definitionReader(http: KubeHttp, reads: FailingReads, name: string): () => Promise<DefinitionState> {
  const definitions = createClient(http, DEFINITIONS);
  return sharedRead(async () => {
    const definition = await reads.read(name, () => definitions.get('', name));
    if (definition === undefined) return 'missing';
    const { metadata } = definition;
    if (metadata.name !== name) throw new KubeError('BadResponse', `the answer is not ${name}`);
    if (metadata.deletionTimestamp === undefined) return 'kept';
    return metadata.annotations?.[ALLOW_DELETION_ANNOTATION] === 'true' ? 'deletionAllowed' : 'deleting';
  });
}
