/** The prompts of `kubectl vps new`. Each repeats until the answer is valid in a spec. */
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { input, search, select } from '@inquirer/prompts';
import type { ServerCatalogStatus } from '../../api/server-catalog.ts';
import { DEFAULT_DISK_TYPE, specSchema } from '../../api/virtual-server.ts';
import { modelKey, type Model, type PricedModel } from '../../virtual-server/decision/price.ts';
import { readPublicKey } from '../flags/public-key.ts';
import { memoryText } from '../state/catalogs.ts';
import { expectedPrice } from '../state/expected-price.ts';
import { clean } from '../terminal/terminal.ts';
import { priceText } from '../state/totals.ts';
import { diskText, furtherTexts } from '../state/requested.ts';

interface Io {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
}

const { product: productSchema, image: imageSchema, diskSize: diskSizeSchema } = specSchema.shape;

/** `lists`: the choices; the prompt takes free text if there are none. `prices`: what servers cost, by their disk too. */
export function askForProduct(
  io: Io,
  { products = [] }: ServerCatalogStatus,
  prices: readonly PricedModel[],
): Promise<string> {
  const values = products.map(({ code, ram, price: listed }) => {
    const costs = prices
      .filter(({ product }) => product === code)
      .sort((a, b) => a.diskSize - b.diskSize)
      .map(
        ({ price, ...model }) =>
          `${priceText(price)} with disk ${[diskText(model), ...furtherTexts(model)].join(', ')}`,
      );
    const inList = listed === undefined || costs.length > 0 ? [] : [`${priceText(listed)} without disk`];
    return [code, [memoryText(ram) ?? [], ...inList, ...costs].flat().join(', ')] as const;
  });
  const sources = [
    ...(prices.length === 0 ? [] : ['of your servers']),
    ...(products.some(({ price }) => price !== undefined) ? ["by the provider's list"] : []),
  ];
  const message =
    sources.length === 0 ? 'Product' : `Product (prices: ${sources.join(', or ')}, in the provider's unit)`;
  return askFor(message, values, (text) => problemOf(productSchema.safeParse(text)), io);
}

export function askForImage(io: Io, { images = [] }: ServerCatalogStatus): Promise<string> {
  const values = images.map(({ name, description = '' }) => [name, description] as const);
  return askFor('Image', values, (text) => problemOf(imageSchema.safeParse(text)), io);
}

/** `prices`: of servers that exist. `asked`: what the order asks for besides. */
export async function askForDiskSize(
  io: Io,
  lists: ServerCatalogStatus,
  prices: readonly PricedModel[],
  asked: Omit<Model, 'diskSize'>,
): Promise<number> {
  const { diskSizes = [] } = lists;
  const { diskType = DEFAULT_DISK_TYPE } = asked;
  const sizes = diskSizes.find(({ type }) => type === diskType)?.sizes ?? [];
  const known = new Map(prices.map((model) => [modelKey(model), model]));
  const costs = (diskSize: number): string => {
    const { price, estimated } = expectedPrice({ ...asked, diskSize }, known, lists);
    return price === undefined ? '' : `${estimated === true ? 'about ' : ''}${priceText(price)}`;
  };
  const values = sizes.map((size) => [String(size), costs(size)] as const);
  const problem = (text: string): string | undefined =>
    /^[0-9]+$/.test(text) && diskSizeSchema.safeParse(Number(text)).success
      ? undefined
      : 'enter a whole number, such as 10240';
  return Number(await askFor("Disk size (in the provider's unit)", values, problem, io));
}

/** Offers the public keys in ~/.ssh, or takes another one. */
export async function askForKey(io: Io): Promise<string> {
  const folder = join(homedir(), '.ssh');
  const keys = listed(folder)
    .filter((file) => file.endsWith('.pub') && keyProblem(join(folder, file)) === undefined)
    .map((file) => ({ value: join(folder, file), name: file }));
  const another = { value: undefined, name: 'another key' };
  const chosen =
    keys.length === 0 ? undefined : await select({ message: 'SSH public key', choices: [...keys, another] }, io);
  if (chosen !== undefined) return readPublicKey(chosen);
  const validate = (text: string): true | string => keyProblem(text) ?? true;
  return readPublicKey(await input({ message: 'SSH public key (text or file)', required: true, validate }, io));
}

/** Lets the user search values and descriptions; takes free text if there are no values. */
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
    throw new Error(`no match; choose from ${values.map(([value]) => clean(value)).join(', ')}`);
  };
  return search({ message, source }, io);
}

function problemOf({ error }: { error?: { issues: readonly { message: string }[] } | undefined }): string | undefined {
  return error?.issues[0]?.message;
}

function keyProblem(textOrFile: string): string | undefined {
  try {
    return problemOf(specSchema.shape.sshKeys.safeParse([readPublicKey(textOrFile)]));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The folder is optional.
    return [];
  }
}
