/**
 * Simulated users of connection Secrets: they name them, take their names, edit and delete them, and change servers.
 */
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import type { Truth } from './caretaker.ts';
import type { Orders } from './orders.ts';
import type { Ownership } from './ownership.ts';
import type { Random } from './random.ts';
import type { SecretEdit } from './secret-store.ts';

/** Objects that use this name compete for the same Secret. */
const SHARED = 'connection';

export interface Surroundings {
  api: ApiServer;
  simulation: Simulation;
  random: Random;
  truth: Truth;
  ownership: Ownership;
  orders: Orders;
  now: () => number;
  /** A random object, if any exists. */
  any: () => VirtualServer | undefined;
  tell: (what: string) => void;
}

export class Connections {
  readonly #around: Surroundings;
  #changes = 0;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** A Secret name that an object may use. */
  nameFor(name: string): string {
    return this.#around.random.pick([SHARED, `${name}-connection`, `${name}-connection`, `${name}-other`]);
  }

  /** Does one random action; some are refused, as a real API server would refuse them. */
  act(): void {
    const { random, any } = this.#around;
    const object = any();
    if (object === undefined) return;
    const acts = [
      () => this.#rename(object),
      () => this.#rename(object),
      () => this.#switchPolicy(object),
      () => this.#switchPolicy(object),
      () => this.#takeName(object),
      () => this.#edit(object),
      () => this.#edit(object),
      () => this.#delete(object),
      () => this.#changeServer(),
      () => this.#changeServer(),
      () => this.#changeServer(),
    ];
    random.pick(acts)();
  }

  #rename({ metadata: { namespace, name } }: VirtualServer): void {
    const { api, random, tell } = this.#around;
    const connectionSecretName = random.chance(0.25) ? undefined : this.nameFor(name);
    tell(`connectionSecretName=${connectionSecretName ?? ''} ${namespace}/${name}`);
    api.servers.editSpec(namespace, name, { connectionSecretName });
  }

  #switchPolicy({ metadata: { namespace, name, uid }, spec }: VirtualServer): void {
    const { api, truth, now, tell } = this.#around;
    const deletionPolicy = spec.deletionPolicy === 'Delete' ? 'Retain' : 'Delete';
    tell(`deletionPolicy=${deletionPolicy} ${namespace}/${name}`);
    api.servers.editSpec(namespace, name, { deletionPolicy });
    truth.guardedAt.set(uid, now());
  }

  /** Creates a Secret that resembles the operator's own, under a name that the operator may want to use. */
  #takeName({ metadata: { namespace, name, uid }, spec }: VirtualServer): void {
    const { api, random, tell } = this.#around;
    const place = spec.connectionSecretName ?? this.nameFor(name);
    const annotations = random.pick<Record<string, string>>([
      {},
      { [OWNER_ANNOTATION]: uid },
      { [OWNER_ANNOTATION]: 'uid-of-another' },
    ]);
    const isTyped = annotations[OWNER_ANNOTATION] !== uid && random.chance(0.5);
    tell(`foreign Secret ${namespace}/${place}`);
    const type = isTyped ? CONNECTION_SECRET_TYPE : 'Opaque';
    api.secrets.create(
      { metadata: { namespace, name: place, annotations }, type, data: { password: 'theirs' } },
      'person',
    );
  }

  #edit({ metadata: { namespace, uid }, spec: { connectionSecretName: name } }: VirtualServer): void {
    const { api, random, tell } = this.#around;
    if (name === undefined) return;
    const edits: SecretEdit[] = [
      { data: { note: random.hex(4) } },
      { data: { note: null, identifier: null, sshHost: 'elsewhere.example' } },
      { ownerReferences: [] },
      { annotations: { 'example.org/note': random.hex(4) } },
      { annotations: { [OWNER_ANNOTATION]: random.pick([null, 'uid-of-another']) } },
    ];
    const edit = random.pick(edits);
    tell(`edit Secret ${namespace}/${name} of ${uid}: ${JSON.stringify(edit)}`);
    api.secrets.edit({ namespace, name }, edit);
  }

  #delete({ metadata: { namespace }, spec: { connectionSecretName: name } }: VirtualServer): void {
    if (name === undefined) return;
    this.#around.tell(`delete Secret ${namespace}/${name}`);
    this.#around.api.secrets.delete(namespace, name);
  }

  /** Changes a server in the customer panel. */
  #changeServer(): void {
    const { simulation, random, tell } = this.#around;
    const alive = simulation.aliveServers();
    if (alive.length === 0) return;
    const { identifier } = random.pick(alive);
    const server = simulation.fleet.find('default', identifier)?.object;
    if (server === undefined) return;
    const change = ++this.#changes;
    simulation.fleet.updateServer(
      identifier,
      random.pick([
        { vnc: { ...server.vnc, mode: 'enabled', password: `vnc-password-new-${change}` } },
        { vnc: { ...server.vnc, port: 5900 + change, ipv4: `192.0.2.${change % 250}` } },
        { ipv6: [...server.ipv6, `2001:db8:f::${change.toString(16)}`].slice(-2) },
        { ipv4: random.chance(0.5) ? [] : [`198.51.100.${change % 250}`] },
        { ssh_proxy: { ...server.ssh_proxy, port: 20_000 + change } },
        { admin_console: { ...server.admin_console, username: `admin-${change}` } },
      ]),
    );
    tell(`server ${identifier} changes at the provider`);
  }
}
