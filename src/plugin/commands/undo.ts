/** `kubectl vps rollout undo`: writes an earlier revision to the template of a set, as the user. */
import { RESTARTED_AT, type VirtualServerSet } from '../../api/virtual-server-set.ts';
import { print, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { inWords, setReadiness } from '../state/readiness.ts';
import { changeTo, earlierRevisions, isTemplate, type Revision } from '../state/revisions.ts';
import { columns } from '../terminal/table.ts';
import { clean } from '../terminal/terminal.ts';
import { nextOf, requireAlive } from './rollout.ts';

export interface UndoOptions {
  /** Short name; default: the newest revision that the template does not have. */
  toRevision?: string | undefined;
  dryRun: boolean;
}

/** Throws CommandError without an earlier revision, or if the spec changed since it was read. */
export async function undo(context: Context, name: string, { toRevision, dryRun }: UndoOptions): Promise<void> {
  const { cluster } = context;
  const { where } = cluster;
  const set = requireAlive(await cluster.getSet(name));
  const revision = toRevision === undefined ? previous(set) : named(set, toRevision);
  const to = `revision ${clean(revision.revision)}`;
  if (isTemplate(set, revision)) {
    print(context, [`${name} already has ${to}`]);
    return;
  }
  const { patch, rows } = changeTo(set, revision);
  const restartedAt = set.spec.template.metadata?.annotations?.[RESTARTED_AT];
  // With the annotation, the set would also replace the members that still have the earlier revision.
  const ended = restartedAt === undefined ? undefined : { annotations: { [RESTARTED_AT]: null } };
  const rowsOfRestart = restartedAt === undefined ? [] : [['restartedAt', restartedAt, '']];
  const changes = columns(['FIELD', 'BEFORE', 'AFTER'], [...rows, ...rowsOfRestart]);
  if (dryRun) {
    print(context, [...changes, `${name} would return to ${to} (dry run)`]);
    return;
  }
  await cluster.changeSpec(set, { template: { spec: patch, ...(ended && { metadata: ended }) } });
  print(context, [...changes, `${name} returns to ${to}`, ...nextOf(set, where)]);
}

function previous(set: VirtualServerSet): Revision {
  const [revision] = earlierRevisions(set);
  if (revision !== undefined) return revision;
  const why = set.status?.revisions === undefined ? `: ${inWords(setReadiness(set))}` : '';
  throw new CommandError(EXIT.failed, `${set.metadata.name} has no earlier revision${why}`);
}

function named(set: VirtualServerSet, name: string): Revision {
  const { revisions = [] } = set.status ?? {};
  const found = revisions.find(({ revision }) => revision === name);
  if (found !== undefined) return found;
  const names = revisions.map(({ revision }) => revision).join(', ');
  const known = names === '' ? 'it has none' : `it has ${names}`;
  throw new CommandError(EXIT.failed, `${set.metadata.name} has no revision ${JSON.stringify(name)}; ${known}`);
}
