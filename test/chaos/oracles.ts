/** What must hold when a plan has come to its end. Each violation is a sentence. */
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import { shows, type Lists } from './catalogs.ts';
import { recordOf } from '../gen/records.ts';
import type { Replica } from './replica.ts';

interface Ending {
  simulator: Simulator;
  objects: readonly VirtualServer[];
  replicas: readonly Replica[];
  /** SSH keys of objects whose servers were to live on, and identifiers of such servers. */
  retained: ReadonlySet<unknown>;
  /** Everything that must not stand in a log. */
  secrets: readonly string[];
}

export function checkEnding(ending: Ending): string[] {
  return [...orderedTwice(ending), ...unaccounted(ending), ...saidTooMuch(ending), ...failed(ending)];
}

/** People in these plans say `not-created` only where nothing was created, so one create for each object it is. */
function orderedTwice({ simulator }: Ending): string[] {
  const counts = new Map<unknown, number>();
  for (const { body } of simulator.ledger.creates()) counts.set(body.ssh_keys, (counts.get(body.ssh_keys) ?? 0) + 1);
  return [...counts].filter(([, n]) => n > 1).map(([key, n]) => `${n} servers were ordered for ${String(key)}`);
}

/** The servers that live are those that objects hold, together with those that were to be retained. */
function unaccounted({ simulator, objects, retained }: Ending): string[] {
  const records = objects.map(recordOf).filter((record) => record?.expiredAt === undefined);
  const held = new Set(records.map((record) => record?.identifier).filter((one) => one !== undefined));
  const ordered = new Map(simulator.ledger.creates().map(({ identifier, body }) => [identifier, body.ssh_keys]));
  const alive = new Set(simulator.aliveServers().map(({ identifier }) => identifier));
  const isRetained = (identifier: string): boolean => retained.has(identifier) || retained.has(ordered.get(identifier));
  const left = [...alive].filter((identifier) => !held.has(identifier) && !isRetained(identifier));
  const missing = [...held].filter((identifier) => !alive.has(identifier));
  const cancelled = simulator.ledger.cancels().filter(({ identifier }) => isRetained(identifier));
  return [
    ...left.map((identifier) => `server ${identifier} lives and no object holds it`),
    ...missing.map((identifier) => `server ${identifier} is held and does not live`),
    ...cancelled.map(({ identifier }) => `server ${identifier} was cancelled and was to be retained`),
  ];
}

/** `lists`: what the provider lists now. */
export function checkCatalogs(catalogs: readonly ServerCatalog[], lists: Lists): string[] {
  return catalogs
    .filter((catalog) => !shows(catalog, lists))
    .map(({ metadata: { name }, status }) => `catalog ${name} does not show what is listed: ${JSON.stringify(status)}`);
}

function saidTooMuch({ replicas, secrets }: Ending): string[] {
  return replicas.flatMap(({ name, log, stderr }) => {
    const text = [...log, ...stderr].join('\n');
    // The secret itself is not repeated here either.
    return secrets.some((secret) => text.includes(secret)) ? [`a secret stands in the log of ${name}`] : [];
  });
}

/** A rejection that nobody handles, an exception that nobody catches: Node says so on standard error and ends. */
function failed({ replicas }: Ending): string[] {
  return replicas.flatMap(({ name, log, stderr }) => [
    ...(stderr.length > 0 ? [`${name} wrote to standard error: ${stderr.slice(0, 5).join(' | ')}`] : []),
    ...log.filter((line) => line.includes('"level":"fatal"')).map((line) => `${name} failed: ${line}`),
  ]);
}
