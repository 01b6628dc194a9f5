/** `kubectl vps new`: writes a manifest from flags, or from questions that the catalog answers; it never applies it. */
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { input, search, select } from '@inquirer/prompts';
import { ADOPT_ANNOTATION, API_VERSION, DEFAULT_API_KEY_SECRET, KIND } from '../../../api/names.ts';
import { specSchema } from '../../../api/virtual-server.ts';
import type { ServerCatalog, ServerCatalogStatus } from '../../../api/server-catalog.ts';
import { findCatalog } from '../catalogs.ts';
import { requireName } from '../cluster.ts';
import type { Context } from '../context.ts';
import { CommandError, EXIT } from '../failure.ts';
import { data } from '../table.ts';
import { clean, isInteractive } from '../terminal.ts';
import { requireIdentifier } from './resolve.ts';

export interface NewOptions {
  product?: string | undefined;
  image?: string | undefined;
  diskSize?: number | undefined;
  /** Each the text of a public key, or the path of a file with one. */
  sshKey: readonly string[];
  /** Each `secret/key`. */
  sshKeyFrom: readonly string[];
  secret?: string | undefined;
  ttl?: string | undefined;
  connectionSecret?: string | undefined;
  retain: boolean;
  protect: boolean;
  adopt?: string | undefined;
}

type Answers = Pick<NewOptions, 'product' | 'image' | 'diskSize'> & { sshKeys: string[] };

/** Writes YAML, or JSON where that is asked for, to the standard output. Throws CommandError that names the flag or the field. */
export async function writeManifest(context: Context, name: string, options: NewOptions): Promise<void> {
  requireName(name);
  if (options.adopt !== undefined) requireIdentifier(options.adopt);
  const answers: Answers = { ...options, sshKeys: options.sshKey.map(keyOf) };
  const missing = missingFlags(answers, options);
  if (missing.length > 0) await ask(context, answers, options);
  const spec = {
    product: answers.product,
    image: answers.image,
    diskSize: answers.diskSize,
    ...(answers.sshKeys.length > 0 && { sshKeys: answers.sshKeys }),
    ...(options.sshKeyFrom.length > 0 && { sshKeysFrom: options.sshKeyFrom.map(reference) }),
    ...(options.secret !== undefined && { apiKeySecretRef: { name: options.secret } }),
    ...(options.ttl !== undefined && { ttl: options.ttl }),
    ...(options.connectionSecret !== undefined && { connectionSecretName: options.connectionSecret }),
    ...(options.retain && { deletionPolicy: 'Retain' }),
    ...(options.protect && { deletionProtection: true }),
  };
  const parsed = specSchema.safeParse(spec);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CommandError(EXIT.usage, `${['spec', ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? ''}`);
  }
  const { namespace } = context.cluster;
  const annotations = options.adopt === undefined ? {} : { annotations: { [ADOPT_ANNOTATION]: options.adopt } };
  const manifest = { apiVersion: API_VERSION, kind: KIND, metadata: { name, namespace, ...annotations }, spec };
  context.terminal.out.write(data(manifest, context.format === 'json' ? 'json' : 'yaml'));
}

function missingFlags(answers: Answers, { sshKeyFrom }: NewOptions): string[] {
  return [
    ...(answers.product === undefined ? ['--product'] : []),
    ...(answers.image === undefined ? ['--image'] : []),
    ...(answers.diskSize === undefined ? ['--disk-size'] : []),
    ...(answers.sshKeys.length + sshKeyFrom.length === 0 ? ['--ssh-key'] : []),
  ];
}

/** Fills in what no flag says. */
async function ask(context: Context, answers: Answers, options: NewOptions): Promise<void> {
  const { terminal, cluster } = context;
  const missing = missingFlags(answers, options);
  if (!isInteractive(terminal)) throw new CommandError(EXIT.usage, `give ${missing.join(', ')}`);
  // Without a catalog, or the right to read it, the questions can be asked all the same.
  const catalog = await findCatalog(cluster, options.secret ?? DEFAULT_API_KEY_SECRET).catch(() => undefined);
  if (catalog?.status?.products === undefined) sayUnknown(context, catalog);
  const io = { input: terminal.input, output: terminal.err };
  const { products = [], images = [], diskSizes = [] } = catalog?.status ?? {};
  answers.product ??= await askFor(
    'Product',
    products.map(({ code, ram }) => [code, ramOf(ram)]),
    io,
  );
  answers.image ??= await askFor(
    'Image',
    images.map(({ name, description = '' }) => [name, description]),
    io,
  );
  answers.diskSize ??= Number(
    await askFor(
      'Disk size',
      ssdSizes(diskSizes).map((size) => [String(size), '']),
      io,
    ),
  );
  if (answers.sshKeys.length + options.sshKeyFrom.length === 0) answers.sshKeys = [await askForKey(io)];
}

function sayUnknown({ terminal }: Context, catalog: ServerCatalog | undefined): void {
  const why = catalog === undefined ? 'there is no ServerCatalog here' : `${catalog.metadata.name} has no lists yet`;
  terminal.err.write(`${why}: the answers cannot be checked\n`);
}

interface Io {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
}

/** One of the values, by a search in value and words; free text where there are none to choose from. */
async function askFor(
  message: string,
  values: readonly (readonly [value: string, words: string])[],
  io: Io,
): Promise<string> {
  if (values.length === 0) return input({ message, required: true }, io);
  const choices = values.map(([value, words]) => ({ value, name: clean(words === '' ? value : `${value}  ${words}`) }));
  const source = (term = ''): typeof choices =>
    choices.filter(({ name }) => name.toLowerCase().includes(term.toLowerCase()));
  return search({ message, source }, io);
}

async function askForKey(io: Io): Promise<string> {
  const folder = join(homedir(), '.ssh');
  const files = listed(folder).filter((file) => file.endsWith('.pub'));
  if (files.length === 0) return keyOf(await input({ message: 'SSH public key (text or file)', required: true }, io));
  const choices = files.map((file) => ({ value: join(folder, file), name: file }));
  return keyOf(await select({ message: 'SSH public key', choices }, io));
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Nobody has to have keys there.
    return [];
  }
}

/** A public key as text stays; anything else names a file. A private key must not end up in a manifest. */
function keyOf(textOrFile: string): string {
  if (/^(ssh-|ecdsa-|sk-)\S+\s/.test(textOrFile)) return textOrFile.trim();
  let text: string;
  try {
    text = readFileSync(textOrFile, 'utf8').trim();
  } catch {
    throw new CommandError(EXIT.usage, `--ssh-key ${JSON.stringify(textOrFile)} is neither a public key nor a file`);
  }
  const [key, ...others] = text.split('\n').filter((line) => /^(ssh-|ecdsa-|sk-)\S+\s/.test(line));
  if (key === undefined) throw new CommandError(EXIT.usage, `${textOrFile} holds no SSH public key`);
  if (others.length === 0) return key.trim();
  throw new CommandError(EXIT.usage, `${textOrFile} holds several SSH public keys: give each with an --ssh-key`);
}

function reference(text: string): { name: string; key: string } {
  const [name, key, ...rest] = text.split('/');
  if (!name || !key || rest.length > 0) {
    throw new CommandError(EXIT.usage, `--ssh-key-from ${JSON.stringify(text)} is not valid: give SECRET/KEY`);
  }
  return { name, key };
}

function ssdSizes(diskSizes: NonNullable<ServerCatalogStatus['diskSizes']>): number[] {
  return diskSizes.find(({ type }) => type === 'ssd')?.sizes ?? [];
}

function ramOf(ram: number | undefined): string {
  return ram === undefined ? '' : `RAM ${ram}`;
}
