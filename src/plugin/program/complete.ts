/** Shell completion. kubectl calls `kubectl_complete-vps WORD...`, where the last word is the one being typed. */
import type { Command, Option } from 'commander';
import { CATALOG_PLURAL } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { DEFAULT_DISK_TYPE, type VirtualServer } from '../../api/virtual-server.ts';
import { contextNames } from '../../kube/config.ts';
import { UNHELD, NAME, PATH, SERVER_OR_SET, SET } from '../flags/arguments.ts';
import { memoryText } from '../state/catalogs.ts';
import { ClusterView } from '../cluster/cluster.ts';
import { LIST_FORMATS } from '../commands/list.ts';
import { upToDate } from '../state/let-go.ts';
import { unheldIn } from '../state/orphans.ts';
import { conditionOf, NOT_REPORTED, type Reported } from '../state/readiness.ts';
import { isPlain } from '../../base/text.ts';

/** Directives of cobra: whether the shell may fall back to file names, and whether the word is complete. */
const NO_FILES = ':4';
const FILES = ':0';
const FILES_OR_MORE = ':2';
/** Flags that take a file. */
const FILE_FLAGS = ['kubeconfig', 'identityFile', 'sshKey', 'filename'];
/** A user who pressed Tab does not wait longer. */
const TIMEOUT_MS = 3000;

interface Candidate {
  word: string;
  /** Shown beside the word. */
  about?: string | undefined;
}

const bare = (words: readonly string[]): Candidate[] => words.map((word) => ({ word }));

/** What is left of a text that a shell may show: the provider and other users write some of them. */
const harmless = (text: string): string => text.replaceAll(/[^\w.,:;%()/=-]+/g, ' ').trim();

const lineOf = ({ word, about = '' }: Candidate): string => {
  const shown = harmless(about);
  return shown === '' ? word : `${word}\t${shown}`;
};

/**
 * Resolves with lines for kubectl: candidates, each with a tab and a description if there is one, then a directive. Never rejects: a failed completion has no candidates.
 * A credential plugin may still be running when it resolves.
 */
export async function complete(program: Command, words: readonly string[]): Promise<string[]> {
  const before = words.slice(0, -1);
  const typed = words.at(-1) ?? '';
  const given = parse(program, before);
  const { path, rest } = commandOf(program, given.words);
  const options = path.flatMap((each) => each.options);
  const [flag, inline] = splitFlag(typed);
  const awaited = options.find(
    (option) => option.required && isFlag(option, inline === undefined ? before.at(-1) : flag),
  );
  if (awaited !== undefined && FILE_FLAGS.includes(awaited.attributeName())) return [FILES];
  const found = awaited === undefined ? wordsOf(path, rest, given, typed) : valuesOf(awaited, given);
  const prefix = inline === undefined ? '' : `${flag}=`;
  const candidates = (await found.catch(() => [])).map((each) => ({ ...each, word: prefix + each.word }));
  // Scripts of older kubectl versions pass candidates to `compgen -W`, which would run a command in a product code.
  const takesPaths = awaited === undefined && path.at(-1)?.registeredArguments[0]?.name() === PATH.name;
  const directive = takesPaths && !typed.startsWith('-') ? FILES_OR_MORE : NO_FILES;
  return [...candidates.filter(({ word }) => isPlain(word) && word.startsWith(typed)).map(lineOf), directive];
}

async function valuesOf(option: Option, { values }: Given): Promise<Candidate[]> {
  if (option.argChoices !== undefined) return bare(option.argChoices);
  switch (option.attributeName()) {
    case 'output':
      return bare(LIST_FORMATS);
    case 'context':
      return bare(contextNames(values.kubeconfig?.at(-1)));
    case 'namespace':
      return bare(await withCluster({ ...values, namespace: [] }, (cluster) => cluster.namespaces()));
    default:
      return fromCatalog(option.attributeName(), values);
  }
}

/** `path`: from the program to the command, with subcommands; `rest`: the words after it. */
function commandOf(program: Command, words: readonly string[]): { path: Command[]; rest: readonly string[] } {
  const [word, ...others] = words;
  const next = program.commands.find((each) => [each.name(), ...each.aliases()].some((name) => name === word));
  if (next === undefined) return { path: [program], rest: words };
  const { path, rest } = commandOf(next, others);
  return { path: [program, ...path], rest };
}

async function wordsOf(
  path: readonly Command[],
  rest: readonly string[],
  { values }: Given,
  typed: string,
): Promise<Candidate[]> {
  if (typed.startsWith('-'))
    return path
      .flatMap(({ options }) => options.map(({ long, description }) => ({ word: long ?? '', about: description })))
      .filter(({ word }) => word !== '');
  const command = path.at(-1);
  const isFull = rest.length > 0 && command?.registeredArguments[0]?.variadic !== true;
  if (command === undefined || isFull) return [];
  if (command.commands.length > 0)
    return command.commands.map((each) => ({ word: each.name(), about: each.description() }));
  const argument = command.name() === 'new' ? undefined : command.registeredArguments[0]?.name();
  const names = await withCluster(values, (cluster) => namesFor(argument, cluster));
  return names.filter(({ word }) => !rest.includes(word));
}

async function namesFor(argument: string | undefined, cluster: ClusterView): Promise<Candidate[]> {
  const named = (objects: readonly Reported[], spelled = (name: string): string => name): Candidate[] =>
    objects.map((object) => ({
      word: spelled(object.metadata.name),
      about: conditionOf(object, 'Ready')?.reason ?? NOT_REPORTED,
    }));
  const serversNow = async (): Promise<VirtualServer[]> => (await cluster.list(false)).map(upToDate);
  if (argument === NAME.name) return named(await serversNow());
  if (argument === PATH.name) return named(await serversNow(), (name) => `${name}:`);
  if (argument === SET.name) return named(await cluster.listSets());
  if (argument === UNHELD.name) {
    const catalogs = (await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[];
    const { servers } = unheldIn(catalogs, await cluster.list(false));
    return servers.map(({ identifier, name }) => ({ word: identifier, about: name }));
  }
  if (argument !== SERVER_OR_SET.name) return [];
  const servers = named(await serversNow());
  // The user may have no right to read sets.
  const sets = await cluster.listSets().catch(() => []);
  return [...servers, ...named(sets, (name) => `set/${name}`)];
}

interface Given {
  /** Words that are neither flags nor their values; the first is the command. */
  words: string[];
  /** Values by attribute name of the flag, in order, since a flag may be repeated. */
  values: Record<string, string[]>;
}

function parse(program: Command, before: readonly string[]): Given {
  const given: Given = { words: [], values: {} };
  const every = withSubcommands(program).flatMap(({ options }) => options);
  for (let index = 0; index < before.length; index++) {
    const [word, inline] = splitFlag(before[index] ?? '');
    const option = every.find((each) => isFlag(each, word));
    if (option === undefined) given.words.push(word);
    else if (option.required) (given.values[option.attributeName()] ??= []).push(inline ?? before[++index] ?? '');
  }
  return given;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function isFlag({ short, long }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === short || word === long);
}

function splitFlag(word: string): [string, string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

async function withCluster<T>(values: Given['values'], work: (cluster: ClusterView) => Promise<T>): Promise<T> {
  const { asGroup, ...others } = values;
  const last = Object.fromEntries(Object.entries(others).map(([name, texts]) => [name, texts.at(-1)]));
  const cluster = new ClusterView({ ...last, asGroup, timeoutMs: TIMEOUT_MS });
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}

async function fromCatalog(flag: string, values: Given['values']): Promise<Candidate[]> {
  const catalogs = await withCluster(
    values,
    async (cluster) => (await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[],
  );
  const statuses = catalogs.map(({ status }) => status ?? {});
  if (flag === 'product')
    return statuses.flatMap(({ products = [] }) =>
      products.map(({ code, ram }) => ({ word: code, about: memoryText(ram) })),
    );
  if (flag === 'image')
    return statuses.flatMap(({ images = [] }) =>
      images.map(({ name, description }) => ({ word: name, about: description })),
    );
  if (flag === 'zone')
    return statuses.flatMap(({ zones = [] }) =>
      zones.map(({ code, description }) => ({ word: code, about: description })),
    );
  const disks = statuses.flatMap(({ diskSizes = [] }) => diskSizes);
  if (flag === 'diskType') return bare(disks.map(({ type }) => type));
  if (flag !== 'diskSize') return [];
  const diskType = values['diskType']?.at(-1) ?? DEFAULT_DISK_TYPE;
  return bare(disks.filter(({ type }) => type === diskType).flatMap(({ sizes }) => sizes.map(String)));
}
