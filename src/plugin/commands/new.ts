/** `kubectl vps new`: writes a manifest from flags and prompts, with choices from the catalog; never applies it. */
import type * as z from 'zod';
import { ADOPT_ANNOTATION, API_VERSION, DEFAULT_API_KEY_SECRET, SERVER_KIND, SET_KIND } from '../../api/names.ts';
import { specSchema } from '../../api/virtual-server.ts';
import { SET_NAME, setSpecSchema } from '../../api/virtual-server-set.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
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
  /** Write a set, with the values as its template. */
  set: boolean;
  replicas?: number | undefined;
  product?: string | undefined;
  image?: string | undefined;
  diskSize?: number | undefined;
  /** Each is a public key, or the path of a file with one. */
  sshKey: readonly string[];
  /** Each in the form `secret/key`. */
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

/** Example values for missing answers, to check the flags before asking. */
const EXAMPLE = { product: 'product', image: 'file/variant', diskSize: 1, sshKeys: ['ssh-ed25519 AAAA'] };

/** Writes YAML, or JSON with `-o json`, to standard output. Throws CommandError that names the flag or the field. */
export async function writeManifest(context: Context, name: string, options: NewOptions): Promise<void> {
  requireKind(name, options);
  const answers: Answers = { ...options, sshKeys: options.sshKey.map(keyOf) };
  const missing = missingFlags(answers, options);
  if (missing.length > 0) {
    // Check the flags before asking: a wrong flag would make the answers useless.
    checkSpec(specOf(withExamples(answers), options), options);
    if (!isInteractive(context.terminal))
      throw new CommandError(EXIT.usage, `not a terminal: pass ${missing.join(', ')}`);
    await ask(context, answers, options);
  }
  const spec = specOf(answers, options);
  checkSpec(spec, options);
  const { namespace } = context.cluster;
  const annotations = options.adopt === undefined ? {} : { annotations: { [ADOPT_ANNOTATION]: options.adopt } };
  const kind = options.set ? SET_KIND : SERVER_KIND;
  const manifest = { apiVersion: API_VERSION, kind, metadata: { name, namespace, ...annotations }, spec };
  context.terminal.out.write(data(manifest, context.format === 'json' ? 'json' : 'yaml'));
}

/** Throws CommandError for a name or a flag that does not fit the kind of the object. */
function requireKind(name: string, { set, replicas, adopt }: NewOptions): void {
  requireName(name, set ? SET_KIND : SERVER_KIND);
  if (set && !SET_NAME.holds(name)) throw new CommandError(EXIT.usage, SET_NAME.message);
  if (!set && replicas !== undefined) throw new CommandError(EXIT.usage, '--replicas requires --set');
  if (adopt === undefined) return;
  if (set) throw new CommandError(EXIT.usage, 'pass either --set or --adopt, not both: a set orders its servers');
  requireIdentifier(adopt);
}

function specOf(answers: Answers, options: NewOptions): object {
  const spec = serverSpec(answers, options);
  const { set, replicas } = options;
  return set ? { ...(replicas !== undefined && { replicas }), template: { spec } } : spec;
}

function serverSpec({ product, image, diskSize, sshKeys }: Answers, options: NewOptions): object {
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

function checkSpec(spec: object, { set }: NewOptions): void {
  const schema: z.ZodType = set ? setSpecSchema : specSchema;
  const parsed = schema.safeParse(spec);
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

/** Asks for the values that no flag sets. */
async function ask({ terminal, cluster }: Context, answers: Answers, options: NewOptions): Promise<void> {
  // The prompts also work without a catalog, or without the right to read it.
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
  const why =
    catalog === undefined ? 'no readable ServerCatalog for this Secret' : `${catalog.metadata.name} has no lists yet`;
  err.write(`${why}: answers are only checked for their form\n`);
}

function reference(text: string): { name: string; key: string } {
  const [name, key, ...rest] = text.split('/');
  if (!name || !key || rest.length > 0) {
    throw new CommandError(EXIT.usage, `invalid --ssh-key-from ${JSON.stringify(text)}: use SECRET/KEY`);
  }
  return { name, key };
}
