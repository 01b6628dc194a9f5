/** `kubectl vps adopt --from-record`: restored objects adopt the servers that their records name. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { readBackups, type Backup } from '../cluster/backups.ts';
import { agreed, print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { planOf, type RestoredRow, type Selected, type AdoptionStep } from '../decisions/restored.ts';
import { verdict } from '../state/readiness.ts';
import { columns } from '../terminal/table.ts';
import { clean } from '../terminal/terminal.ts';
import { annotateAll } from './annotate-all.ts';
import { annotateAdopt, unchanged } from './resolve.ts';

export interface FromRecordOptions {
  /** Files or folders with backups, or - for standard input. */
  filename: readonly string[];
  selector?: string | undefined;
  all: boolean;
  dryRun: boolean;
  yes: boolean;
}

const HEADER = ['NAME', 'REASON', 'SERVER', 'STEP', 'WHY'];
const STEPS: Record<AdoptionStep, string> = { adopt: 'adopt', done: 'done', none: 'skip', you: 'needs you' };

/**
 * Run it again after an interruption or a failure to finish the rest. Throws CommandError unless each restored object
 * holds its server or is annotated.
 */
export async function adoptFromRecord(context: Context, options: FromRecordOptions): Promise<void> {
  const { cluster } = context;
  const planned = await plannerOf(context, options);
  const rows = await planned();
  const table = columns(HEADER, rows.map(cellsOf));
  if (options.dryRun) {
    print(context, table);
    return;
  }
  tell(context, table);
  const adoptions = rows.flatMap(({ step, object, identifier }) =>
    step === 'adopt' && object !== undefined && identifier !== undefined ? [{ object, identifier }] : [],
  );
  if (adoptions.length > 0 && !options.yes) {
    tell(context, [
      'The operator cancels each server when its object is deleted, unless deletionPolicy is Retain.',
      'Make sure that no object in another cluster holds one of these servers.',
    ]);
    const { length } = adoptions;
    const question = length === 1 ? 'Adopt the server as shown?' : `Adopt the servers as shown (${length})?`;
    if (!(await agreed(context, question))) throw unchanged();
  }
  const failed = await annotateAll(
    context,
    adoptions.map(({ object, identifier }) => ({
      object,
      what: object.metadata.name,
      done: `adopts ${identifier}`,
      write: (newest) => annotateAdopt(cluster, newest, identifier),
      look: async () =>
        (await planned()).find(
          (row) => row.name === object.metadata.name && row.step === 'adopt' && row.identifier === identifier,
        )?.object,
    })),
  );
  finish(context, rows, adoptions.length - failed.length, failed.length);
}

/** Reads the backups once; the objects each time that the plan is made. */
async function plannerOf(
  context: Context,
  { filename, selector, all }: FromRecordOptions,
): Promise<() => Promise<RestoredRow[]>> {
  const { cluster, now, terminal } = context;
  if ([filename.length > 0, selector !== undefined, all].filter(Boolean).length !== 1 || selector === '') {
    throw new CommandError(
      EXIT.usage,
      'with --from-record, pass exactly one of --filename FILE, --selector SELECTOR and --all',
    );
  }
  const backups: Backup[] = [];
  for (const file of filename) backups.push(...(await readBackups(file, terminal.input)));
  const { namespace } = cluster;
  const here = backups.filter((backup) => (backup.namespace ?? namespace) === namespace);
  if (here.length < backups.length) {
    const others = new Set(backups.filter((backup) => !here.includes(backup)).map((backup) => backup.namespace));
    tell(context, [clean(`skipping objects of other namespaces: ${[...others].sort().join(', ')}`)]);
  }
  return async () => {
    const labelled = selector === undefined ? [] : await cluster.list(false, selector);
    const objects = await cluster.list(false);
    const isSelected = ({ metadata }: VirtualServer): boolean =>
      all || labelled.some((other) => other.metadata.uid === metadata.uid);
    const names = [...here.map(({ name }) => name), ...objects.filter(isSelected).map(({ metadata }) => metadata.name)];
    if (names.length === 0)
      throw new CommandError(EXIT.notFound, `no matching VirtualServer in namespace ${JSON.stringify(namespace)}`);
    const selected = [...new Set(names)].sort().map((name): Selected => ({
      name,
      object: objects.find(({ metadata }) => metadata.name === name),
      backups: here.filter((backup) => backup.name === name),
    }));
    return planOf(selected, objects, now());
  };
}

function cellsOf({ name, object, identifier = '', step, why }: RestoredRow): string[] {
  return [name, object === undefined ? '' : verdict(object).reason, identifier, STEPS[step], why];
}

function finish(context: Context, rows: readonly RestoredRow[], annotated: number, failed: number): void {
  const { where } = context.cluster;
  const count = (step: AdoptionStep): number => rows.filter((row) => row.step === step).length;
  const summary = `${annotated} annotated, ${count('done')} already done, ${count('none')} skipped, ${failed} failed, ${count('you')} need you`;
  if (failed + count('you') > 0) {
    throw new CommandError(EXIT.failed, summary, [
      ...(failed > 0 ? ['run the same command again to finish the rest'] : []),
      `kubectl vps status${where}`,
    ]);
  }
  print(context, [summary, `follow the progress: kubectl vps status${where}`]);
}
