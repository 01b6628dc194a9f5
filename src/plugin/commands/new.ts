/** `kubectl vps new`: writes a manifest from flags and prompts, with choices from the catalog; never applies it. */
import { ADOPT_ANNOTATION, API_VERSION, DEFAULT_API_KEY_SECRET, SERVER_KIND, SET_KIND } from '../../api/names.ts';
import { specSchema } from '../../api/virtual-server.ts';
import { SET_NAME, setSpecSchema } from '../../api/virtual-server-set.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { findCatalog } from '../catalogs.ts';
import { requireName } from '../cluster.ts';
import type { Context } from '../context.ts';
import { CommandError, EXIT } from '../failure.ts';
import { askForDiskSize, askForImage, askForKey, askForProduct } from '../questions.ts';
import { checkSpec, specFrom, type SpecFlags } from '../spec-flags.ts';
import { data } from '../table.ts';
import { isInteractive, type Terminal } from '../terminal.ts';
import { requireIdentifier } from './resolve.ts';

export type NewOptions = SpecFlags & {
  /** Write a set, with the values as its template. */
  set: boolean;
  replicas?: number | undefined;
  adopt?: string | undefined;
};

/** Values for missing answers, to check the flags before asking. */
const EXAMPLE = { product: 'product', image: 'file/variant', diskSize: 1, sshKeys: ['ssh-ed25519 AAAA'] };

/** Writes YAML, or JSON with `-o json`, to standard output. Throws CommandError that names the flag or the field. */
export async function writeManifest(context: Context, name: string, options: NewOptions): Promise<void> {
  requireKind(name, options);
  const given = specFrom(options);
  const missing = missingFlags(given);
  // Check the flags before asking: a wrong flag would make the answers useless.
  check({ ...(missing.length > 0 && EXAMPLE), ...given }, options);
  if (missing.length > 0 && !isInteractive(context.terminal))
    throw new CommandError(EXIT.usage, `not a terminal: pass ${missing.join(', ')}`);
  const spec = missing.length > 0 ? await ask(context, given, options) : given;
  check(spec, options);
  const { namespace } = context.cluster;
  const annotations = options.adopt === undefined ? {} : { annotations: { [ADOPT_ANNOTATION]: options.adopt } };
  const kind = options.set ? SET_KIND : SERVER_KIND;
  const metadata = { name, namespace, ...annotations };
  const manifest = { apiVersion: API_VERSION, kind, metadata, spec: whole(spec, options) };
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

type Spec = Record<string, unknown>;

/** The spec of the object: that of the server, or of a set with it as its template. */
function whole(spec: Spec, { set, replicas }: NewOptions): Spec {
  return set ? { ...(replicas !== undefined && { replicas }), template: { spec } } : spec;
}

function check(spec: Spec, options: NewOptions): void {
  checkSpec(whole(spec, options), options.set ? setSpecSchema : specSchema);
}

function missingFlags({ product, image, diskSize, sshKeys, sshKeysFrom }: Spec): string[] {
  return [
    ...(product === undefined ? ['--product'] : []),
    ...(image === undefined ? ['--image'] : []),
    ...(diskSize === undefined ? ['--disk-size'] : []),
    ...((sshKeys ?? sshKeysFrom) === undefined ? ['--ssh-key'] : []),
  ];
}

/** Asks for the values that no flag sets. */
async function ask({ terminal, cluster }: Context, given: Spec, { secret }: NewOptions): Promise<Spec> {
  // The prompts also work without a catalog, or without the right to read it.
  const catalog = await findCatalog(cluster, secret ?? DEFAULT_API_KEY_SECRET).catch(() => undefined);
  if (catalog?.status?.products === undefined) sayUnknown(terminal, catalog);
  const io = { input: terminal.input, output: terminal.err };
  const lists = catalog?.status ?? {};
  return {
    product: given.product ?? (await askForProduct(io, lists)),
    image: given.image ?? (await askForImage(io, lists)),
    diskSize: given.diskSize ?? (await askForDiskSize(io, lists)),
    ...((given.sshKeys ?? given.sshKeysFrom) === undefined && { sshKeys: [await askForKey(io)] }),
    ...given,
  };
}

function sayUnknown({ err }: Terminal, catalog: ServerCatalog | undefined): void {
  const why =
    catalog === undefined ? 'no readable ServerCatalog for this Secret' : `${catalog.metadata.name} has no lists yet`;
  err.write(`${why}: answers are only checked for their form\n`);
}
