/** The calls of the controller to the API server; each is one request. */
import { hostname } from 'node:os';
import { API_VERSION, GROUP, KIND } from '../api/names.ts';
import { readDefinition } from './definition.ts';
import type { KubeHttp } from './http.ts';
import { mergePatch } from './merge-patch.ts';
import { FIELD_MANAGER, MERGE_PATCH } from './patch.ts';
import { collectionOf, VIRTUAL_SERVERS, type KubeObject, type Resource } from './resource.ts';
import { getSecret } from './secrets.ts';
import type { EventInput, Kube, ObjectVersion } from './types.ts';
import { asVirtualServer, objectPath } from './virtual-server-api.ts';

/** Bounds of events.k8s.io/v1; the API server refuses a longer one. */
const MAX_NOTE_BYTES = 1024;
const MAX_EVENT_WORD = 128;

export interface KubeOptions {
  /** Shared with the informer; `Kube.close` closes it. */
  http: KubeHttp;
  now?: () => Date;
}

export function createKube({ http, now = () => new Date() }: KubeOptions): Kube {
  return {
    async getVirtualServer(namespace, name) {
      const object = await http.call({ path: objectPath(namespace, name), absent: name });
      return object === undefined ? undefined : asVirtualServer(object);
    },

    getDefinition: () => readDefinition(http),

    patchMetadata: (version, changes) =>
      // Compared before the patch is applied: 409 for another version, 422 for another uid.
      patch(http, VIRTUAL_SERVERS, objectPath(version.namespace, version.name), {
        metadata: { uid: version.uid, resourceVersion: version.resourceVersion, ...changes },
      }),

    writeStatus: (version, previous, status) => patchStatus(http, VIRTUAL_SERVERS, version, previous, status),

    async getSecret(namespace, name) {
      const secret = await getSecret(http, namespace, name);
      return secret && { data: secret.data, resourceVersion: secret.metadata.resourceVersion };
    },

    async createEvent(event) {
      const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(event.regarding.namespace)}/events`;
      await http.call({
        method: 'POST',
        path,
        query: { fieldManager: FIELD_MANAGER },
        body: eventObject(event, now()),
      });
    },

    serverTime: () => http.serverTime(),

    close: () => http.close(),
  };
}

/** Makes the status exactly `status`; `previous` is the one at that version. */
export function patchStatus<T extends KubeObject>(
  http: KubeHttp,
  resource: Resource<T>,
  { namespace, name, resourceVersion }: ObjectVersion,
  previous: object | undefined,
  status: object,
): Promise<T> {
  return patch(http, resource, `${collectionOf(resource, namespace)}/${encodeURIComponent(name)}/status`, {
    // /status ignores a uid (seen with 1.36); an object created anew has a newer version, so that one suffices.
    metadata: { resourceVersion },
    status: mergePatch(previous ?? {}, status),
  });
}

async function patch<T extends KubeObject>(
  http: KubeHttp,
  { parse }: Resource<T>,
  path: string,
  body: object,
): Promise<T> {
  const query = { fieldManager: FIELD_MANAGER };
  return parse(await http.call({ method: 'PATCH', path, query, body, contentType: MERGE_PATCH }));
}

function eventObject({ regarding, type, reason, action, note }: EventInput, now: Date): object {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: regarding.namespace, generateName: `${regarding.name}-` },
    eventTime: now.toISOString().replace('Z', '000Z'),
    reportingController: `${GROUP}/operator`,
    reportingInstance: `${hostname()}-${process.pid}`.slice(-MAX_EVENT_WORD),
    regarding: { apiVersion: API_VERSION, kind: KIND, ...regarding },
    type,
    reason,
    action: action.slice(0, MAX_EVENT_WORD),
    note: clampBytes(note, MAX_NOTE_BYTES),
  };
}

function clampBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit;
  // Back to the start of a character: continuation bytes are 10xxxxxx.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
