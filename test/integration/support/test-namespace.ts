/**
 * One namespace of the real API server as a test's users see it: its objects, Secrets and Events, and waits for them.
 */
import { API_VERSION, FINALIZER, SERVER_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import type { Manifest } from '../../fixtures/virtual-server.ts';
import { Newest } from './newest.ts';

interface Event {
  reason: string;
  note: string;
  type: string;
  eventTime: string;
  regarding: { name: string };
}

const WAIT_MS = 60_000;
const POLL_MS = 25;

export class TestNamespace {
  readonly namespace: string;
  readonly http: KubeHttp;
  /** Values of every Secret created here. */
  protected readonly secrets = new Set<string>();
  readonly #newest: Newest;

  constructor(http: KubeHttp, namespace: string) {
    this.http = http;
    this.namespace = namespace;
    this.#newest = new Newest(http, namespace);
  }

  // --- objects

  #path(name = ''): string {
    return `/apis/${API_VERSION}/namespaces/${this.namespace}/${SERVER_PLURAL}${name && `/${name}`}`;
  }

  /** Creates the object like `kubectl create`. */
  async create(manifest: Manifest): Promise<VirtualServer> {
    return (await this.http.call({ method: 'POST', path: this.#path(), body: manifest })) as VirtualServer;
  }

  async list(): Promise<VirtualServer[]> {
    return ((await this.http.call({ path: this.#path() })) as { items: VirtualServer[] }).items;
  }

  async get(name: string): Promise<VirtualServer | undefined> {
    return (await this.http.call({ path: this.#path(name), absent: name })) as VirtualServer | undefined;
  }

  /** JSON merge patch of the object or of its status. */
  async patch(name: string, body: object, subresource: '' | '/status' = ''): Promise<VirtualServer> {
    const contentType = 'application/merge-patch+json';
    const path = this.#path(name) + subresource;
    return (await this.http.call({ method: 'PATCH', path, body, contentType })) as VirtualServer;
  }

  /** Short names: `adopt` means `vps-operator.dev/adopt`; null removes the annotation. */
  annotate(name: string, annotations: Record<string, string | null>): Promise<VirtualServer> {
    const full = Object.entries(annotations).map(([key, value]) => [`vps-operator.dev/${key}`, value]);
    return this.patch(name, { metadata: { annotations: Object.fromEntries(full) as object } });
  }

  /** Requests the deletion; does not wait for it. */
  async delete(name: string): Promise<void> {
    await this.http.call({ method: 'DELETE', path: this.#path(name), absent: name });
  }

  /** Replaces the object like `kubectl replace`; the status stays. */
  async replace(name: string, manifest: Manifest): Promise<VirtualServer> {
    const present = await this.get(name);
    const metadata = { ...manifest.metadata, resourceVersion: present?.metadata.resourceVersion };
    return (await this.http.call({
      method: 'PUT',
      path: this.#path(name),
      body: { ...manifest, metadata },
    })) as VirtualServer;
  }

  async putSecret(name: string, data: object, namespace = this.namespace): Promise<void> {
    for (const value of Object.values(data)) if (String(value).length > 5) this.secrets.add(String(value));
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    await this.http.call({ method: 'DELETE', path: `${path}/${name}`, absent: name });
    await this.http.call({ method: 'POST', path, body: { metadata: { name }, stringData: data } });
  }

  async deleteSecret(name: string): Promise<void> {
    await this.http.call({ method: 'DELETE', path: `/api/v1/namespaces/${this.namespace}/secrets/${name}` });
  }

  /** Events of one object, oldest first. */
  async events(name: string): Promise<Event[]> {
    const own = (await this.allEvents()).filter((event) => event.regarding.name === name);
    return own.sort((a, b) => a.eventTime.localeCompare(b.eventTime));
  }

  protected async allEvents(): Promise<Event[]> {
    const path = `/apis/events.k8s.io/v1/namespaces/${this.namespace}/events`;
    return ((await this.http.call({ path })) as { items: Event[] }).items;
  }

  // --- waiting on conditions

  /** The object once it meets the condition; on timeout, fails with the object's status. */
  async waitFor(
    name: string,
    condition: (object: VirtualServer) => boolean,
    what = String(condition),
  ): Promise<VirtualServer> {
    return this.#newest.follow(name, async (newest) => {
      let last: VirtualServer | undefined;
      await this.until(
        () => (last = newest()) !== undefined && condition(last),
        () => `${name}: ${what}; its status is ${JSON.stringify(last?.status, undefined, 1)}`,
      );
      return last as VirtualServer;
    });
  }

  /** Waits until a condition (any, or of the named type) has this reason for the present generation. */
  waitForReason(name: string, reason: string, type?: string): Promise<VirtualServer> {
    const holds = (object: VirtualServer): boolean =>
      object.status?.conditions?.some(
        (condition) =>
          condition.reason === reason &&
          (type === undefined || condition.type === type) &&
          condition.observedGeneration === object.metadata.generation,
      ) === true;
    return this.waitFor(name, holds, `reason ${reason}`);
  }

  async waitGone(name: string): Promise<void> {
    await this.#newest.follow(name, async (newest) => {
      let last: VirtualServer | undefined;
      await this.until(
        () => (last = newest()) === undefined,
        () => `${name} to be gone; it is now ${JSON.stringify(last, undefined, 1)}`,
      );
    });
  }

  /** Polls until the condition holds; the timeout is only an upper bound. */
  async until(condition: () => boolean | Promise<boolean>, what: string | (() => string)): Promise<void> {
    const deadline = Date.now() + WAIT_MS;
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(`timed out waiting for ${typeof what === 'string' ? what : what()}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Removes all objects, whatever holds them. */
  protected async removeObjects(): Promise<void> {
    for (const { metadata } of await this.list()) {
      if (metadata.finalizers?.includes(FINALIZER))
        await this.patch(metadata.name, { metadata: { finalizers: [] } }).catch(() => undefined);
      await this.delete(metadata.name);
    }
  }
}
