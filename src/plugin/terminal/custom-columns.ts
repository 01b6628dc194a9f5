/** `-o custom-columns=NAME:.metadata.name,...`, as kubectl has it. Pure. */
import { InvalidArgumentError } from 'commander';
import { JSONPath } from 'jsonpath-plus';
import { CommandError, EXIT } from './failure.ts';
import { columns } from './table.ts';

interface CustomColumn {
  header: string;
  path: string;
}

const EXAMPLE = 'custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status';

/** Throws InvalidArgumentError for anything that does not name columns. */
export function parseColumns(spec: string): CustomColumn[] {
  const parsed = spec.split(',').map((column) => /^([^:]+):\{?(\.[^{}]+)\}?$/.exec(column));
  return parsed.map((match) => {
    const [, header, path] = match ?? [];
    if (header !== undefined && path !== undefined) return { header, path };
    throw new InvalidArgumentError(`Use for example ${EXAMPLE}.`);
  });
}

/** A missing value shows as `<none>`, several are separated by commas. Throws CommandError for an invalid path. */
export function customTable(objects: readonly unknown[], shown: readonly CustomColumn[]): string[] {
  return columns(
    shown.map(({ header }) => header),
    objects.map((object) => shown.map(({ path }) => valueAt(object, path))),
  );
}

function valueAt(object: unknown, path: string): string {
  // `eval: 'safe'` parses the expressions of filters instead of running them as JavaScript.
  const found = read(object, path) as unknown[];
  return found.length === 0 ? '<none>' : found.map((value) => textOf(value)).join(',');
}

function read(object: unknown, path: string): unknown {
  try {
    return JSONPath({ path: `$${path}`, json: object as object, eval: 'safe', wrap: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(EXIT.usage, `--output custom-columns: invalid path ${JSON.stringify(path)}: ${why}`);
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
