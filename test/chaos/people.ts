/** What people do to the objects and Secrets of one namespace, past every proxy. */
import { randomUUID } from 'node:crypto';
import {
  API_VERSION,
  CATALOG_KIND,
  CATALOG_PLURAL,
  DEFAULT_API_KEY_SECRET,
  RECORD_ANNOTATION,
  SERVER_PLURAL,
  SET_KIND,
  SET_PLURAL,
} from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { VirtualServer, VirtualServerSpec } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet, VirtualServerSetSpec } from '../../src/api/virtual-server-set.ts';
import type { KubeHttp } from '../../src/kube/http.ts';
import { createClient } from '../../src/kube/client.ts';
import { SECRETS, type Secret } from '../../src/kube/kinds.ts';
import { DEFAULT_KEY, type Key } from '../../src/simulator/index.ts';
import { sshKeyOf, virtualServer, withAnnotations, withSpec, type Manifest } from '../fixtures/virtual-server.ts';
import type { KnownObjects } from './objects.ts';

/** What a scenario says of a set. */
type SetManifestSpec = Pick<VirtualServerSetSpec, 'replicas'> & {
  strategy?: object;
  template: { metadata?: { annotations: Record<string, string> }; spec?: Partial<VirtualServerSpec> };
};

const MERGE_PATCH = 'application/merge-patch+json';

export class People {
  /** Every secret value that a Secret has held. */
  readonly secrets: string[] = [];
  /** Number of objects created so far. */
  applied = 0;
  readonly #http: KubeHttp;
  readonly #namespace: string;
  readonly #objects: KnownObjects;

  constructor(http: KubeHttp, namespace: string, objects: KnownObjects) {
    this.#http = http;
    this.#namespace = namespace;
    this.#objects = objects;
  }

  async makeNamespace(): Promise<void> {
    const body = { metadata: { name: this.#namespace } };
    await this.#http.call({ method: 'POST', path: '/api/v1/namespaces', body });
  }

  /** The Secret as the API server returns it now. */
  secret(name: string): Promise<Secret | undefined> {
    return createClient(this.#http, SECRETS).get(this.#namespace, name);
  }

  /** The objects as the API server returns them now. */
  async list(): Promise<{ items: VirtualServer[] }> {
    return (await this.#http.call({ path: this.#path() })) as { items: VirtualServer[] };
  }

  /** Creates an object with a unique SSH key, which shows which object a server was ordered for. */
  async apply(name: string, spec: Manifest['spec'] = {}, annotations: Record<string, string> = {}): Promise<void> {
    const sshKeys = [sshKeyOf(`${name}-${randomUUID()}`)];
    const manifest = virtualServer(name, withSpec({ sshKeys, ...spec }), withAnnotations(annotations));
    this.#saw(await this.#http.call({ method: 'POST', path: this.#path(), body: manifest }));
    this.applied += 1;
  }

  /** Does nothing if the object is gone. */
  async edit(name: string, change: { spec?: object; annotations?: Record<string, string | null> }): Promise<void> {
    const { spec, annotations } = change;
    await this.#patch(name, { ...(spec && { spec }), ...(annotations && { metadata: { annotations } }) });
  }

  /** Both copies of the record become what another version has left of them. */
  async rewriteRecord(name: string, change: (copy: Record<string, unknown>) => object): Promise<void> {
    const { metadata, status } = (await this.#http.call({ path: this.#path(name) })) as VirtualServer;
    const text = metadata.annotations?.[RECORD_ANNOTATION];
    if (text !== undefined) {
      const copy = JSON.parse(text) as Record<string, unknown>;
      await this.edit(name, { annotations: { [RECORD_ANNOTATION]: JSON.stringify(change(copy)) } });
    }
    if (status?.record === undefined) return;
    const record = change(status.record);
    // A merge patch keeps what it does not name.
    const removed = Object.fromEntries(Object.keys(status.record).map((key) => [key, null]));
    const body = { status: { record: { ...removed, ...record } } };
    const path = `${this.#path(name)}/status`;
    this.#saw(await this.#http.call({ method: 'PATCH', path, body, contentType: MERGE_PATCH }));
  }

  async remove(name: string): Promise<void> {
    const known = this.#objects.object(name);
    const answer = await this.#http.call({ method: 'DELETE', path: this.#path(name), absent: name });
    this.#saw(answer);
    // An immediate deletion is answered with a Status.
    if ((answer as { kind?: string } | undefined)?.kind === 'Status' && known !== undefined) this.#objects.gone(known);
  }

  async putSecret({ keyId, secret }: Key = DEFAULT_KEY, name = DEFAULT_API_KEY_SECRET): Promise<void> {
    this.secrets.push(secret);
    const path = `/api/v1/namespaces/${this.#namespace}/secrets`;
    const stringData = { keyId, secret };
    await this.#http.call({ method: 'DELETE', path: `${path}/${name}`, absent: name });
    await this.#http.call({ method: 'POST', path, body: { metadata: { name }, stringData } });
  }

  async applyCatalog(name: string): Promise<void> {
    const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name }, spec: {} };
    const answer = await this.#http.call({ method: 'POST', path: this.#catalogs(), body });
    this.#objects.sawCatalog(answer as ServerCatalog);
  }

  async editCatalog(name: string, change: { spec?: object; metadata?: object }): Promise<void> {
    const options = { method: 'PATCH', body: change, contentType: MERGE_PATCH } as const;
    const answer = await this.#http.call({ ...options, path: `${this.#catalogs()}/${name}` });
    this.#objects.sawCatalog(answer as ServerCatalog);
  }

  async applySet(name: string, spec: SetManifestSpec): Promise<void> {
    const { template, ...rest } = spec;
    const full = { ...virtualServer('template').spec, ...template.spec };
    const body = {
      apiVersion: API_VERSION,
      kind: SET_KIND,
      metadata: { name },
      spec: { ...rest, template: { spec: full } },
    };
    this.#objects.sawSet((await this.#http.call({ method: 'POST', path: this.#sets(), body })) as VirtualServerSet);
  }

  async editSet(spec: Partial<SetManifestSpec>): Promise<void> {
    const path = `${this.#sets()}/${this.#objects.set?.metadata.name ?? ''}`;
    const answer = await this.#http.call({ method: 'PATCH', path, body: { spec }, contentType: MERGE_PATCH });
    this.#objects.sawSet(answer as VirtualServerSet);
  }

  /** The catalogs as the API server returns them now. */
  async catalogs(): Promise<ServerCatalog[]> {
    return ((await this.#http.call({ path: this.#catalogs() })) as { items: ServerCatalog[] }).items;
  }

  /** Reads the object's current state. */
  async viewOf(name: string): Promise<void> {
    this.#saw(await this.#http.call({ path: this.#path(name), absent: name }));
  }

  /** Removes everything that a plan has left behind. */
  async removeAll(): Promise<void> {
    if (this.#objects.catalog !== undefined) await this.#http.call({ method: 'DELETE', path: this.#catalogs() });
    if (this.#objects.set !== undefined) await this.#http.call({ method: 'DELETE', path: this.#sets() });
    for (const { metadata } of (await this.list()).items) {
      await this.#patch(metadata.name, { metadata: { finalizers: null } });
      await this.remove(metadata.name);
    }
  }

  async #patch(name: string, body: object): Promise<void> {
    const path = this.#path(name);
    this.#saw(await this.#http.call({ method: 'PATCH', path, body, contentType: MERGE_PATCH, absent: name }));
  }

  #saw(answer: unknown): void {
    const object = answer as VirtualServer | undefined;
    if (object?.kind === 'VirtualServer') this.#objects.saw(object);
  }

  #catalogs(): string {
    return `/apis/${API_VERSION}/namespaces/${this.#namespace}/${CATALOG_PLURAL}`;
  }

  #sets(): string {
    return `/apis/${API_VERSION}/namespaces/${this.#namespace}/${SET_PLURAL}`;
  }

  #path(name = ''): string {
    return `/apis/${API_VERSION}/namespaces/${this.#namespace}/${SERVER_PLURAL}${name && `/${name}`}`;
  }
}
