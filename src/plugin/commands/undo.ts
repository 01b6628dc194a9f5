/** `kubectl vps rollout undo`: writes an earlier revision to the template of a set, as the user. */
import { RESTARTED_AT, type VirtualServerSet } from '../../api/virtual-server-set.ts';
import { err, ok } from '../../base/result.ts';
import { holdsSomething } from '../../virtual-server/decision/known-record.ts';
import { heldRecord } from '../../virtual-server/shared/objects.ts';
import { listNames } from '../../virtual-server-set/decision/set-sentences.ts';
import { print, type Context } from '../cluster/context.ts';
import { mergePatched } from '../cluster/merge-patch.ts';
import { playRollout } from '../plan/plan-sets.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { inWords, setReadiness } from '../state/readiness.ts';
import { changeTo, earlierRevisions, isTemplate, type Revision } from '../state/revisions.ts';
import { columns } from '../terminal/table.ts';
import { clean } from '../terminal/terminal.ts';
import { nextOf, requireAlive } from './rollout.ts';

/** How the operator names revisions: `shortName` in virtual-server-set/decision/template.ts. */
const REVISION = /^[0-9a-f]{8}$/;

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
  const template = { spec: patch, ...(ended && { metadata: ended }) };
  const lost = await replacedBy(context, set, template);
  const changes = [...columns(['FIELD', 'BEFORE', 'AFTER'], [...rows, ...rowsOfRestart]), ...lost];
  if (dryRun) {
    print(context, [...changes, `${name} would return to ${to} (dry run)`]);
    return;
  }
  await cluster.changeSpec(set, { template });
  print(context, [...changes, `${name} returns to ${to}`, ...nextOf(set, where)]);
}

/** Which members lose their servers, as `kubectl vps plan` finds out. */
async function replacedBy({ cluster, now }: Context, set: VirtualServerSet, template: object): Promise<string[]> {
  const found = await cluster.list(false).then(ok, (error: unknown) => err(error));
  if (!found.ok) {
    const { error } = found;
    return [
      `which members the set replaces is not known: ${clean(error instanceof Error ? error.message : String(error))}`,
    ];
  }
  const metadata = { ...set.metadata, generation: set.metadata.generation + 1 };
  const spec = mergePatched(set.spec, { template }) as VirtualServerSet['spec'];
  const names = playRollout({ ...set, metadata, spec }, found.value, now())
    .gone.filter((object) => {
      const record = heldRecord(object);
      return record !== undefined && holdsSomething(record);
    })
    .map((object) => object.metadata.name);
  if (names.length === 0) return [];
  const what =
    names.length === 1
      ? 'its server is cancelled, and its disk is'
      : 'their servers are cancelled, and their disks are';
  return [`the set replaces ${listNames(names)}: ${what} lost`];
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
  // Another version of the operator may name them otherwise, so the form counts only for a name that the set does not have.
  const code = REVISION.test(name) ? EXIT.failed : EXIT.usage;
  throw new CommandError(code, `${set.metadata.name} has no revision ${JSON.stringify(name)}; ${known}`);
}
