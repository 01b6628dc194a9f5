/** Writes events.k8s.io/v1 Events about the operator's objects. */
import { hostname } from 'node:os';
import { API_VERSION, GROUP } from '../api/names.ts';
import { FIELD_MANAGER } from './client.ts';
import type { KubeHttp } from './http.ts';

/** Limits of events.k8s.io/v1; the API server rejects longer values. */
const MAX_NOTE_BYTES = 1024;
const MAX_WORD = 128;

export interface EventInput {
  /** An object of the operator's API group. */
  regarding: { kind: string; namespace: string; name: string; uid: string; resourceVersion: string };
  type: 'Normal' | 'Warning';
  /** CamelCase, from api/conditions.ts. */
  reason: string;
  /** What the operator did or tried: a CamelCase verb of at most 128 characters. */
  action: string;
  /** At most 1024 characters. */
  note: string;
}

/** Creates one Event. Throws KubeError. */
export type CreateEvent = (event: EventInput) => Promise<void>;

export function eventCreator(http: KubeHttp, now: () => Date = () => new Date()): CreateEvent {
  return async (event) => {
    const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(event.regarding.namespace)}/events`;
    await http.call({ method: 'POST', path, query: { fieldManager: FIELD_MANAGER }, body: eventObject(event, now()) });
  };
}

function eventObject({ regarding, type, reason, action, note }: EventInput, now: Date): object {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: regarding.namespace, generateName: `${regarding.name}-` },
    eventTime: now.toISOString().replace('Z', '000Z'),
    reportingController: `${GROUP}/operator`,
    reportingInstance: `${hostname()}-${process.pid}`.slice(-MAX_WORD),
    regarding: { apiVersion: API_VERSION, ...regarding },
    type,
    reason,
    action: action.slice(0, MAX_WORD),
    note: clampBytes(note, MAX_NOTE_BYTES),
  };
}

function clampBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit;
  // Move back to the start of a UTF-8 character: continuation bytes are 10xxxxxx.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
