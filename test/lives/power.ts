/**
 * People who switch servers off and on through their objects, and restart them. Reports a call about power that no object has asked
 * for, a restart that is sent twice, and calls that follow each other without a pause.
 */
import { FORCE_OFF_ANNOTATION, REBOOT_ANNOTATION } from '../../src/api/names.ts';
import { currentReason } from '../../src/api/conditions.ts';
import { isPaused } from '../../src/api/server-state.ts';
import type { VirtualServer, VirtualServerSpec } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { PowerEntry } from '../../src/simulator/ledger.ts';
import { inputsOf } from '../../src/virtual-server/decision/inputs.ts';
import { annotatedRecordOf, recordOf } from '../fixtures/records.ts';
import { hardwareIn } from '../../src/virtual-server/decision/identity.ts';
import { ProviderError } from '../../src/provider/error.ts';
import { parseJson, parseServer } from '../../src/provider/wire.ts';
import type { Exchange, ProviderAnswer } from '../../src/provider/transport.ts';
import type { ApiServer } from './api-server.ts';
import { UNDER_WAY_MS } from './oracles.ts';
import { identifierOf, isSame, type Ownership } from './ownership.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;
/** The shortest pause between two equal calls of one process, of which the first one has failed. */
const SHORTEST_MS = 9_000;
/** The same for a step of a change in place, which waits as after any failed call. */
const SHORTEST_FOR_CHANGE_MS = 800;
/** `null`: leaves the power alone. */
const POWERS = ['On', 'Off', 'Off', 'Dormant', null] as const;

/** The calls that lead to what `spec.power` asks for. A dormant server has to wake before it is just off. */
const CALLS: Readonly<Record<NonNullable<VirtualServerSpec['power']>, readonly PowerEntry['call'][]>> = {
  On: ['power-on', 'wake'],
  Off: ['shutdown', 'power-off', 'wake'],
  Dormant: ['dormant'],
};

interface Parts {
  api: ApiServer;
  simulation: Simulation;
  ownership: Pick<Ownership, 'ownedBy'>;
  random: Random;
  now: () => number;
  tell: (what: string) => void;
  /** Whether a change in place may need the call. */
  isForChange: (call: PowerEntry) => boolean;
  /** Whether the provider can start servers. */
  canStart: boolean;
}

type Sent = Pick<Exchange, 'operation' | 'target'>;

/** A version of an object, and when it came. */
interface Seen {
  at: number;
  object: VirtualServer;
  deleted: boolean;
}

export class PowerPeople {
  readonly violations: string[] = [];
  readonly #parts: Parts;
  /** By uid, oldest first. */
  readonly #versions = new Map<string, Seen[]>();
  /** Uids of objects whose record has forgotten a restart: a person has rolled it back. */
  readonly #forgetful = new Set<string>();
  readonly #last = new Map<string, { at: number; inputs: string; starts: number }>();
  /** By identifier: when the last call but a restart was sent, and whether it was sent to a server without hardware addresses. */
  readonly #sent = new Map<string, { at: number; isBare: boolean }>();
  /** By start of a process and identifier: whether its last read of the server showed no hardware address that identifies it. */
  readonly #bare = new Map<string, boolean>();
  #seen = 0;
  #judged = 0;
  /** How often another process has begun to send calls: each has no memory of the one before. */
  #starts = 0;
  #sender = '';

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.api.servers.listeners.add(() => this.#follow());
  }

  /** `identity`: names one start of one process. */
  sentBy(identity: string, { operation, target }: Sent): void {
    if (operation !== 'setPower' && operation !== 'setDormant') return;
    const identifier = targetOf(target);
    const isBare = this.#bare.get(`${identity} ${identifier}`) ?? false;
    this.#sent.set(identifier, { at: this.#parts.now(), isBare });
    if (identity === this.#sender) return;
    this.#sender = identity;
    this.#starts += 1;
  }

  /** The process that `identity` names has got this answer; undefined: none. */
  heardBy(
    identity: string,
    { operation, target }: Sent,
    answer: Pick<ProviderAnswer, 'status' | 'body'> | undefined,
  ): void {
    if (operation !== 'readServer' || answer?.status !== 200) return;
    const identifier = targetOf(target);
    const macs = macsIn(answer.body, identifier);
    if (macs !== undefined) this.#bare.set(`${identity} ${identifier}`, macs.length === 0);
  }

  act(): void {
    const { api, random, tell } = this.#parts;
    const objects = api.servers.list();
    if (objects.length === 0 || random.chance(0.5)) return;
    const { namespace, name } = random.pick(objects).metadata;
    const what = random.pick(['power', 'power', 'reboot', 'force', 'panel'] as const);
    this.#try(() => {
      if (what === 'power') {
        const power = random.pick(POWERS) ?? undefined;
        tell(`power=${power ?? ''} ${namespace}/${name}`);
        api.servers.editSpec(namespace, name, { power });
      } else if (what === 'panel') this.#switchInPanel();
      else {
        const annotation = what === 'reboot' ? REBOOT_ANNOTATION : FORCE_OFF_ANNOTATION;
        const value = random.chance(0.1) ? 'soon' : this.#time();
        tell(`${annotation}=${value} ${namespace}/${name}`);
        api.servers.annotate(namespace, name, { [annotation]: value });
      }
    });
  }

  /** The API server may refuse what people write. */
  #try(write: () => void): void {
    try {
      write();
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
    }
  }

  /**
   * Every server obeys from now on, people leave the power alone where the provider cannot switch servers, and start in the panel
   * those that no object switches off.
   */
  tidy(): void {
    const { api, simulation, canStart } = this.#parts;
    simulation.provider.setVariants({ shutdown: 'obeyed', startsAfterMs: Infinity });
    for (const { metadata, status } of api.servers.list()) {
      if (currentReason(status?.conditions) !== 'PowerUnavailable') continue;
      this.#try(() => void api.servers.editSpec(metadata.namespace, metadata.name, { power: undefined }));
    }
    // The operator starts a server that it has shut down for a change, if it can.
    const isOff = new Set(
      api.servers
        .list()
        .filter((object) => staysOff(object) || (canStart && annotatedRecordOf(object)?.change?.phase !== undefined))
        .map((object) => identifierOf(object)?.toLowerCase()),
    );
    for (const { identifier, account, state } of simulation.aliveServers()) {
      const found = simulation.fleet.find(account, identifier);
      const { status, dormant } = found?.object ?? {};
      const isUp = status === 'running' && dormant !== true;
      const isStuck = status === 'shutting down' && found?.isSwitching !== true;
      if (state === 'running' && !isUp && (isStuck || !isOff.has(identifier.toLowerCase())))
        simulation.fleet.updateServer(identifier, { status: 'running', dormant: false });
    }
  }

  /** Judges the calls that the provider has accepted since. */
  judge(): void {
    const calls = this.#parts.simulation.ledger.power();
    for (const call of calls.slice(this.#judged)) {
      this.#parts.tell(`the provider did ${call.call} for ${call.identifier} (serial ${call.serial})`);
      this.#judgeCall(call);
    }
    this.#judged = calls.length;
  }

  #time(): string {
    const { random, now } = this.#parts;
    return new Date(now() + random.pick([0, 0, -60, 10]) * MINUTE).toISOString();
  }

  /** Somebody uses the control panel of the provider. */
  #switchInPanel(): void {
    const { simulation, random, tell } = this.#parts;
    const running = simulation.aliveServers().filter(({ state }) => state === 'running');
    if (running.length === 0) return;
    const { identifier, serial } = random.pick(running);
    const status = random.pick(['running', 'shut down']);
    const dormant = status === 'shut down' && random.chance(0.3);
    // A server that stops between the read before a DELETE and the one after it counts as cancelled (documented limit).
    if (status === 'shut down' && this.#mayBeCancelled(identifier, serial)) return;
    tell(`in the panel, ${identifier} is ${dormant ? 'dormant' : status}`);
    simulation.fleet.updateServer(identifier, { status, dormant });
  }

  /** Its object is being deleted or expires, or a DELETE was answered with 200 and it lives on. */
  #mayBeCancelled(identifier: string, serial: number): boolean {
    const { api, simulation } = this.#parts;
    const holders = api.servers.list().filter((object) => isSame(identifier, identifierOf(object)));
    const isEnding = ({ metadata, spec }: VirtualServer): boolean =>
      metadata.deletionTimestamp !== undefined || spec.expiresAt !== undefined || spec.ttl !== undefined;
    return holders.some(isEnding) || simulation.ledger.cancels().some((cancel) => cancel.serial === serial);
  }

  #judgeCall(entry: PowerEntry): void {
    const { serial, identifier, call, at } = entry;
    const { ownership, simulation } = this.#parts;
    const server = `server ${identifier} (serial ${serial})`;
    const recent = [...this.#versions.values()].flatMap((versions) => recentOf(versions, at - UNDER_WAY_MS));
    const holders = recent.filter(({ object }) => isSame(identifier, identifierOf(object)));
    const own = holders.filter(({ object }) => ownership.ownedBy(object).has(serial));
    // A look takes a server without own addresses for the object's (documented limit), and a server with other IPv6 addresses, if no
    // hardware address is known. It may show none only while it is off.
    const shows = simulation.fleet.history().find((life) => life.serial === serial)?.shows;
    const isBare = call !== 'reboot' && this.#sent.get(identifier.toLowerCase())?.isBare === true;
    const isUnknown = ({ object }: Seen): boolean => {
      const { macs = [], ipv6 = [] } = recordOf(object)?.fingerprint ?? {};
      return ipv6.length > 0 && hardwareIn(macs).length === 0;
    };
    const taken = shows === 'all' && !isBare ? holders.filter(isUnknown) : holders;
    const candidates = own.length > 0 ? own : taken;
    const asking = candidates.filter(({ object, deleted }) => !deleted && asks(object, call));
    if (asking.length === 0 && !this.#parts.isForChange(entry))
      this.violations.push(`${server} got ${call}, which no object that holds it had asked for`);
    const uids = new Set(candidates.map(({ object }) => object.metadata.uid));
    if (call === 'reboot' || call === 'power-off') this.#judgeOnce(serial, identifier, call);
    else this.#judgePause(server, entry, [...uids].map((uid) => this.#inputsOf(uid)).join(' '));
  }

  /** Each value of the annotation is worth one call, also after another object has taken the server over. */
  #judgeOnce(serial: number, identifier: string, call: 'reboot' | 'power-off'): void {
    const { api, simulation } = this.#parts;
    const annotation = call === 'reboot' ? REBOOT_ANNOTATION : FORCE_OFF_ANNOTATION;
    const asked = new Set<string>();
    for (const { object } of api.servers.changes) {
      if (!isSame(identifier, identifierOf(object))) continue;
      const { uid, annotations } = object.metadata;
      if (this.#forgetful.has(uid)) return;
      const value = annotations?.[annotation];
      if (value !== undefined) asked.add(value);
    }
    const { length } = simulation.ledger.power({ serial, call });
    if (length > asked.size)
      this.violations.push(`server ${identifier} got ${length} times ${call}, asked for ${asked.size} times`);
  }

  #judgePause(server: string, entry: PowerEntry, inputs: string): void {
    const { call } = entry;
    // The network may deliver it late.
    const at = this.#sent.get(entry.identifier.toLowerCase())?.at ?? entry.at;
    const last = this.#last.get(`${server} ${call}`);
    const isAgain = last?.inputs === inputs && last.starts === this.#starts;
    const shortestMs = this.#parts.isForChange(entry) ? SHORTEST_FOR_CHANGE_MS : SHORTEST_MS;
    // Of two with the time of one request, one is an earlier request that came late.
    if (isAgain && at > last.at && at - last.at < shortestMs)
      this.violations.push(`${server} got ${call} again after ${at - last.at} ms`);
    this.#last.set(`${server} ${call}`, { at, inputs, starts: this.#starts });
  }

  #inputsOf(uid: string): string {
    const newest = this.#versions.get(uid)?.at(-1)?.object;
    return newest === undefined ? '' : inputsOf(newest);
  }

  #follow(): void {
    const { api, now } = this.#parts;
    for (const { object, deleted, restored } of api.servers.changes.slice(this.#seen)) {
      const { uid } = object.metadata;
      if (restored === true) this.#forgetful.add(uid);
      const versions = this.#versions.get(uid) ?? [];
      const [before, after] = [versions.at(-1)?.object, object].map((one) => one && annotatedRecordOf(one));
      if (before?.reboot !== undefined && before.reboot.asked !== after?.reboot?.asked) this.#noteForgotten(object);
      if (before?.forceOff !== undefined && before.forceOff.asked !== after?.forceOff?.asked)
        this.#noteForgotten(object);
      versions.push({ at: now(), object, deleted });
      this.#versions.set(uid, versions);
    }
    this.#seen = api.servers.changes.length;
  }

  /** A later value replaces the one before; anything else is a record that was rolled back or lost, or a call that was not sent. */
  #noteForgotten(object: VirtualServer): void {
    const { annotations = {} } = object.metadata;
    const after = annotatedRecordOf(object);
    const isNext = [
      [after?.reboot, annotations[REBOOT_ANNOTATION]] as const,
      [after?.forceOff, annotations[FORCE_OFF_ANNOTATION]] as const,
    ].every(([done, value]) => done !== undefined || value === undefined);
    if (!isNext) this.#forgetful.add(object.metadata.uid);
  }
}

/** The versions that were current at this time or since. */
function recentOf(versions: readonly Seen[], since: number): Seen[] {
  const first = versions.findLastIndex(({ at }) => at <= since);
  return versions.slice(Math.max(0, first));
}

/** The identifier of the server that a call is about, in lower case. */
function targetOf({ path }: Exchange['target']): string {
  const [, identifier = ''] = /servers\/([^/]+)/.exec(path) ?? [];
  return identifier.toLowerCase();
}

/** The hardware addresses that identify the server in an answer; undefined if the operator cannot read the answer. */
function macsIn(body: ProviderAnswer['body'], identifier: string): string[] | undefined {
  if (typeof body !== 'string') return undefined;
  try {
    return hardwareIn(parseServer(parseJson(body, 'readServer'), identifier).macs);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return undefined;
  }
}

export const staysOff = ({ spec: { power } }: VirtualServer): boolean => power === 'Off' || power === 'Dormant';

/** Whether this version of the object asks for the call. */
function asks(object: VirtualServer, call: PowerEntry['call']): boolean {
  const { metadata, spec } = object;
  if (metadata.deletionTimestamp !== undefined || isPaused(object)) return false;
  if (call === 'reboot') return metadata.annotations?.[REBOOT_ANNOTATION] !== undefined;
  if (call === 'power-off' && metadata.annotations?.[FORCE_OFF_ANNOTATION] === undefined) return false;
  return spec.power !== undefined && CALLS[spec.power].includes(call);
}
