/** Reads VirtualServers and their records from files such as backups: YAML or JSON, several documents, lists. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { GROUP, SERVER_KIND, RECORD_ANNOTATION } from '../../api/names.ts';
import { inPhase, parseRecord, recordSchema, type ServerRecord } from '../../api/record.ts';
import { isObject } from '../../base/deep-equal.ts';
import { readDocuments } from '../../kube/yaml.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { fileProblem } from '../../base/file-problem.ts';

/** A record and the place where it was found. */
export interface FoundRecord {
  place: string;
  record: ServerRecord;
}

/** One object, as a file describes it. */
export interface Backup {
  /** Undefined if the file names none: the namespace of the command applies. */
  namespace: string | undefined;
  name: string;
  file: string;
  found: FoundRecord[];
  /** Why the record in the annotation cannot be read. */
  problem?: string;
}

/** How many kinds an error names. */
const NAMED_KINDS = 3;

const MANIFEST = /\.(json|ya?ml)$/;

/** `file`: a file, a folder of manifests, or - for `input`. Throws CommandError, also if there is no VirtualServer. */
export async function readBackups(file: string, input: NodeJS.ReadableStream): Promise<Backup[]> {
  return (await readServers(file, input)).map(backupOf);
}

/** All objects in a file as it describes them, not checked; `recursive`: also in the folders of a folder. Throws CommandError. */
export async function readObjects(
  file: string,
  input: NodeJS.ReadableStream,
  recursive = false,
): Promise<[Loose, name: string][]> {
  const texts = await failing(file, () => (file === '-' ? stdin(input) : files(file, recursive)));
  return texts.flatMap(([name, content]) => objectsOf(name, content).map((object): [Loose, string] => [object, name]));
}

/** All VirtualServers in a file as it describes them, not checked. Throws CommandError, also if there is none. */
export async function readServers(file: string, input: NodeJS.ReadableStream): Promise<[Loose, name: string][]> {
  const objects = await readObjects(file, input);
  const servers = objects.filter(([object]) => isServer(object));
  if (servers.length > 0) return servers;
  const kinds = [
    ...new Set(objects.map(([{ kind }]) => (typeof kind === 'string' ? kind : 'an object without a kind'))),
  ];
  const instead = kinds.length === 0 ? '' : `, only ${kinds.slice(0, NAMED_KINDS).join(', ')}`;
  throw new CommandError(EXIT.usage, `--filename ${file} contains no ${SERVER_KIND}${instead}`);
}

type Content = [name: string, text: string];

async function stdin(input: NodeJS.ReadableStream): Promise<Content[]> {
  return [['-', await text(input)]];
}

function files(path: string, recursive: boolean): Content[] {
  const paths = statSync(path).isDirectory()
    ? readdirSync(path, { recursive, encoding: 'utf8' })
        .sort()
        .filter((name) => MANIFEST.test(name))
        .map((name) => join(path, name))
    : [path];
  return paths.map((each) => [each, readFileSync(each, 'utf8')]);
}

async function failing<T>(file: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(EXIT.usage, `cannot read --filename ${file}: ${fileProblem(error)}`);
  }
}

export interface Loose {
  apiVersion?: unknown;
  kind?: unknown;
  items?: unknown;
  metadata?: {
    name?: unknown;
    namespace?: unknown;
    labels?: Record<string, unknown> | null;
    annotations?: Record<string, unknown> | null;
  } | null;
  spec?: unknown;
  status?: { record?: unknown } | null;
}

/** All objects in the text, with lists flattened, as kubectl reads them. */
function objectsOf(file: string, content: string): Loose[] {
  try {
    return readDocuments(content).flatMap((value) => {
      if (isObject(value) && !Array.isArray(value)) return listed(value);
      throw new Error('a document is no object');
    });
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new CommandError(EXIT.usage, `--filename ${file} is not valid YAML or JSON: ${why}`);
  }
}

/** The items of a typed list such as VirtualServerList may leave out what the list says of them. */
function listed(value: Loose): Loose[] {
  const { apiVersion, kind, items } = value;
  if (!Array.isArray(items)) return [value];
  const typed = typeof kind === 'string' && kind !== 'List' ? { apiVersion, kind: kind.replace(/List$/, '') } : {};
  return (items as (Loose | null)[]).flatMap((item) => (item === null ? [] : listed({ ...typed, ...item })));
}

function isServer({ apiVersion, kind }: Loose): boolean {
  return kind === SERVER_KIND && typeof apiVersion === 'string' && apiVersion.startsWith(`${GROUP}/`);
}

function backupOf([{ metadata, status }, file]: [Loose, string]): Backup {
  const { name, namespace, annotations } = metadata ?? {};
  if (typeof name !== 'string') {
    throw new CommandError(EXIT.usage, `--filename ${file}: a ${SERVER_KIND} has no metadata.name`);
  }
  const annotation = annotations?.[RECORD_ANNOTATION];
  const parsed = parseRecord(typeof annotation === 'string' ? annotation : undefined);
  const mirror = recordSchema.safeParse(status?.record);
  return {
    namespace: typeof namespace === 'string' ? namespace : undefined,
    name,
    file,
    found: [...(parsed.ok ? [parsed.value] : []), mirror.data && inPhase(mirror.data)]
      .filter((record) => record !== undefined)
      .map((record) => ({ place: file, record })),
    ...(!parsed.ok && {
      problem: `annotation ${RECORD_ANNOTATION} in ${file} is not a valid record: ${parsed.error.problem}`,
    }),
  };
}
