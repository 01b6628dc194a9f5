/** Shell completion, as kubectl asks plugins for it: `kubectl_complete-vps WORD...`, the last word being typed. */
import type { Command, Option } from 'commander';
import { CATALOG_PLURAL } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { ClusterView } from './cluster.ts';

/** cobra's: never fall back to names of files. */
const NO_FILES = ':4';

/** Lines for kubectl: candidates, then a directive. Never rejects: a completion that fails has no candidates. */
export async function complete(program: Command, words: readonly string[]): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const candidates = await candidatesOf(program, words.slice(0, -1), typed).catch(() => []);
  return [...candidates.filter((candidate) => candidate.startsWith(typed)), NO_FILES];
}

async function candidatesOf(program: Command, before: readonly string[], typed: string): Promise<string[]> {
  const given = parse(program, before);
  const command = program.commands.find((each) => each.name() === given.words[0]);
  const options = [...program.options, ...(command?.options ?? [])];
  const awaited = options.find((option) => isFlag(option, before.at(-1)) && option.required);
  if (awaited?.argChoices) return awaited.argChoices;
  if (awaited !== undefined) return fromCatalog(awaited.attributeName(), given.values);
  if (typed.startsWith('-')) return options.map(({ long }) => long ?? '').filter((flag) => flag !== '');
  if (command === undefined) return program.commands.map((each) => each.name());
  const [argument] = command.registeredArguments;
  return given.words.length === 1 && argument?.name() === 'name' && command.name() !== 'new' ? names(given.values) : [];
}

interface Given {
  /** What is neither a flag nor its value; the first is the command. */
  words: string[];
  /** Values of flags by their long names. */
  values: Record<string, string>;
}

function parse(program: Command, before: readonly string[]): Given {
  const given: Given = { words: [], values: {} };
  const every = [program, ...program.commands].flatMap(({ options }) => options);
  for (let index = 0; index < before.length; index++) {
    const [word, inline] = splitFlag(before[index] ?? '');
    const option = every.find((each) => isFlag(each, word));
    if (option === undefined) given.words.push(word);
    else if (option.required) given.values[option.attributeName()] = inline ?? before[++index] ?? '';
  }
  return given;
}

function isFlag({ short, long }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === short || word === long);
}

function splitFlag(word: string): [string, string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

async function withCluster<T>(values: Given['values'], work: (cluster: ClusterView) => Promise<T>): Promise<T> {
  const { kubeconfig, context, namespace } = values;
  const cluster = new ClusterView({ kubeconfig, context, namespace });
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}

function names(values: Given['values']): Promise<string[]> {
  return withCluster(values, async (cluster) => (await cluster.list(false)).map(({ metadata }) => metadata.name));
}

async function fromCatalog(flag: string, values: Given['values']): Promise<string[]> {
  const catalogs = await withCluster(
    values,
    async (cluster) => (await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[],
  );
  const statuses = catalogs.map(({ status }) => status ?? {});
  if (flag === 'product') return statuses.flatMap(({ products = [] }) => products.map(({ code }) => code));
  if (flag === 'image') return statuses.flatMap(({ images = [] }) => images.map(({ name }) => name));
  if (flag !== 'diskSize') return [];
  return statuses.flatMap(({ diskSizes = [] }) => diskSizes.flatMap(({ sizes }) => sizes.map(String)));
}
