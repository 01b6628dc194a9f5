/** Invariants at the end of a plan. Each violation is one sentence. */
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import { isForTunnel, isKill, type CrashFault } from './faults.ts';
import { recordOf } from '../fixtures/records.ts';
import { shows, type Lists } from '../oracles/catalogs.ts';
import { orderedTooOften, unaccounted } from '../oracles/servers.ts';
import type { Replica } from './replica.ts';

interface Ending {
  simulator: Simulator;
  objects: readonly VirtualServer[];
  replicas: readonly Replica[];
  /** How many objects have asked for a server with these SSH keys. */
  asked: (sshKeys: unknown) => number;
  /** SSH keys of objects whose servers must survive, and identifiers of such servers. */
  retained: ReadonlySet<unknown>;
  /** Strings that must not appear in a log. */
  secrets: readonly string[];
}

export function checkEnding(ending: Ending): string[] {
  return [...orderedTwice(ending), ...leftOver(ending), ...saidTooMuch(ending), ...failed(ending)];
}

/**
 * People in these plans set `not-created` only if nothing was created, so each object has at most one create whose task has not
 * failed.
 */
function orderedTwice({ simulator, asked }: Ending): string[] {
  const counts = new Map<unknown, number>();
  const failed = new Set(
    simulator.fleet.history().flatMap(({ serial, state }) => (state === 'failed' ? [serial] : [])),
  );
  for (const { serial, body } of simulator.ledger.creates())
    if (!failed.has(serial)) counts.set(body.ssh_keys, (counts.get(body.ssh_keys) ?? 0) + 1);
  // The scenario itself may have ordered one, for no object.
  return [...counts].flatMap(([keys, count]) => orderedTooOften(String(keys), count, Math.max(1, asked(keys))));
}

/** The existing servers must be exactly those that objects hold, plus the retained ones. */
function leftOver({ simulator, objects, retained }: Ending): string[] {
  const ordered = new Map(simulator.ledger.creates().map(({ identifier, body }) => [identifier, body.ssh_keys]));
  const isRetained = (identifier: string): boolean => retained.has(identifier) || retained.has(ordered.get(identifier));
  const held = objects.flatMap((object) => {
    const { identifier, expiredAt } = recordOf(object) ?? {};
    return identifier === undefined || expiredAt !== undefined ? [] : [{ key: identifier, by: object.metadata.name }];
  });
  const alive = new Map(simulator.aliveServers().map(({ identifier }) => [identifier, `server ${identifier}`]));
  const cancelled = simulator.ledger.cancels().filter(({ identifier }) => isRetained(identifier));
  return [
    ...unaccounted({ alive, held, mayBeLeft: isRetained }),
    ...cancelled.map(({ identifier }) => `server ${identifier} was cancelled although it was to be retained`),
  ];
}

/** `lists`: what the provider lists now. */
export function checkCatalogs(catalogs: readonly ServerCatalog[], lists: Lists): string[] {
  return catalogs
    .filter((catalog) => !shows(catalog, lists))
    .map(
      ({ metadata: { name }, status }) =>
        `catalog ${name} does not match the provider's lists: ${JSON.stringify(status)}`,
    );
}

/**
 * A process that got no tunnel knows that nothing was ordered, and orders later. A process whose order was written into
 * a tunnel that broke does not know, and asks. `labels`: all requests of the operators.
 */
export function checkTunnel(
  { label, fault }: { label: string; fault: CrashFault },
  labels: readonly string[],
): string[] {
  if (!isForTunnel(label) || isKill(fault)) return [];
  const expected = fault === 'cut' && label === 'proxy:CONNECT:order' ? 'CreateOutcomeUnknown' : undefined;
  const shown = ['CreateOutcomeUnknown', 'CreateRejected'].find((reason) =>
    labels.some((one) => one.endsWith(`:${reason}`)),
  );
  if (shown === expected) return [];
  return [
    `an order with the fault ${fault} of its tunnel shows ${shown ?? 'a retry'} instead of ${expected ?? 'a retry'}`,
  ];
}

function saidTooMuch({ replicas, secrets }: Ending): string[] {
  return replicas.flatMap(({ name, log, stderr }) => {
    const text = [...log, ...stderr].join('\n');
    // The message must not repeat the secret either.
    return secrets.some((secret) => text.includes(secret)) ? [`the log of ${name} contains a secret`] : [];
  });
}

/** Node reports an unhandled rejection or an uncaught exception on standard error, and exits. */
function failed({ replicas }: Ending): string[] {
  return replicas.flatMap(({ name, log, stderr }) => [
    ...(stderr.length > 0 ? [`${name} wrote to standard error: ${stderr.slice(0, 5).join(' | ')}`] : []),
    ...log.filter((line) => line.includes('"level":"fatal"')).map((line) => `${name} failed: ${line}`),
  ]);
}
