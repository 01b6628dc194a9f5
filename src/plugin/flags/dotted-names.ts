/** Names such as `web.team`: NAME.NAMESPACE, unless an object has that name literally, because names may hold dots. */
import type { Command } from 'commander';
import { NAME, PATH, SERVER_OR_SET, SET } from './arguments.ts';
import { nameProblem, type ClusterView } from '../cluster/cluster.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { remoteOf } from './ssh-arguments.ts';
import { targetOf, type Target } from './target.ts';

/** What an argument with this name holds. */
const KINDS: Readonly<Record<string, Target['kind']>> = {
  [NAME.name]: 'server',
  [SERVER_OR_SET.name]: 'server',
  [SET.name]: 'set',
};

/** `namespace`: default: the namespace of the command. */
type Open = (namespace?: string) => ClusterView;

/**
 * Replaces NAME.NAMESPACE in the arguments of a command by NAME, and resolves with the namespace; undefined if there is no
 * such name. Throws CommandError if the names, or the flag `given`, are in several namespaces.
 */
export async function takeNamespace(command: Command, open: Open, given?: string): Promise<string | undefined> {
  // Most names have no dot, and need no look at the cluster. The object of `new` does not exist yet.
  if (command.name() === 'new' || !command.args.some((word) => word.includes('.'))) return undefined;
  const found: (string | undefined)[] = [];
  const own = open();
  const taken = async (argument: string, text: string): Promise<string> => {
    const remote = argument === PATH.name ? remoteOf(text) : undefined;
    const kind = remote === undefined ? KINDS[argument] : 'server';
    if (kind === undefined) return text;
    const split = await splitName(remote?.server ?? text, kind, own, open);
    found.push(split.namespace);
    return remote === undefined ? split.text : `${split.text}:${remote.path}`;
  };
  try {
    for (const [index, argument] of command.registeredArguments.entries()) {
      const value = command.processedArgs[index] as string | string[] | undefined;
      if (value === undefined) continue;
      const texts = await Promise.all([value].flat().map((text) => taken(argument.name(), text)));
      command.processedArgs[index] = argument.variadic ? texts : texts[0];
    }
  } finally {
    await own.close();
  }
  if (found.every((each) => each === undefined)) return undefined;
  const [namespace, ...others] = new Set(found.map((each) => each ?? own.namespace));
  if (others.length > 0)
    throw new CommandError(EXIT.usage, 'the names are in several namespaces: run the command once for each');
  if (given === undefined || given === namespace) return namespace;
  throw new CommandError(EXIT.usage, `the name is in namespace ${namespace}, but --namespace is ${given}`);
}

interface Split {
  text: string;
  namespace?: string;
}

async function splitName(text: string, usual: Target['kind'], own: ClusterView, open: Open): Promise<Split> {
  const { kind, name } = targetOf(text, usual);
  const dot = name.lastIndexOf('.');
  if (dot < 1 || nameProblem(name) !== undefined) return { text };
  const [short, namespace] = [name.slice(0, dot), name.slice(dot + 1)];
  const exists = async (cluster: ClusterView, wanted: string): Promise<boolean> =>
    (await (kind === 'set' ? cluster.findSet(wanted) : cluster.find(wanted))) !== undefined;
  if (await exists(own, name)) return { text };
  const other = open(namespace);
  try {
    if (!(await exists(other, short))) return { text };
  } finally {
    await other.close();
  }
  return { text: kind === 'set' ? `set/${short}` : short, namespace };
}
