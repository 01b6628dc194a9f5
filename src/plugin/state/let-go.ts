/** What is the case with an object that the operator is done with and that other finalizers keep. Its last status is older. Pure. */
import type { Condition } from '../../api/meta.ts';
import { RECORD_ANNOTATION } from '../../api/names.ts';
import { isLetGo } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { takerOf } from '../../virtual-server/decision/inputs.ts';
import { holdsSomething, knownRecord } from '../../virtual-server/decision/known-record.ts';

interface End {
  /** What became of the server. */
  message: string;
  /** The server may still exist, as the status shows it. */
  mayExist: boolean;
}

/** Undefined for an object that the operator still works on. */
export function endOfObject(object: VirtualServer): End | undefined {
  return isLetGo(object) ? fateOf(object) : undefined;
}

/** The operator removes its finalizer and the annotation in one write, and writes no status after that. */
function fateOf(object: VirtualServer): End {
  const { metadata, spec, status } = object;
  const record = knownRecord(object);
  const { identifier, attempt } = record ?? {};
  const server = identifier === undefined ? 'its server' : `server ${identifier}`;
  if (metadata.annotations?.[RECORD_ANNOTATION] !== undefined && record !== undefined && holdsSomething(record)) {
    const held = identifier === undefined && attempt !== undefined ? `a server of order ${attempt}` : server;
    const why = "The operator's finalizer was removed before the operator was done with this object";
    return { message: `${why}: ${held} may exist and cost money`, mayExist: true };
  }
  // Such as a record of another object, or one that this version cannot read.
  if (record === undefined && status?.identifier !== undefined)
    return { message: 'The operator no longer works on this object', mayExist: true };
  if (record?.expiredAt !== undefined) return { message: `The operator has cancelled ${server}`, mayExist: false };
  if (identifier === undefined) return { message: 'The operator holds no server for this object', mayExist: false };
  const taker = takerOf(object);
  if (taker !== undefined) return { message: `Object ${taker} now holds server ${identifier}`, mayExist: true };
  const { cancelRequestedAt } = status ?? {};
  if (spec.deletionPolicy === 'Retain' && record?.missingAt === undefined) {
    const done =
      cancelRequestedAt === undefined
        ? `has not cancelled server ${identifier}, because`
        : `asked the provider to cancel server ${identifier} at ${cancelRequestedAt}, but`;
    const message = `The operator ${done} spec.deletionPolicy is Retain: it costs money while it exists`;
    return { message, mayExist: true };
  }
  if (cancelRequestedAt !== undefined) return { message: `The operator has cancelled ${server}`, mayExist: false };
  // The object does not tell what its spec was then.
  const message = `The operator has cancelled server ${identifier}, or found that it was gone, unless spec.deletionPolicy or hand-over was changed since`;
  return { message, mayExist: false };
}

/** Such as `kept by a.example/b and 1 more`; undefined if no finalizer is left, or if the operator still works on the object. */
export function keptBy(object: VirtualServer): string | undefined {
  const [first, ...others] = isLetGo(object) ? (object.metadata.finalizers ?? []) : [];
  if (first === undefined) return undefined;
  return `kept by ${first}${others.length === 0 ? '' : ` and ${others.length} more`}`;
}

function keepers({ metadata: { finalizers = [] } }: VirtualServer): string {
  if (finalizers.length === 0) return 'No finalizer keeps the object';
  return finalizers.length === 1
    ? `Only finalizer ${finalizers.join()} keeps the object`
    : `Only finalizers ${finalizers.join(', ')} keep the object`;
}

/** The object as screens show it: if the operator has let it go, with what is the case now in place of its last status. */
export function upToDate(object: VirtualServer): VirtualServer {
  const end = endOfObject(object);
  if (end === undefined) return object;
  const { metadata, status = {} } = object;
  const { generation: observedGeneration, deletionTimestamp: lastTransitionTime = '' } = metadata;
  const { record, conditions = [], task: _task, cancelsAt: _cancelsAt, ...server } = status;
  // These servers cost money, and the object is what names them.
  const isOrphaned = knownRecord(object)?.orphans !== undefined;
  const ready: Condition = {
    type: 'Ready',
    status: 'False',
    reason: 'Deleting',
    message: `${end.message}. ${keepers(object)}`,
    lastTransitionTime,
    observedGeneration,
  };
  return {
    ...object,
    status: {
      ...(end.mayExist && server),
      ...((isOrphaned || end.mayExist) && { record }),
      conditions: [ready, ...conditions.filter(({ type }) => isOrphaned && type === 'OrphanedServer')],
      observedGeneration,
    },
  };
}
