/** The questions of `kubectl vps new`: each is asked again until its answer can be part of a spec. */
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { input, search, select } from '@inquirer/prompts';
import type { ServerCatalogStatus } from '../../api/server-catalog.ts';
import { specSchema } from '../../api/virtual-server.ts';
import { keyOf } from './public-key.ts';
import { clean } from './terminal.ts';

interface Io {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
}

const { product: productSchema, image: imageSchema, diskSize: diskSizeSchema } = specSchema.shape;

/** `lists`: what can be chosen from; free text where there is nothing. */
export function askForProduct(io: Io, { products = [] }: ServerCatalogStatus): Promise<string> {
  const values = products.map(({ code, ram }) => [code, ram === undefined ? '' : `RAM ${ram}`] as const);
  return askFor('Product', values, (text) => problemOf(productSchema.safeParse(text)), io);
}

export function askForImage(io: Io, { images = [] }: ServerCatalogStatus): Promise<string> {
  const values = images.map(({ name, description = '' }) => [name, description] as const);
  return askFor('Image', values, (text) => problemOf(imageSchema.safeParse(text)), io);
}

export async function askForDiskSize(io: Io, { diskSizes = [] }: ServerCatalogStatus): Promise<number> {
  const sizes = diskSizes.find(({ type }) => type === 'ssd')?.sizes ?? [];
  const values = sizes.map((size) => [String(size), ''] as const);
  const problem = (text: string): string | undefined =>
    /^[0-9]+$/.test(text) && diskSizeSchema.safeParse(Number(text)).success
      ? undefined
      : 'give a whole number, such as 20';
  return Number(await askFor('Disk size', values, problem, io));
}

/** A public key of your home, or another one. */
export async function askForKey(io: Io): Promise<string> {
  const folder = join(homedir(), '.ssh');
  const keys = listed(folder)
    .filter((file) => file.endsWith('.pub') && keyProblem(join(folder, file)) === undefined)
    .map((file) => ({ value: join(folder, file), name: file }));
  const another = { value: undefined, name: 'another one' };
  const chosen =
    keys.length === 0 ? undefined : await select({ message: 'SSH public key', choices: [...keys, another] }, io);
  if (chosen !== undefined) return keyOf(chosen);
  const validate = (text: string): true | string => keyProblem(text) ?? true;
  return keyOf(await input({ message: 'SSH public key (text or file)', required: true, validate }, io));
}

/** One of the values, by a search in value and words; free text where there are none to choose from. */
async function askFor(
  message: string,
  values: readonly (readonly [value: string, words: string])[],
  problem: (text: string) => string | undefined,
  io: Io,
): Promise<string> {
  if (values.length === 0) {
    return input({ message, required: true, validate: (text) => problem(text) ?? true }, io);
  }
  const choices = values.map(([value, words]) => ({ value, name: clean(words === '' ? value : `${value}  ${words}`) }));
  const source = (term = ''): typeof choices => {
    const found = choices.filter(({ name }) => name.toLowerCase().includes(term.toLowerCase()));
    if (found.length > 0) return found;
    throw new Error(`nothing matches; choose from ${values.map(([value]) => clean(value)).join(', ')}`);
  };
  return search({ message, source }, io);
}

function problemOf({ error }: { error?: { issues: readonly { message: string }[] } | undefined }): string | undefined {
  return error?.issues[0]?.message;
}

function keyProblem(textOrFile: string): string | undefined {
  try {
    return problemOf(specSchema.shape.sshKeys.safeParse([keyOf(textOrFile)]));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Nobody has to have keys there.
    return [];
  }
}
