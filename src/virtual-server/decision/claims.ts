/** Which servers an object holds or may hold, for the search of servers that no object holds. Pure. */
import { RECORD_ANNOTATION } from '../../api/names.ts';
import { byPhase, heldIn, parseRecord, type Held, type ServerRecord, type StoredRecord } from '../../api/record.ts';
import type { ServerClaims } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { adoptionOf } from './inputs.ts';
import { viewRecord } from './known-record.ts';

/**
 * Every mention counts: you may cancel a server that no object holds. A record that cannot be relied on leaves open which
 * server it is about.
 */
export function claimsOf(object: VirtualServer): ServerClaims {
  const { metadata, status } = object;
  const who = { namespace: metadata.namespace, name: metadata.name };
  const parsed = parseRecord(metadata.annotations?.[RECORD_ANNOTATION]);
  const written = parsed.ok ? parsed.value : parsed.error.newer?.held;
  const adoption = adoptionOf(object);
  const mayHold = [
    status?.identifier,
    adoption?.ok === true ? adoption.value : undefined,
    ...[written, heldIn(status?.record ?? {})].flatMap((record) => namedIn(record ?? {})),
  ].filter((identifier) => identifier !== undefined);
  const view = viewRecord(object, []);
  if (view.kind === 'none' || view.kind === 'foreign') return { ...who, holds: [], mayHold };
  if (view.kind !== 'own') return { ...who, holds: [], mayHold, orderedAt: '' };
  const open = ({ attemptedAt = '' }: ServerRecord): ServerClaims => ({
    ...who,
    holds: [],
    mayHold,
    orderedAt: attemptedAt,
  });
  const held = ({ identifier }: Held): ServerClaims => ({ ...who, holds: [identifier], mayHold });
  const none = (): ServerClaims => ({ ...who, holds: [], mayHold });
  return byPhase(view.record, { unordered: none, claimed: open, following: open, named: held, held });
}

/** An orphan is a server that the object no longer refers to. */
const namedIn = ({ identifier, doubt, failed = [] }: Partial<StoredRecord>): (string | undefined)[] => [
  identifier,
  doubt?.identifier,
  ...failed.map((order) => order.identifier),
];
