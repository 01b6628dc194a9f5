/** A test namespace with an API key, and the VirtualServers in it. */
import { onTestFinished } from 'vitest';
import { API_VERSION, SERVER_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { apply, kubectl, until } from './cluster.ts';

const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdTYs0rmVsWT1a8iSZmDU4YzKNWQTbAwbmuxGrBWxyz';

export class Servers {
  readonly namespace: string;
  readonly #http: KubeHttp;

  constructor(http: KubeHttp, namespace: string) {
    this.#http = http;
    this.namespace = namespace;
  }

  /** The SSH key names the order: it is unique per object, and the provider's ledger shows it. */
  sshKey(name: string): string {
    return `${PUBLIC_KEY} ${name}@${this.namespace}`;
  }

  async apply(...names: string[]): Promise<void> {
    const manifests = names.map((name) => virtualServer(name, withSpec({ sshKeys: [this.sshKey(name)] })));
    const items = manifests.map(({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, namespace: this.namespace },
    }));
    await apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  }

  async get(name: string): Promise<VirtualServer | undefined> {
    return (await this.#http.call({ path: this.#path(name), absent: name })) as VirtualServer | undefined;
  }

  waitFor(
    name: string,
    what: string,
    holds: (object: VirtualServer) => boolean,
    timeoutMs?: number,
  ): Promise<VirtualServer> {
    const look = async (): Promise<VirtualServer | false> => {
      const object = await this.get(name);
      return object !== undefined && holds(object) && object;
    };
    return until(`${this.namespace}/${name}: ${what}`, look, timeoutMs);
  }

  /** Waits for this reason in any condition. */
  waitForReason(name: string, reason: string): Promise<VirtualServer> {
    const holds = ({ status }: VirtualServer): boolean =>
      status?.conditions?.some((condition) => condition.reason === reason) === true;
    return this.waitFor(name, reason, holds);
  }

  async waitReady(...names: string[]): Promise<void> {
    for (const name of names) await this.waitForReason(name, 'Available');
  }

  async annotate(name: string, annotation: string, value: string): Promise<void> {
    await kubectl('-n', this.namespace, 'annotate', 'vps', name, `vps-operator.dev/${annotation}=${value}`);
  }

  /** Deletes the objects and waits until they are gone. */
  async delete(...names: string[]): Promise<void> {
    await kubectl('-n', this.namespace, 'delete', 'vps', ...names, '--timeout=120s');
  }

  async deleteNamespace(): Promise<void> {
    await kubectl('delete', 'namespace', this.namespace, '--timeout=180s', '--ignore-not-found');
  }

  #path(name: string): string {
    return `/apis/${API_VERSION}/namespaces/${this.namespace}/${SERVER_PLURAL}/${name}`;
  }
}

/** Creates the namespace, and deletes it with everything in it when the test ends. */
export async function createServers(http: KubeHttp, name: string): Promise<Servers> {
  const namespace = `e2e-${name}-${Date.now().toString(36)}`;
  const servers = new Servers(http, namespace);
  await kubectl('create', 'namespace', namespace);
  onTestFinished(() => servers.deleteNamespace(), 180_000);
  await putApiKey(namespace, 'vps-api-key');
  return servers;
}

export async function putApiKey(namespace: string, name: string): Promise<void> {
  const { keyId, secret } = DEFAULT_KEY;
  const literals = [`--from-literal=keyId=${keyId}`, `--from-literal=secret=${secret}`];
  await kubectl('-n', namespace, 'create', 'secret', 'generic', name, ...literals);
}
