/** The calls to the API server that VirtualServers need. */
import { SERVER_DEFINITION, SET_DEFINITION } from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { createClient, type Client } from '../kube/client.ts';
import { sharedRead } from '../base/shared-read.ts';
import { readDefinition } from '../kube/definition.ts';
import { eventCreator, type CreateEvent } from '../kube/events.ts';
import type { KubeHttp } from '../kube/http.ts';
import { getSecret } from '../kube/secrets.ts';
import type { DefinitionState, SecretReader } from '../kube/types.ts';
import { VIRTUAL_SERVERS } from './resource.ts';

/** Calls throw KubeError (see kube/error.ts); each has a deadline. */
export interface Kube extends SecretReader, Pick<Client<VirtualServer>, 'patchMetadata' | 'writeStatus'> {
  /** Like `Client.get`. */
  getVirtualServer: Client<VirtualServer>['get'];
  /** The CustomResourceDefinition of VirtualServers. Reads it every time; KubeError `Forbidden` if that is not allowed. */
  getDefinition(): Promise<DefinitionState>;
  /** The same for VirtualServerSets. */
  getSetDefinition(): Promise<DefinitionState>;
  createEvent: CreateEvent;
  /** The API server's clock (ms since the epoch) according to its last answer; undefined before the first one. */
  serverTime(): number | undefined;
}

/** `now` sets the times of Events. */
export function createKube(http: KubeHttp, now?: () => Date): Kube {
  const client = createClient(http, VIRTUAL_SERVERS);
  return {
    ...client,
    getVirtualServer: (namespace, name) => client.get(namespace, name),
    // Each deletion needs a read that begins after it has read its object; many deletions can share one.
    getDefinition: sharedRead(() => readDefinition(http, SERVER_DEFINITION)),
    getSetDefinition: sharedRead(() => readDefinition(http, SET_DEFINITION)),
    async getSecret(namespace, name) {
      const secret = await getSecret(http, namespace, name);
      return secret && { data: secret.data, resourceVersion: secret.metadata.resourceVersion };
    },
    createEvent: eventCreator(http, now),
    serverTime: () => http.serverTime(),
  };
}
