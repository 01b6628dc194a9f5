/** Reads lists of VirtualServers from CSV files, and reports every invalid row at once. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { CsvError, parse } from 'csv-parse/sync';
import { identifierProblem } from '../../api/identifier.ts';
import { identifierKey } from '../../base/identifier.ts';
import { nameProblem } from '../cluster/cluster.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { fileProblem } from '../../base/file-problem.ts';

export interface ListedServer {
  namespace: string;
  name: string;
}
export interface ListedAdoption extends ListedServer {
  identifier: string;
}

type Column = keyof ListedAdoption;
type Row = Record<Column, string>;

/** A row, and where the user finds it. */
interface Placed {
  place: string;
  row: Row;
}

/** How many problems one message lists. */
const SHOWN = 20;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const NAMESPACE_LENGTH = 63;

/** `namespace`: for rows with an empty one. Throws CommandError unless all rows are valid and differ. */
export async function readAdoptions(
  files: readonly string[],
  namespace: string,
  input: NodeJS.ReadableStream,
): Promise<ListedAdoption[]> {
  return valid(await placedRows(files, ['namespace', 'name', 'identifier'], namespace, input), ({ identifier }) =>
    identifierProblem(identifier),
  );
}

/** Like `readAdoptions`, for files without identifiers. */
export async function readServerNames(
  files: readonly string[],
  namespace: string,
  input: NodeJS.ReadableStream,
): Promise<ListedServer[]> {
  return valid(await placedRows(files, ['namespace', 'name'], namespace, input), () => undefined);
}

function valid(rows: readonly Placed[], furtherProblem: (row: Row) => string | undefined): Row[] {
  const problems = rows.flatMap(({ place, row }) => {
    const why = nameProblem(row.name) ?? namespaceProblem(row.namespace) ?? furtherProblem(row);
    return why === undefined ? [] : [`${place}: ${why}`];
  });
  problems.push(...repeated(rows, ({ namespace, name }) => `${namespace}/${name}`, 'object'));
  problems.push(...repeated(rows, ({ identifier }) => identifierKey(identifier), 'identifier'));
  if (problems.length === 0) return rows.map(({ row }) => row);
  const more = problems.length - SHOWN;
  throw new CommandError(EXIT.usage, 'nothing was changed: the list is not valid', [
    ...problems.slice(0, SHOWN),
    ...(more > 0 ? [`and ${more} more problems`] : []),
  ]);
}

function repeated(rows: readonly Placed[], keyOf: (row: Row) => string, what: string): string[] {
  const first = new Map<string, string>();
  return rows.flatMap(({ place, row }) => {
    const key = keyOf(row);
    if (key === '') return [];
    const before = first.get(key);
    if (before === undefined) first.set(key, place);
    return before === undefined ? [] : [`${place}: ${what} ${key} is also in ${before}`];
  });
}

function namespaceProblem(namespace: string): string | undefined {
  if (NAMESPACE.test(namespace) && namespace.length <= NAMESPACE_LENGTH) return undefined;
  return `invalid namespace ${JSON.stringify(namespace)}: use only lowercase letters, digits and "-"`;
}

async function placedRows(
  files: readonly string[],
  columns: readonly Column[],
  namespace: string,
  input: NodeJS.ReadableStream,
): Promise<Placed[]> {
  const placed: Placed[] = [];
  for (const file of files) {
    const content = await contentOf(file, input);
    const [header, ...rows] = records(file, content);
    const names = columnsOf(file, header?.record ?? [], columns);
    for (const { record, info } of rows) {
      const cell = (column: Column): string => record[names.indexOf(column)] ?? '';
      const row = { namespace: cell('namespace') || namespace, name: cell('name'), identifier: cell('identifier') };
      placed.push({ place: `${file} line ${info.lines}`, row });
    }
  }
  if (placed.length > 0) return placed;
  throw new CommandError(EXIT.usage, `--filename ${files.join(', ')} has no rows`);
}

async function contentOf(file: string, input: NodeJS.ReadableStream): Promise<string> {
  try {
    return file === '-' ? await text(input) : readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(EXIT.usage, `cannot read --filename ${file}: ${fileProblem(error)}`);
  }
}

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

function records(file: string, content: string): CsvRecord[] {
  try {
    const options = { bom: true, info: true, skip_empty_lines: true, trim: true };
    return parse(content, options) as unknown as CsvRecord[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandError(EXIT.usage, `--filename ${file} is not valid CSV: ${error.message}`);
  }
}

/** The header. Throws CommandError unless it has exactly these columns, in any order. */
function columnsOf(file: string, header: readonly string[], columns: readonly Column[]): readonly string[] {
  if ([...header].sort().join() === [...columns].sort().join()) return header;
  const found = header.length === 0 ? 'it is empty' : `it is ${JSON.stringify(header.join(','))}`;
  throw new CommandError(EXIT.usage, `the first line of --filename ${file} must be ${columns.join(',')}; ${found}`);
}
