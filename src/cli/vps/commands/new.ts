/** `kubectl vps new`: writes a manifest from flags, or from questions that the catalog answers; it never applies it. */
import { ADOPT_ANNOTATION, API_VERSION, DEFAULT_API_KEY_SECRET, SERVER_KIND } from '../../../api/names.ts';
import { specSchema } from '../../../api/virtual-server.ts';
import type { ServerCatalog } from '../../../api/server-catalog.ts';
import { findCatalog } from '../catalogs.ts';
import { requireName } from '../cluster.ts';
import type { Context } from '../context.ts';
import { CommandError, EXIT } from '../failure.ts';
import { keyOf } from '../public-key.ts';
import { askForDiskSize, askForImage, askForKey, askForProduct } from '../questions.ts';
import { data } from '../table.ts';
import { isInteractive, type Terminal } from '../terminal.ts';
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
  expiresAt?: string | undefined;
  sshCheck?: string | undefined;
  connectionSecret?: string | undefined;
  retain: boolean;
  protect: boolean;
  adopt?: string | undefined;
}

type Answers = Pick<NewOptions, 'product' | 'image' | 'diskSize'> & { sshKeys: string[] };

/** Stands in for what is still to be asked, while the flags are checked. */
const EXAMPLE = { product: 'product', image: 'file/variant', diskSize: 1, sshKeys: ['ssh-ed25519 AAAA'] };

/** Writes YAML, or JSON where that is asked for, to the standard output. Throws CommandError that names the flag or the field. */
export async function writeManifest(context: Context, name: string, options: NewOptions): Promise<void> {
  requireName(name);
  if (options.adopt !== undefined) requireIdentifier(options.adopt);
  const answers: Answers = { ...options, sshKeys: options.sshKey.map(keyOf) };
  const missing = missingFlags(answers, options);
  if (missing.length > 0) {
    // A wrong flag would make the answers useless.
    checkSpec(specOf(withExamples(answers), options));
    if (!isInteractive(context.terminal)) throw new CommandError(EXIT.usage, `give ${missing.join(', ')}`);
    await ask(context, answers, options);
  }
  const spec = specOf(answers, options);
  checkSpec(spec);
  const { namespace } = context.cluster;
  const annotations = options.adopt === undefined ? {} : { annotations: { [ADOPT_ANNOTATION]: options.adopt } };
  const manifest = { apiVersion: API_VERSION, kind: SERVER_KIND, metadata: { name, namespace, ...annotations }, spec };
  context.terminal.out.write(data(manifest, context.format === 'json' ? 'json' : 'yaml'));
}

function specOf({ product, image, diskSize, sshKeys }: Answers, options: NewOptions): object {
  return {
    product,
    image,
    diskSize,
    ...(sshKeys.length > 0 && { sshKeys }),
    ...(options.sshKeyFrom.length > 0 && { sshKeysFrom: options.sshKeyFrom.map(reference) }),
    ...(options.secret !== undefined && { apiKeySecretRef: { name: options.secret } }),
    ...(options.ttl !== undefined && { ttl: options.ttl }),
    ...(options.expiresAt !== undefined && { expiresAt: options.expiresAt }),
    ...(options.sshCheck !== undefined && { sshCheck: options.sshCheck }),
    ...(options.connectionSecret !== undefined && { connectionSecretName: options.connectionSecret }),
    ...(options.retain && { deletionPolicy: 'Retain' }),
    ...(options.protect && { deletionProtection: true }),
  };
}

function withExamples({ product, image, diskSize, sshKeys }: Answers): Answers {
  return {
    product: product ?? EXAMPLE.product,
    image: image ?? EXAMPLE.image,
    diskSize: diskSize ?? EXAMPLE.diskSize,
    sshKeys: sshKeys.length > 0 ? sshKeys : EXAMPLE.sshKeys,
  };
}

function checkSpec(spec: object): void {
  const parsed = specSchema.safeParse(spec);
  if (parsed.success) return;
  const [issue] = parsed.error.issues;
  throw new CommandError(EXIT.usage, `${['spec', ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? ''}`);
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
async function ask({ terminal, cluster }: Context, answers: Answers, options: NewOptions): Promise<void> {
  // Without a catalog, or the right to read it, the questions can be asked all the same.
  const catalog = await findCatalog(cluster, options.secret ?? DEFAULT_API_KEY_SECRET).catch(() => undefined);
  if (catalog?.status?.products === undefined) sayUnknown(terminal, catalog);
  const io = { input: terminal.input, output: terminal.err };
  const lists = catalog?.status ?? {};
  answers.product ??= await askForProduct(io, lists);
  answers.image ??= await askForImage(io, lists);
  answers.diskSize ??= await askForDiskSize(io, lists);
  if (answers.sshKeys.length + options.sshKeyFrom.length === 0) answers.sshKeys = [await askForKey(io)];
}

function sayUnknown({ err }: Terminal, catalog: ServerCatalog | undefined): void {
  const why = catalog === undefined ? 'there is no ServerCatalog here' : `${catalog.metadata.name} has no lists yet`;
  err.write(`${why}: only the form of the answers can be checked\n`);
}

function reference(text: string): { name: string; key: string } {
  const [name, key, ...rest] = text.split('/');
  if (!name || !key || rest.length > 0) {
    throw new CommandError(EXIT.usage, `--ssh-key-from ${JSON.stringify(text)} is not valid: give SECRET/KEY`);
  }
  return { name, key };
}
