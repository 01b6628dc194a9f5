/** People who change servers in place, under each policy, and who look after a server that the operator cannot shut down. */
import { MEMBER_TEMPLATE_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import { CHOICES, type VariantOptions } from '../../src/simulator/variants.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import { staysOff } from './power.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;
const POLICIES = ['Never', 'Online', 'Online', 'AllowStop', 'AllowStop'] as const;
const RUNNING = 'running';
const SHUTTING_DOWN = 'shutting down';
const SHUT_DOWN = 'shut down';

/** What a provider does with changes and with the power of servers. */
export const drawChanges = (random: Random): VariantOptions => ({
  changes: random.pick(['at-once', 'at-once', 'at-restart', 'at-restart', 'unseen', 'excluding', 'missing']),
  changeTakesMs: random.pick([0, 0, 20_000, 3 * MINUTE]),
  shutdown: random.pick(['obeyed', 'obeyed', 'obeyed', 'queued', 'ignored', 'unfinished']),
  shutdownMs: random.pick([0, 20_000, 3 * MINUTE, 8 * MINUTE, 20 * MINUTE]),
  power: random.pick(['all', 'all', 'all', 'missing']),
  startsAfterMs: random.pick([Infinity, Infinity, 30_000, 5 * MINUTE]),
  refusedStatus: random.pick(CHOICES.refusedStatus),
});

interface Parts {
  api: ApiServer;
  simulation: Simulation;
  random: Random;
  tell: (what: string) => void;
  /** Whether the provider can start servers. */
  canStart: boolean;
}

export class ChangePeople {
  readonly #api: ApiServer;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #tell: (what: string) => void;
  readonly #canStart: boolean;

  constructor({ api, simulation, random, tell, canStart }: Parts) {
    this.#api = api;
    this.#simulation = simulation;
    this.#random = random;
    this.#tell = tell;
    this.#canStart = canStart;
  }

  /** Edits one object; the API server may refuse that. */
  act(): void {
    const random = this.#random;
    // Nobody edits the members of a set, or what was one and may be one again. Most changes are of servers that are there.
    const isMember = ({ ownerReferences, annotations }: VirtualServer['metadata']): boolean =>
      ownerReferences !== undefined || annotations?.[MEMBER_TEMPLATE_ANNOTATION] !== undefined;
    const editable = this.#api.servers.list().filter(({ metadata }) => !isMember(metadata));
    const shown = editable.filter(({ status }) => status?.serverStatus !== undefined);
    const objects = shown.length > 0 && random.chance(0.9) ? shown : editable;
    if (objects.length === 0) return;
    const { metadata, spec, status } = random.pick(objects);
    const change: Partial<VirtualServer['spec']> = {
      ...(random.chance(spec.changePolicy === undefined ? 0.9 : 0.3) && { changePolicy: random.pick(POLICIES) }),
      ...random.pick<Partial<VirtualServer['spec']>>([
        { product: random.pick(['VPSX4', 'VPSX8', 'VPSX16', 'VPSX9']) },
        { diskSize: random.pick([5120, 10240, 20480, 40960]) },
        { serverName: random.pick(['shop', 'blog', 'a-shop-for-our-blog']) },
        { advanced: { ...spec.advanced, cpuMode: random.pick(['Performance', 'Compatibility']) } },
        { advanced: { ...spec.advanced, tablet: random.chance(0.5) } },
        { advanced: { ...spec.advanced, extraCores: random.int(1, 3) } },
        // What was not carried out may be taken back.
        { diskSize: status?.specs?.diskSize ?? spec.diskSize },
        { serverName: undefined },
        { advanced: undefined },
        {},
      ]),
    };
    const { namespace, name } = metadata;
    this.#api.servers.editSpec(namespace, name, change);
    this.#tell(`change ${namespace}/${name} ${JSON.stringify(change)}`);
  }

  /**
   * Shuts servers down from inside that never finish, and starts those whose object only says that they are off, as after
   * a rollback of its record.
   */
  tidy(): void {
    const { fleet } = this.#simulation;
    const held = new Map(
      this.#api.servers.list().map((object) => [recordOf(object)?.identifier?.toLowerCase(), object]),
    );
    for (const { identifier, account } of this.#simulation.aliveServers()) {
      const status = fleet.find(account, identifier)?.object.status;
      if (status === SHUTTING_DOWN) fleet.updateServer(identifier, { status: SHUT_DOWN });
      const holder = held.get(identifier.toLowerCase());
      const isStarted = this.#canStart && holder !== undefined && recordOf(holder)?.change?.phase !== undefined;
      const isOff = isStarted || (holder !== undefined && staysOff(holder));
      if (status === SHUT_DOWN && !isOff) {
        fleet.updateServer(identifier, { status: RUNNING, dormant: false });
      }
    }
  }
}
