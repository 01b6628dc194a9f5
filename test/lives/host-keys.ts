/**
 * The SSH servers of all servers and the proxies before them, whose host keys change, the people who accept keys, and what must
 * not happen: a key is trusted that no annotation names, that the checked address never showed or that no check verifies, or a
 * known key is forgotten.
 */
import { isDeepStrictEqual } from 'node:util';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../src/api/names.ts';
import { MAX_FINGERPRINT, mirrorIn } from '../../src/api/record.ts';
import { BOUNDS, type VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { KeyType, ShownKey } from '../../src/virtual-server/decision/key-types.ts';
import { typesOf, type HostKey } from '../../src/virtual-server/decision/host-keys.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ProbeResult, SshEndpoint } from '../../src/virtual-server/decision/reach.ts';
import { currentReason } from '../../src/api/conditions.ts';
import type { ApiServer } from './api-server.ts';
import { OTHER_ACCOUNT, OWN_ACCOUNT } from './misfortunes.ts';
import { keyOf } from './object-store.ts';
import type { Random } from './random.ts';
import { ok } from '../../src/base/result.ts';

interface Parts {
  api: ApiServer;
  simulation: Simulation;
  /** Apart from those of the rest of the world. */
  random: Random;
  tell: (what: string) => void;
}

/** The keys that one object was seen to trust, and the server that they belong to. */
interface Trusted {
  object: VirtualServer;
  keys: ReadonlySet<string>;
}

/**
 * What an SSH proxy shows: the keys of the server behind it, its own keys for each server, or the same keys for all
 * servers. The provider documents none of them.
 */
const PROXIES = ['forwards', 'forwards', 'own', 'shared'] as const;
const CHECKS = ['Proxy', 'Proxy', 'Direct', 'Direct', 'None'] as const;

export class HostKeys {
  readonly violations: string[] = [];
  readonly #parts: Parts;
  readonly #proxies: (typeof PROXIES)[number];
  /** By the owner of the keys, a server or a proxy: how often they were replaced. */
  readonly #generations = new Map<string, number>();
  /** What checks were shown: `HOST:PORT KEY`. */
  readonly #shown = new Set<string>();
  /** By uid of the object: the keys that its status ever held. */
  readonly #held = new Map<string, Set<string>>();
  /** By uid of the object. */
  #trusted = new Map<string, Trusted>();
  #seen = 0;
  #restores = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#proxies = parts.random.pick(PROXIES);
    parts.api.servers.listeners.add(() => this.#follow());
  }

  /** What the SSH server at this place answers to a check. */
  answer(target: SshEndpoint, known: readonly KeyType[]): ProbeResult {
    const answer = this.#answerAt(target, known);
    if (answer.ok && answer.value.key !== undefined) this.#shown.add(shownAt(target, answer.value.key.key));
    return answer;
  }

  #answerAt(target: SshEndpoint, known: readonly KeyType[]): ProbeResult {
    const keys = this.#keysAt(target);
    const first =
      known.map((type) => keys.find((key) => key.type === type)).find((key) => key !== undefined) ?? keys[0];
    return ok({ banner: 'SSH-2.0-x', ...(first === undefined ? { noKey: 'no common method' } : { key: first }) });
  }

  /** One random change of a key, or one word about keys. */
  act(): void {
    const { api, simulation, random, tell } = this.#parts;
    const servers = simulation.aliveServers();
    if (servers.length > 0 && random.chance(0.5)) {
      const owner = this.#ownerOf(random.pick(servers).serial, random.chance(0.5));
      const generation = this.#generations.get(owner) ?? 0;
      const next = Math.max(0, generation + random.pick([1, 1, 1, -1]));
      this.#generations.set(owner, next);
      tell(`the host keys of ${owner} are now those of generation ${next}`);
    }
    if (servers.length > 0 && random.chance(0.05)) this.#addNetworkCards(random.pick(servers).identifier);
    const objects = api.servers.list();
    if (objects.length > 0 && random.chance(0.5)) this.#say(random.pick(objects));
    // Where proxy and server show the same keys, this tells nothing.
    if (objects.length > 0 && this.#proxies !== 'forwards' && random.chance(0.3)) this.#switch(random.pick(objects));
  }

  /** Violations, once the operator has read everything since the last change. */
  atRest(): string[] {
    return this.#parts.api.servers.list().flatMap((object) => {
      const { status, metadata, spec } = object;
      if (currentReason(status?.conditions) !== 'Available' || spec.sshCheck === 'None') return [];
      const where = checkedBy(object);
      const known = status?.sshHostKeys ?? [];
      const probed = where && this.#answerAt(where, typesOf(known));
      const shown = probed?.ok === true ? probed.value.key : undefined;
      if (shown === undefined) return [];
      const says = (what: string): string[] => [`${keyOf(object)} ${what}, and its server shows ${shown.fingerprint}`];
      if (known.length === 0) return says('knows no host key');
      const alarm = status?.conditions?.find(({ type }) => type === 'HostKeyChanged');
      if (known.some(({ key }) => key === shown.key)) return alarm === undefined ? [] : says('reports a changed key');
      if (metadata.annotations?.[ACCEPT_HOST_KEY_ANNOTATION] === shown.fingerprint) return says('obeys no annotation');
      return alarm?.subject === shown.fingerprint ? [] : says(`reports "${alarm?.subject ?? 'nothing'}"`);
    });
  }

  #switch({ metadata: { namespace, name } }: VirtualServer): void {
    const { api, random, tell } = this.#parts;
    const sshCheck = random.pick(CHECKS);
    tell(`sshCheck=${sshCheck} ${namespace}/${name}`);
    api.servers.editSpec(namespace, name, { sshCheck });
  }

  /** Whose keys a server shows, by way of its proxy or directly. */
  #ownerOf(serial: number, isProxy: boolean): string {
    if (!isProxy || this.#proxies === 'forwards') return `server-${serial}`;
    return this.#proxies === 'shared' ? 'proxy' : `proxy-${serial}`;
  }

  #say(object: VirtualServer): void {
    const { api, random, tell } = this.#parts;
    const { namespace, name } = object.metadata;
    const asked = object.status?.conditions?.find(({ type }) => type === 'HostKeyChanged')?.subject;
    const own = object.status?.sshHostKeys?.[0]?.fingerprint;
    const words = [asked, asked, asked, own, 'SHA256:of-no-key', null].filter((word) => word !== undefined);
    const value = random.pick(words);
    tell(`accept-host-key=${value ?? ''} ${namespace}/${name}`);
    api.servers.annotate(namespace, name, { [ACCEPT_HOST_KEY_ANNOTATION]: value });
  }

  /** More than a record holds, and sometimes more than a status holds. */
  #addNetworkCards(identifier: string): void {
    const { simulation, random, tell } = this.#parts;
    const count = random.pick([MAX_FINGERPRINT, BOUNDS.addresses]);
    if ((this.#serverOf(identifier)?.macs.length ?? 0) > 1) return;
    simulation.fleet.addNetworkCards(identifier, count);
    tell(`${identifier} gets ${count} network cards`);
  }

  #serverOf(identifier: string) {
    const { fleet } = this.#parts.simulation;
    return [OWN_ACCOUNT, OTHER_ACCOUNT].map((account) => fleet.find(account, identifier)?.object).find(Boolean);
  }

  /** Those of the first server that has this address: the provider may give one address to many. */
  #keysAt({ host, port }: SshEndpoint): ShownKey[] {
    for (const { identifier, serial } of this.#parts.simulation.aliveServers()) {
      const server = this.#serverOf(identifier);
      const isProxy = server?.ssh_proxy.hostname === host && server.ssh_proxy.port === port;
      if (isProxy || server?.ipv6[0] === host) return this.#keysOf(this.#ownerOf(serial, isProxy));
    }
    return [];
  }

  #keysOf(owner: string): ShownKey[] {
    const generation = this.#generations.get(owner) ?? 0;
    const text = `${owner}-${generation}`;
    // Every third generation lacks the preferred type.
    const types: KeyType[] = generation % 3 === 2 ? ['ssh-rsa'] : ['ecdsa-sha2-nistp256', 'ssh-rsa'];
    return types.map((type) => ({ type, fingerprint: `SHA256:${type}-${text}`, key: `${type}-${text}` }));
  }

  #follow(): void {
    const { api } = this.#parts;
    if (api.restores !== this.#restores) {
      // Every status is again what it was in the backup.
      this.#restores = api.restores;
      this.#trusted = new Map();
    }
    for (const { object, deleted, restored } of api.servers.changes.slice(this.#seen)) {
      const { uid } = object.metadata;
      const before = restored === true ? undefined : this.#trusted.get(uid);
      if (before !== undefined && !deleted) this.#judge(before, object);
      const keys = new Set(object.status?.sshHostKeys?.map(({ key }) => key));
      if (!deleted && restored !== true) this.#judgeOrigin(object);
      this.#held.set(uid, new Set([...keys, ...(this.#held.get(uid) ?? [])]));
      if (deleted) this.#trusted.delete(uid);
      else this.#trusted.set(uid, { object, keys });
    }
    this.#seen = api.servers.changes.length;
  }

  /** A key comes from a check of the address that spec names, or with the server from the object that held it before. */
  #judgeOrigin(after: VirtualServer): void {
    const where = checkedBy(after);
    const { takenFrom } = recordOf(after) ?? {};
    const known = [after.metadata.uid, takenFrom?.uid ?? ''].map((uid) => this.#held.get(uid));
    for (const { key, fingerprint } of after.status?.sshHostKeys ?? []) {
      if (known.some((keys) => keys?.has(key) === true)) continue;
      if (where !== undefined && this.#shown.has(shownAt(where, key))) continue;
      const place = where === undefined ? 'no address' : `${where.host}:${where.port}`;
      this.violations.push(`${keyOf(after)} trusts the host key ${fingerprint}, which ${place} has not shown`);
    }
  }

  #judge({ object: before, keys }: Trusted, after: VirtualServer): void {
    if (keys.size === 0 || isDeepStrictEqual(before.status?.sshHostKeys, after.status?.sshHostKeys)) return;
    const now: readonly HostKey[] = after.status?.sshHostKeys ?? [];
    // Users wipe whole statuses, and the keys of another server prove nothing about this one.
    if (isCopy(before) || !isSameServer(before, after)) return;
    const word = before.metadata.annotations?.[ACCEPT_HOST_KEY_ANNOTATION];
    const unasked = now.filter(({ key, fingerprint }) => !keys.has(key) && fingerprint !== word);
    for (const { fingerprint } of unasked)
      this.violations.push(`${keyOf(after)} trusts the host key ${fingerprint}, which no annotation names`);
    if (now.length > 1) this.violations.push(`${keyOf(after)} trusts keys of which a check verifies only one`);
    if (now.length === 0) this.violations.push(`${keyOf(after)} has forgotten the host keys of its server`);
  }
}

const shownAt = ({ host, port }: SshEndpoint, key: string): string => `${host}:${port} ${key}`;

/** The address that `spec.sshCheck` names, as the status shows it. */
function checkedBy({ spec: { sshCheck }, status }: VirtualServer): SshEndpoint | undefined {
  const { sshProxy, ipv6: [address] = [] } = status ?? {};
  if (sshCheck === 'Proxy') return sshProxy && { host: sshProxy.hostname, port: sshProxy.port };
  return sshCheck === 'Direct' && address !== undefined ? { host: address, port: 22 } : undefined;
}

/** How much of a hardware address all network cards of a simulated server have in common. */
const CARD_END = '00:00:00:00'.length;

/** Fields next to the mirror of another owner, which users have overwritten, count as copied. */
function isCopy({ status, metadata }: VirtualServer): boolean {
  const { owner = metadata.uid } = (status?.record ?? {}) as { owner?: unknown };
  return owner !== metadata.uid;
}

function isSameServer({ status: before }: VirtualServer, { status: after }: VirtualServer): boolean {
  if (
    before?.identifier === undefined ||
    before.identifier !== after?.identifier ||
    mirrorIn(after)?.expiredAt !== undefined
  )
    return false;
  const [was = [], is = []] = [before.macs, after.macs];
  // The network cards of a server differ in their first octets.
  const ends = is.map((mac) => mac.slice(-CARD_END));
  return was.length === 0 || is.length === 0 || was.some((mac) => ends.includes(mac.slice(-CARD_END)));
}
