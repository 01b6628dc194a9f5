/** What may happen to an object between two visits: crashes, losses, restored backups, and what you do. */
import {
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../../../src/api/names.ts';
import { formatRecord, parseRecord, type ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import type { ObjectMeta } from '../../../../src/api/meta.ts';
import type { AttemptNote } from '../../../../src/virtual-server/decision/types.ts';

export interface Stage {
  object: VirtualServer;
  /** What every place together knows about the object's server. */
  own: ServerRecord | undefined;
  notes: readonly AttemptNote[];
  /** The newest attempt. */
  attempt: string;
  chance: (probability: number) => boolean;
}

/** What an event changes; `crash`: the process forgets all but its journal. */
export interface Change {
  object?: VirtualServer;
  notes?: AttemptNote[];
  crash?: true;
}

export function annotated(object: VirtualServer, changes: Record<string, string | undefined>): VirtualServer {
  const merged = Object.entries({ ...object.metadata.annotations, ...changes });
  const annotations = Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== undefined));
  return withMetadata(object, { annotations });
}

const withMetadata = (object: VirtualServer, changes: Partial<ObjectMeta>): VirtualServer => ({
  ...object,
  metadata: { ...object.metadata, ...changes },
});
const withStatus = (object: VirtualServer, status: VirtualServerStatus): VirtualServer => ({ ...object, status });
const wiped = (object: VirtualServer): VirtualServer => withStatus(object, { observedGeneration: -1 });
const without = (object: VirtualServer): VirtualServer => annotated(object, { [RECORD_ANNOTATION]: undefined });

/** True if the annotation alone contains all that is known. */
function isAnnotated({ object, own }: Stage): boolean {
  const parsed = parseRecord(object.metadata.annotations?.[RECORD_ANNOTATION]);
  const record = parsed.ok ? parsed.record : undefined;
  return own !== undefined && record !== undefined && formatRecord(record) === formatRecord(own);
}

/** True if the mirror alone contains all that is known. */
function isMirrored({ object, own }: Stage): boolean {
  const mirror = object.status?.record;
  return own !== undefined && mirror !== undefined && formatRecord(mirror) === formatRecord(own);
}

/** The status of the object that this one was copied from, as a backup restores it. */
const restored = (own: ServerRecord): VirtualServerStatus => ({
  serverStatus: 'running',
  identifier: 'srv-of-another',
  record: { ...own, owner: 'another-uid', identifier: 'srv-of-another' },
});

/** Only facts that another place also knows are lost: any other loss is the documented limit. */
const losses: Record<string, (stage: Stage) => Change> = {
  crash: () => ({ crash: true }),
  'lose annotation': (stage) => (isMirrored(stage) ? { object: without(stage.object) } : {}),
  'lose status': (stage) => (isAnnotated(stage) ? { object: wiped(stage.object) } : {}),
  'lose journal': (stage) => (isAnnotated(stage) ? { notes: [], crash: true } : { crash: true }),
  'lose all but the journal': ({ object, own, notes }) => {
    const known =
      own?.mode === 'create' &&
      own.orphans === undefined &&
      // No other place records that the server counted as gone.
      own.missingAt === undefined &&
      notes.some((note) => note.attempt === own.attempt);
    return known ? { object: wiped(without(object)) } : {};
  },
  'lose finalizer': (stage) => {
    if (!isAnnotated(stage) || stage.object.metadata.deletionTimestamp !== undefined) return {};
    const { finalizers: _finalizers, ...metadata } = stage.object.metadata;
    return { object: { ...stage.object, metadata } };
  },
  'restore status': (stage) =>
    stage.own !== undefined && isAnnotated(stage) ? { object: withStatus(stage.object, restored(stage.own)) } : {},
  'roll back': (stage) => {
    if (stage.own?.attempt === undefined || !isMirrored(stage)) return {};
    const { identifier: _identifier, task: _task, ...older } = stage.own;
    return { object: annotated(stage.object, { [RECORD_ANNOTATION]: formatRecord(older) }) };
  },
};

/** The annotation value that the status gives for a server or task that the operator does not recognize. */
function wordIn({ status }: VirtualServer): string | undefined {
  const texts = status?.conditions?.map(({ message }) => message) ?? [];
  return texts.map((text) => /accept-server=(\S*[^\s.])/.exec(text)?.[1]).find((word) => word !== undefined);
}

const people: Record<string, (stage: Stage) => Change> = {
  edit: ({ object }) => ({ object: withMetadata(object, { generation: object.metadata.generation + 1 }) }),
  delete: ({ object, chance }) =>
    object.metadata.finalizers === undefined || chance(0.7)
      ? {}
      : { object: withMetadata(object, { deletionTimestamp: '2026-01-02T00:00:00Z' }) },
  retain: ({ object, chance }) => ({
    object: { ...object, spec: { ...object.spec, deletionPolicy: chance(0.2) ? 'Retain' : 'Delete' } },
  }),
  pause: ({ object, chance }) => ({
    object: annotated(object, { [PAUSED_ANNOTATION]: chance(0.1) ? 'true' : undefined }),
  }),
  adopt: ({ object, chance }) => ({
    object: annotated(object, { [ADOPT_ANNOTATION]: chance(0.4) ? 'srv-named' : undefined }),
  }),
  'say not created': ({ object, attempt, chance }) => ({
    object: annotated(object, { [NOT_CREATED_ANNOTATION]: chance(0.7) ? attempt : undefined }),
  }),
  'say gone': ({ object, own, chance }) => ({
    object: annotated(object, { [SERVER_GONE_ANNOTATION]: chance(0.1) ? own?.identifier : undefined }),
  }),
  'accept what is shown': ({ object, chance }) => ({
    object: annotated(object, { [ACCEPT_SERVER_ANNOTATION]: chance(0.2) ? wordIn(object) : undefined }),
  }),
  'set an end': ({ object, chance }) => {
    const { expiresAt: _expiresAt, ...spec } = object.spec;
    return { object: { ...object, spec: chance(0.1) ? { ...spec, expiresAt: '2026-01-01T00:00:00Z' } : spec } };
  },
  'handle orphans': ({ object, own }) => ({
    object: annotated(object, {
      [ORPHAN_HANDLED_ANNOTATION]: own?.orphans?.map((orphan) => orphan.task ?? orphan.attempt).join(),
    }),
  }),
};

export const EVENTS = Object.entries({ ...losses, ...people });
