/** Decides what `kubectl vps adopt --from-record` does with each object, and why. Pure. */
import { identifierProblem } from '../../api/identifier.ts';
import { ADOPT_ANNOTATION, RECORD_ANNOTATION, START_OVER_ANNOTATION } from '../../api/names.ts';
import { parseRecord, type ServerRecord, mirrorIn } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { identifierKey, isSameIdentifier } from '../../base/identifier.ts';
import { expiryOf } from '../../virtual-server/decision/expiry.ts';
import { orphanName } from '../../virtual-server/decision/inputs.ts';
import { holdsSomething, viewRecord, type RecordView } from '../../virtual-server/decision/known-record.ts';
import type { Backup, FoundRecord } from '../cluster/backups.ts';
import { heldServer } from '../state/recorded-order.ts';
import { verdict } from '../state/readiness.ts';

/** A selected object, and its backups. */
export interface Selected {
  name: string;
  /** Undefined if only a backup has the object. */
  object: VirtualServer | undefined;
  backups: readonly Backup[];
}

export type AdoptionStep =
  /** The command sets the annotation. */
  | 'adopt'
  /** The object already holds the server or is annotated. */
  | 'done'
  /** Nothing to adopt: the object was not restored, or gets a new server. */
  | 'none'
  /** Only the user can decide. */
  | 'you';

export interface RestoredRow extends Selected {
  /** The server that the records name. */
  identifier: string | undefined;
  step: AdoptionStep;
  why: string;
}

/** `all`: every object in the namespace, since no two objects may name one server. `now`: ms since the epoch. */
export function planOf(selected: readonly Selected[], all: readonly VirtualServer[], now: number): RestoredRow[] {
  const rows = selected.map((each) => rowOf(each, now));
  const namers = namersOf(rows, all);
  return rows.map((row) => {
    if (row.step !== 'adopt' || row.identifier === undefined) return row;
    const others = [...(namers.get(identifierKey(row.identifier)) ?? [])].filter((name) => name !== row.name);
    if (others.length === 0) return row;
    const why = `server ${row.identifier} is also named by ${others.join(', ')}: adopt it for one of them by name`;
    return { ...row, step: 'you', why };
  });
}

/** The key of every server that an object holds or would adopt, with the names of these objects. */
function namersOf(rows: readonly RestoredRow[], all: readonly VirtualServer[]): Map<string, Set<string>> {
  const namers = new Map<string, Set<string>>();
  const add = (identifier: string | undefined, name: string): void => {
    if (identifier === undefined) return;
    const key = identifierKey(identifier);
    namers.set(key, (namers.get(key) ?? new Set()).add(name));
  };
  for (const object of all) {
    const { name, annotations } = object.metadata;
    const held = heldServer(object);
    const records = held === undefined ? liveRecords(object).map(({ record }) => record.identifier) : [held];
    for (const identifier of held === undefined ? [...records, annotations?.[ADOPT_ANNOTATION]] : records) {
      add(identifier, name);
    }
  }
  for (const { object, identifier, name } of rows) if (object !== undefined) add(identifier, name);
  return namers;
}

function rowOf(each: Selected, now: number): RestoredRow {
  const { object, backups } = each;
  const filed = backups.flatMap(({ found }) => found);
  if (object === undefined) {
    const [first] = backups;
    const why = `not in the cluster: apply ${first?.file} first`;
    return { ...each, identifier: knownOf(filed).identifier, step: 'you', why };
  }
  const view = viewRecord(object, []);
  if (view.kind === 'own') {
    const known = knownOf(filed);
    const [step, why] = ownStep(object, view.record, known);
    return { ...each, identifier: view.record.identifier ?? known.identifier, step, why };
  }
  const known = knownOf([...liveRecords(object), ...filed]);
  const problem = backups.find((backup) => backup.problem !== undefined)?.problem;
  const [step, why] = restoredStep(object, view, { ...known, contradiction: problem ?? known.contradiction }, now);
  return { ...each, identifier: known.identifier, step, why };
}

interface Known {
  identifier: string | undefined;
  /** The first contradiction between the records. */
  contradiction: string | undefined;
  records: readonly ServerRecord[];
}

/** Combines the records: the first server that they name counts, and no record may name another one. */
function knownOf(found: readonly FoundRecord[]): Known {
  const contradictions = (['identifier', 'task', 'attempt'] as const).flatMap((field) => {
    const [first, ...others] = found.filter(({ record }) => record[field] !== undefined);
    if (first === undefined) return [];
    const other = others.find(({ record }) =>
      field === 'identifier'
        ? !isSameIdentifier(record.identifier, first.record.identifier)
        : record[field] !== first.record[field],
    );
    if (other === undefined) return [];
    return [`${field} is ${first.record[field]} in ${first.place} and ${other.record[field]} in ${other.place}`];
  });
  const records = found.map(({ record }) => record);
  return {
    identifier: records.find(({ identifier }) => identifier !== undefined)?.identifier,
    contradiction: contradictions[0],
    records,
  };
}

/** Includes records of another object, which a restored object carries. */
function liveRecords({ metadata, status }: VirtualServer): FoundRecord[] {
  const parsed = parseRecord(metadata.annotations?.[RECORD_ANNOTATION]);
  const annotated = parsed.ok ? parsed.value : undefined;
  const mirror = mirrorIn(status);
  return [
    ...(annotated === undefined ? [] : [{ place: 'the annotation', record: annotated }]),
    ...(mirror === undefined ? [] : [{ place: 'status.record', record: mirror }]),
  ];
}

/** For an object with its own record. */
function ownStep(object: VirtualServer, own: ServerRecord, known: Known): [AdoptionStep, string] {
  const { name, annotations } = object.metadata;
  const { identifier, expiredAt } = own;
  const adopts = annotations?.[ADOPT_ANNOTATION];
  if (identifier === undefined && adopts !== undefined && isSameIdentifier(known.identifier ?? adopts, adopts)) {
    return ['done', 'already annotated'];
  }
  if (known.identifier !== undefined && !isSameIdentifier(known.identifier, identifier)) {
    const other = identifier ?? (own.attempt === undefined ? 'no server' : `order ${own.attempt}`);
    return ['you', `its own record names ${other}: run kubectl vps status ${name}`];
  }
  if (expiredAt !== undefined) return ['none', `its server expired at ${expiredAt}`];
  if (identifier !== undefined) return ['done', 'already holds the server'];
  return ['none', 'not restored: it has its own record'];
}

/** For any other object. */
function restoredStep(
  object: VirtualServer,
  view: Exclude<RecordView, { kind: 'own' }>,
  { identifier, contradiction, records }: Known,
  now: number,
): [AdoptionStep, string] {
  const { name, annotations, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return ['you', 'is being deleted: adopting the server now could cancel it'];
  if ('problem' in view) return ['you', `${verdict(object).reason}: run kubectl vps status ${name}`];
  const adopts = annotations?.[ADOPT_ANNOTATION];
  if (adopts !== undefined) {
    if (isSameIdentifier(identifier ?? adopts, adopts)) return ['done', 'already annotated'];
    return ['you', `the annotation ${ADOPT_ANNOTATION} names ${adopts}, but the record names ${identifier}`];
  }
  if (view.kind === 'foreign' && view.startOver) return ['none', `${START_OVER_ANNOTATION} is set`];
  if (contradiction !== undefined) return ['you', contradiction];
  const expiredAt = records.find((record) => record.expiredAt !== undefined)?.expiredAt;
  if (expiredAt !== undefined) return ['you', `its server expired at ${expiredAt}: delete the object`];
  if (identifier !== undefined) {
    // The operator adopts nothing that it would have to cancel at once.
    const isOver = (expiryOf(object, undefined) ?? Infinity) <= now;
    const problem = isOver ? 'spec.expiresAt has passed: set a later time first' : identifierProblem(identifier);
    return problem === undefined ? ['adopt', consequenceOf(records)] : ['you', problem];
  }
  const order = records.find(holdsSomething);
  if (order !== undefined) {
    const orderName = [order.attempt, order.task === undefined ? undefined : `task ${order.task}`].filter(Boolean);
    const where = "pass a backup with its status (--filename FILE), or look in the provider's control panel";
    return ['you', `its record names no server of its order (${orderName.join(', ')}) yet: ${where}`];
  }
  if (records.length > 0) return ['you', 'its record names neither a server nor an order'];
  if (view.kind === 'missing') return ['you', 'its record is lost: pass a backup with --filename FILE'];
  return ['none', 'has no record'];
}

/** What is left to do after the adoption. */
function consequenceOf(records: readonly ServerRecord[]): string {
  const orphans = records.flatMap((record) => record.orphans ?? []).map(orphanName);
  if (orphans.length === 0) return '';
  return `look in the provider's control panel for servers of ${[...new Set(orphans)].join(', ')}`;
}
