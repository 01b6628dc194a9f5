/** `kubectl vps adopt -f` and `kubectl vps start-over`: one annotation on many listed objects. */
import { START_OVER_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { agreed, print, tell, type Context } from '../cluster/context.ts';
import { readAdoptions, readServerNames, type ListedServer } from '../flags/csv.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { planAdoptions, planStartsOver, type ListedRow, type RowOutcome } from '../decisions/listed.ts';
import { verdict } from '../state/readiness.ts';
import { columns } from '../terminal/table.ts';
import { clean } from '../terminal/terminal.ts';
import { annotateAll, type AnnotationChange } from './annotate-all.ts';
import { annotateAdopt, unchanged } from './resolve.ts';

export interface ListedOptions {
  /** CSV files, or - for standard input. */
  filename: readonly string[];
  dryRun: boolean;
  yes: boolean;
}

/** What one of the two commands does. */
interface Task {
  /** The outcome `write` in the table. */
  step: string;
  /** What the user confirms. */
  warnings: string[];
  question: (count: number) => string;
  plan: (objects: readonly VirtualServer[]) => ListedRow[];
  /** What the command says after the write. */
  done: (row: ListedRow) => string;
  write: (object: VirtualServer, row: ListedRow) => Promise<void>;
}

export async function adoptListed(context: Context, options: ListedOptions): Promise<void> {
  const { cluster, now, terminal } = context;
  const list = await readAdoptions(options.filename, cluster.namespace, terminal.input);
  await carryOut(context, list, options, {
    step: 'adopt',
    warnings: [
      'The operator cancels each server when its object is deleted, unless deletionPolicy is Retain.',
      'Make sure that no object in another namespace or cluster holds one of these servers.',
    ],
    question: (count) => (count === 1 ? 'Adopt the server as shown?' : `Adopt the servers as shown (${count})?`),
    plan: (objects) => planAdoptions(list, objects, now()),
    done: ({ identifier = '' }) => `adopts ${identifier}`,
    write: (object, { identifier = '' }) => annotateAdopt(cluster, object, identifier),
  });
}

/** `name`: one object in place of a list. */
export async function startOver(context: Context, name: string | undefined, options: ListedOptions): Promise<void> {
  const { cluster, now, terminal } = context;
  const { namespace } = cluster;
  const list =
    name === undefined ? await readServerNames(options.filename, namespace, terminal.input) : [{ namespace, name }];
  await carryOut(context, list, options, {
    step: 'order',
    warnings: [
      'The operator orders a new server for each object, which costs money.',
      'It leaves the old servers alone.',
    ],
    question: (count) => (count === 1 ? 'Order a new server as shown?' : `Order new servers as shown (${count})?`),
    plan: (objects) => planStartsOver(list, objects, now()),
    done: () => 'starts over',
    write: async (object) => {
      await cluster.annotate(object, { [START_OVER_ANNOTATION]: object.metadata.uid });
    },
  });
}

/** All objects in the namespaces of the list. */
async function objectsNear({ cluster }: Context, list: readonly ListedServer[]): Promise<VirtualServer[]> {
  const namespaces = [...new Set(list.map(({ namespace }) => namespace))].sort();
  const objects: VirtualServer[] = [];
  for (const namespace of namespaces) objects.push(...(await cluster.listIn(namespace)));
  return objects;
}

const HEADER = ['NAMESPACE', 'NAME', 'REASON', 'SERVER', 'STEP', 'WHY'];

/** Writes nothing if one row is refused. Throws CommandError unless each object is annotated in the end. */
async function carryOut(
  context: Context,
  list: readonly ListedServer[],
  options: ListedOptions,
  task: Task,
): Promise<void> {
  const planned = async (): Promise<ListedRow[]> => task.plan(await objectsNear(context, list));
  const rows = await planned();
  const steps: Record<RowOutcome, string> = { write: task.step, done: 'done', refused: 'refused' };
  const table = columns(
    HEADER,
    rows.map(({ namespace, name, object, identifier = '', outcome, why }) => {
      const reason = object === undefined ? '' : verdict(object).reason;
      return [namespace, name, reason, identifier, steps[outcome], why];
    }),
  );
  const refused = rows.filter(({ outcome }) => outcome === 'refused');
  if (options.dryRun) print(context, table);
  else tell(context, table);
  if (refused.length > 0) {
    const isUnknown = refused.every(({ object }) => object === undefined);
    const why = `nothing was changed, because the command refuses ${refused.length} of ${rows.length}`;
    throw new CommandError(isUnknown ? EXIT.notFound : EXIT.failed, why);
  }
  if (options.dryRun) return;
  const changes = rows.flatMap((row): AnnotationChange[] => {
    const { namespace, name, object, identifier, outcome } = row;
    if (outcome !== 'write' || object === undefined) return [];
    const isSame = (now: ListedRow): boolean =>
      now.namespace === namespace && now.name === name && now.outcome === outcome && now.identifier === identifier;
    return [
      {
        object,
        what: `${namespace}/${name}`,
        done: task.done(row),
        write: (newest) => task.write(newest, row),
        look: async () => (await planned()).find(isSame)?.object,
      },
    ];
  });
  if (changes.length > 0 && !options.yes) {
    tell(context, task.warnings);
    if (!(await agreed(context, task.question(changes.length)))) throw unchanged();
  }
  const failed = await annotateAll(context, changes);
  const summary = `${changes.length - failed.length} annotated, ${rows.length - changes.length} already done, ${failed.length} failed`;
  if (failed.length > 0) {
    throw new CommandError(EXIT.failed, clean(`${summary}: ${failed.join(', ')}`), [
      'run the same command again to finish the rest',
    ]);
  }
  print(context, [summary, `follow the progress: kubectl vps status -A${context.cluster.where}`]);
}
