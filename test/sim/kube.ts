/** Calls to the modelled API server over a network that delays, loses and cuts. */
import type { VirtualServer, VirtualServerStatus } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { Leases } from '../../src/kube/leases.ts';
import type { Secrets, SecretObject } from '../../src/kube/secrets.ts';
import type { DefinitionState, MetadataPatch, ObjectVersion, ReadSecret } from '../../src/kube/types.ts';
import type { EventInput } from '../../src/kube/events.ts';
import type { Kube } from '../../src/virtual-server/kube.ts';
import type { ApiServer } from './api-server.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Weather } from './weather.ts';

export interface Network {
  scheduler: Scheduler;
  random: Random;
  /** Between operator and API server. */
  kube: Weather;
  /** Between operator and service. */
  service: Weather;
  /** How often SSH servers do not answer. */
  silentSsh: number;
  /** Whether the disks of the journals take no line at present. */
  diskFull?: boolean;
}

const DEADLINE_MS = 15_000;

export class SimKube implements Kube {
  readonly #network: Network;
  readonly #api: ApiServer;
  readonly #owner: object;

  constructor(network: Network, api: ApiServer, owner: object) {
    this.#network = network;
    this.#api = api;
    this.#owner = owner;
  }

  getVirtualServer(namespace: string, name: string): Promise<VirtualServer | undefined> {
    return this.#call(() => this.#api.get(namespace, name));
  }

  getDefinition(): Promise<DefinitionState> {
    return this.#call(() => this.#api.definition);
  }

  patchMetadata(version: ObjectVersion, patch: MetadataPatch): Promise<VirtualServer> {
    return this.#write(() => this.#api.patchMetadata(version, patch));
  }

  writeStatus(
    version: ObjectVersion,
    _previous: VirtualServerStatus | undefined,
    status: VirtualServerStatus,
  ): Promise<VirtualServer> {
    return this.#write(() => {
      const { random, kube } = this.#network;
      if (random.chance(kube.statusRefused)) throw new KubeError('Forbidden', 'denied by a policy', { status: 403 });
      return this.#api.writeStatus(version, status);
    });
  }

  serverTime(): number {
    return this.#network.scheduler.now;
  }

  getSecret(namespace: string, name: string): Promise<ReadSecret | undefined> {
    return this.#call(() => {
      const secret = this.#api.secrets.get(namespace, name);
      return secret && { data: secret.data, resourceVersion: secret.metadata.resourceVersion };
    });
  }

  createEvent(event: EventInput): Promise<void> {
    return this.#call(() => void this.#api.events.push(event));
  }

  secrets(): Secrets {
    const { secrets } = this.#api;
    return {
      get: (namespace, name) => this.#call(() => secrets.get(namespace, name)),
      create: (secret) => this.#call(() => secrets.create(secret), quoted).then(() => undefined),
      patch: (version, changes) => this.#call(() => secrets.patch(version, changes), quoted).then(() => undefined),
    };
  }

  leases(): Leases {
    const api = this.#api;
    return {
      get: () => this.#call(() => api.lease),
      create: (state) => this.#call(() => api.writeLease(state, undefined)),
      update: ({ resourceVersion, ...state }) => this.#call(() => api.writeLease(state, resourceVersion)),
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** A write of an object, which a proxy may answer with a conflict although it was applied. */
  #write<T>(process: () => T): Promise<T> {
    return this.#call(() => {
      const written = process();
      const { random, kube } = this.#network;
      if (random.chance(kube.conflictAfterApplied))
        throw new KubeError('Conflict', 'the object has been modified', { status: 409 });
      return written;
    });
  }

  /**
   * `process` runs when the request arrives, even if the caller is dead by then; the answer needs a living one.
   * `quote`: what an error 500 says of what was processed.
   */
  #call<T>(process: () => T, quote: (value: T) => string = () => 'internal error'): Promise<T> {
    const { scheduler, random, kube } = this.#network;
    const owner = this.#owner;
    return new Promise((resolve, reject) => {
      const unreachable = (): void => reject(new KubeError('Unreachable', 'no answer from the API server'));
      const isLost = random.chance(kube.lost);
      const arrives = !isLost || random.chance(0.5);
      if (isLost) scheduler.after(random.chance(0.3) ? DEADLINE_MS : random.int(1, 50), unreachable, owner);
      if (!arrives) return;
      scheduler.after(random.int(0, kube.delayMs), () => {
        const answer = attempt(process);
        if (isLost) return;
        const failed = random.chance(kube.error);
        scheduler.after(
          random.int(0, kube.delayMs),
          () => {
            const said = answer.ok ? quote(answer.value) : 'internal error';
            if (failed) reject(new KubeError('ServerError', said, { status: 500 }));
            else if (answer.ok) resolve(answer.value);
            else reject(answer.error);
          },
          owner,
        );
      });
    });
  }
}

function attempt<T>(run: () => T): { ok: true; value: T } | { ok: false; error: Error } {
  try {
    return { ok: true, value: run() };
  } catch (error) {
    if (error instanceof KubeError) return { ok: false, error };
    throw error;
  }
}

/** As an admission webhook that has failed, and says about what; values as they stand in the API. */
function quoted({ metadata: { name }, data }: SecretObject): string {
  const encoded = Object.entries(data).map(([key, value]) => `${key}: ${Buffer.from(value).toString('base64')}`);
  return `failed calling webhook for Secret ${name}: {${encoded.join(', ')}}`;
}
