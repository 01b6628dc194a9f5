/** `kubectl vps new`: writes a manifest from flags and prompts, with choices from the catalog, or creates the object. */
import {
  ADOPT_ANNOTATION,
  API_VERSION,
  DEFAULT_API_KEY_SECRET,
  GROUP,
  SERVER_KIND,
  SERVER_PLURAL,
  SERVER_SINGULAR,
  SET_KIND,
  SET_PLURAL,
  SET_SINGULAR,
} from '../../api/names.ts';
import { userDataWarnings } from '../../api/user-data.ts';
import type { VirtualServerSpec } from '../../api/virtual-server.ts';
import { pricesIn } from '../../virtual-server/decision/price.ts';
import { SET_NAME, setSpecSchema } from '../../api/virtual-server-set.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { findCatalog, requireOffered } from '../state/catalogs.ts';
import { requireName, type ClusterView } from '../cluster/cluster.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT, ExistsError } from '../terminal/failure.ts';
import { priceInWords, pricedServers } from '../state/order-price.ts';
import { askForDiskSize, askForImage, askForKey, askForProduct } from '../screens/questions.ts';
import { SET_FLAGS, setFlagIn, setSpecFrom, type SetFlags } from '../flags/set-flags.ts';
import { checkSpec, specFrom, type SpecFlags } from '../flags/spec-flags.ts';
import { data } from '../terminal/table.ts';
import { isInteractive, type Terminal } from '../terminal/terminal.ts';

export type NewOptions = SpecFlags &
  SetFlags & {
    /** Make a set, with the values as its template. */
    set: boolean;
    adopt?: string | undefined;
    label: Readonly<Record<string, string>>;
    annotation: Readonly<Record<string, string>>;
  };

/** A manifest can be written without an API server, so the command does not wait long for one. */
const CATALOG_MS = 3000;

/** Values for missing answers, to check the flags before asking. */
const EXAMPLE = { product: 'product', image: 'image', diskSize: 1, sshKeys: ['ssh-ed25519 AAAA'] };

/** Writes YAML, or JSON with `-o json`, to standard output. Throws CommandError that names the flag or the field. */
export async function writeManifest(context: Context, name: string, options: NewOptions): Promise<void> {
  const { manifest, price } = await manifestOf(context, name, options);
  tell(context, price);
  context.terminal.out.write(data(manifest, context.format === 'json' ? 'json' : 'yaml'));
}

/** Creates the object. Throws CommandError if there is one of this name. */
export async function applyManifest(context: Context, name: string, options: NewOptions): Promise<void> {
  const { cluster } = context;
  const { manifest: whole, price } = await manifestOf(context, name, options);
  const { apiVersion, ...manifest } = whole;
  const plural = options.set ? SET_PLURAL : SERVER_PLURAL;
  // What the API server refuses comes before the price.
  await cluster.createObject(apiVersion, plural, manifest, { dryRun: true }).catch((error: unknown) => {
    throw error instanceof ExistsError ? existing(name, options, cluster) : error;
  });
  tell(context, price);
  await cluster.createObject(apiVersion, plural, manifest);
  // As kubectl says it.
  print(context, [
    `${options.set ? SET_SINGULAR : SERVER_SINGULAR}.${GROUP}/${name} created`,
    `follow the progress: kubectl vps wait ${options.set ? 'set/' : ''}${name}${cluster.where}`,
  ]);
}

function existing(name: string, { set }: NewOptions, { namespace, where }: ClusterView): CommandError {
  const argument = set ? `set/${name}` : name;
  const kind = set ? SET_KIND : SERVER_KIND;
  const change = set
    ? `kubectl edit vpsset ${name}${where}   # changes it`
    : `kubectl vps replace ${name}${where} --help   # orders another server in its place`;
  const what = `there is already a ${kind} "${name}" in namespace "${namespace}", and nothing was created`;
  return new CommandError(EXIT.failed, what, [`kubectl vps status ${argument}${where}`, change]);
}

async function manifestOf(context: Context, name: string, options: NewOptions) {
  requireKind(name, options);
  const given = specFrom(options);
  const missing = missingFlags(given);
  // Check the flags before asking: a wrong flag would make the answers useless.
  check({ ...(missing.length > 0 && EXAMPLE), ...given }, options);
  if (missing.length > 0 && !isInteractive(context.terminal))
    throw new CommandError(EXIT.usage, `not a terminal: pass ${missing.join(', ')}`);
  const catalog = await catalogFor(context, options);
  // A server that exists may have a product that the provider no longer sells.
  if (catalog !== undefined && options.adopt === undefined) requireOffered(catalog, given, context.cluster.where);
  const spec = missing.length > 0 ? await ask(context, given, catalog) : given;
  check(spec, options);
  const { set, adopt } = options;
  const adopts: Record<string, string> = adopt === undefined ? {} : { [ADOPT_ANNOTATION]: adopt };
  const described = metadataOf(options.label, { ...options.annotation, ...adopts });
  const metadata = { name, namespace: context.cluster.namespace, ...(!set && described) };
  const manifest = {
    apiVersion: API_VERSION,
    kind: set ? SET_KIND : SERVER_KIND,
    metadata,
    spec: whole(spec, options),
  };
  const price = adopt === undefined ? await priceOf(context, spec, catalog, set) : [];
  const { userData } = spec;
  const warnings = typeof userData === 'string' ? userDataWarnings(userData) : [];
  return { manifest, price: [...price, ...warnings.map((warning) => `--user-data: the file ${warning}`)] };
}

/** What an order of this spec would cost. */
async function priceOf(
  { cluster }: Context,
  spec: Spec,
  catalog: ServerCatalog | undefined,
  isSet: boolean,
): Promise<string[]> {
  const text = priceInWords(spec as VirtualServerSpec, await pricedServers(cluster), catalog?.status);
  return [`price${isSet ? ' of each server' : ''}: ${text}`];
}

function metadataOf(labels: NewOptions['label'], annotations: NewOptions['annotation']): object {
  return {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

/** Throws CommandError for a name or a flag that does not fit the kind of the object. */
function requireKind(name: string, options: NewOptions): void {
  const { set, adopt } = options;
  requireName(name, set ? SET_KIND : SERVER_KIND);
  if (set && !SET_NAME.holds(name)) throw new CommandError(EXIT.usage, SET_NAME.message);
  const flag = set ? undefined : setFlagIn(options);
  if (flag !== undefined) throw new CommandError(EXIT.usage, `${flag} is for a set: pass --set too`);
  if (adopt === undefined) return;
  if (set) throw new CommandError(EXIT.usage, 'pass either --set or --adopt, not both: a set orders its servers');
}

type Spec = Record<string, unknown>;

/** The spec of the object: of the server, or of a set that has this spec in its template. */
function whole(spec: Spec, options: NewOptions): Spec {
  if (!options.set) return spec;
  const metadata = metadataOf(options.label, options.annotation);
  return { ...setSpecFrom(options), template: { ...(Object.keys(metadata).length > 0 && { metadata }), spec } };
}

function check(spec: Spec, options: NewOptions): void {
  checkSpec(whole(spec, options), options.set ? { schema: setSpecSchema, setFlags: SET_FLAGS } : {});
}

function missingFlags({ product, image, diskSize, sshKeys, sshKeysFrom }: Spec): string[] {
  return [
    ...(product === undefined ? ['--product'] : []),
    ...(image === undefined ? ['--image'] : []),
    ...(diskSize === undefined ? ['--disk-size'] : []),
    ...((sshKeys ?? sshKeysFrom) === undefined ? ['--ssh-key'] : []),
  ];
}

/** The command also works without a catalog, without the right to read it, and without an API server. */
async function catalogFor({ cluster }: Context, { secret }: NewOptions): Promise<ServerCatalog | undefined> {
  const signal = AbortSignal.timeout(CATALOG_MS);
  return findCatalog(cluster, secret ?? DEFAULT_API_KEY_SECRET, signal).catch(() => undefined);
}

/** Asks for the values that no flag sets. */
async function ask({ terminal, cluster }: Context, given: Spec, catalog: ServerCatalog | undefined): Promise<Spec> {
  const servers = await pricedServers(cluster);
  if (catalog?.status?.products === undefined) sayUnknown(terminal, catalog);
  const io = { input: terminal.input, output: terminal.err };
  const lists = catalog?.status ?? {};
  const prices = [...pricesIn(servers).values()];
  const product = (given.product as string | undefined) ?? (await askForProduct(io, lists, prices));
  const { diskType, ipv4, advanced } = given as Partial<VirtualServerSpec>;
  return {
    product,
    image: given.image ?? (await askForImage(io, lists)),
    diskSize: given.diskSize ?? (await askForDiskSize(io, lists, prices, { product, diskType, ipv4, advanced })),
    ...((given.sshKeys ?? given.sshKeysFrom) === undefined && { sshKeys: [await askForKey(io)] }),
    ...given,
  };
}

function sayUnknown({ err }: Terminal, catalog: ServerCatalog | undefined): void {
  const why =
    catalog === undefined ? 'no readable ServerCatalog for this Secret' : `${catalog.metadata.name} has no lists yet`;
  err.write(`${why}: answers are only checked for their form\n`);
}
