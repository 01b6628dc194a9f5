/** Check of the provider, from what the operator has read of it: the ServerCatalogs, one for each API key. Pure. */
import type { ReadyReason } from '../../api/conditions.ts';
import { CATALOG_KIND, CATALOG_SHORT_NAME, RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { creation } from '../state/catalogs.ts';
import { fine, unknown, cannotSee, wrong, type CheckFinding } from './checkup.ts';
import { CommandError } from '../terminal/failure.ts';
import { conditionOf, inWords, NOT_REPORTED } from '../state/readiness.ts';
import { loginCommand } from '../state/login-command.ts';
import { secretsOf, type NamespaceObjects } from './namespace.ts';

const CHECK = 'provider';

/** `missing`: the Secrets that do not exist. */
export function checkProvider(
  { where }: { where: string },
  held: NamespaceObjects,
  missing: ReadonlySet<string> = new Set(),
): CheckFinding[] {
  const { catalogs } = held;
  if (catalogs instanceof CommandError) return [cannotSee(CHECK, catalogs)];
  const shown = new Set(catalogs.map(({ spec }) => spec.apiKeySecretRef.name));
  const others = secretsOf(held).filter((name) => !shown.has(name));
  return [
    ...catalogs.flatMap((catalog) => aboutCatalog(catalog, where, missing)),
    ...others.map((name) => {
      const what = `no ${CATALOG_KIND} shows whether the provider accepts the key in Secret ${name}`;
      return unknown(CHECK, what, creation(where, name).create);
    }),
  ];
}

function aboutCatalog(catalog: ServerCatalog, where: string, missing: ReadonlySet<string>): CheckFinding[] {
  const { name } = catalog.metadata;
  const secret = catalog.spec.apiKeySecretRef.name;
  const who = `${name} (Secret ${secret})`;
  // A catalog stays Ready while the provider is down.
  const trouble = [conditionOf(catalog, 'Stalled'), conditionOf(catalog, 'Reconciling')].find(
    (condition) => condition?.status === 'True',
  );
  const ready = conditionOf(catalog, 'Ready');
  if (trouble !== undefined || ready?.status !== 'True') {
    const why = trouble ?? ready;
    const words = why === undefined ? NOT_REPORTED : `${why.reason}: ${inWords(why)}`;
    return [wrong(CHECK, `${who} ${words}`, stepFor(why?.reason, catalog, where))];
  }
  return [
    missing.has(secret)
      ? unknown(
          CHECK,
          `${who}: what follows was read with the key that was there before; there is no key to log in with now`,
        )
      : fine(CHECK, `${who}: login works`),
    aboutLists(catalog),
    aboutServers(catalog, where),
    ...aboutOrders(catalog, where),
    ...aboutFurther(catalog),
  ];
}

/** The one thing to do. */
function stepFor(reason: string | undefined, { metadata, spec }: ServerCatalog, where: string): string {
  const login = `${loginCommand(where, spec.apiKeySecretRef.name)}   # stores a key`;
  const steps: Partial<Record<ReadyReason, string>> = {
    SecretNotFound: login,
    SecretInvalid: login,
    InvalidCredentials: login,
    PermissionDenied: "give the key the permission to provision servers in the provider's control panel",
    Unauthorized: 'let all requests of the operator leave from one IP address: tokens are bound to it',
    ProviderProtocolError: 'compare --base-url and --auth-url of the operator with docs/reference/providers.md',
    ProviderUnavailable: "check the operator's --base-url and its network; the operator retries automatically",
    ProviderRateLimited: 'wait, or lower --provider-qps of the operator if this persists',
  };
  return steps[reason as ReadyReason] ?? `kubectl describe ${CATALOG_SHORT_NAME} ${metadata.name}${where}`;
}

function aboutLists({ metadata, status }: ServerCatalog): CheckFinding {
  const { counts: { products = 0, images = 0, diskSizes = 0 } = {}, provider } = status ?? {};
  const form = (shape: 'Array' | 'Object' | undefined): string =>
    shape === undefined ? '' : ` (${shape.toLowerCase()})`;
  const lists =
    `${metadata.name}: ${products} products${form(provider?.productList)}, ` +
    `${images} images${form(provider?.imageList)}, ${diskSizes} disk sizes`;
  if (products > 0 && images > 0 && diskSizes > 0) return fine(CHECK, `${lists}; an order names one of each`);
  const step = "look in the provider's control panel whether the account is suspended";
  return wrong(CHECK, `${lists}; an order needs one of each`, step);
}

const readAgain = (name: string, where: string): string =>
  `kubectl annotate --overwrite ${CATALOG_SHORT_NAME} ${name}${where} ${RECONCILE_AT_ANNOTATION}="$(date)"   # reads it again`;

function aboutServers({ metadata: { name }, status }: ServerCatalog, where: string): CheckFinding {
  const again = readAgain(name, where);
  switch (status?.provider?.serverList) {
    case 'Available':
      return fine(CHECK, `${name}: the provider lists your servers, which confirms that a server is gone`);
    case 'Unavailable':
      return fine(CHECK, `${name}: the provider has no list of servers; a server counts as gone after several denials`);
    case 'Forbidden':
      return unknown(
        CHECK,
        `${name}: the API key may not list servers, so no list can confirm that a server is gone`,
        "give the key that right in the provider's control panel, if the provider has such a right",
      );
    case 'Unknown':
      return unknown(CHECK, `${name}: the last read of the list of servers failed`, again);
    case undefined:
      return unknown(CHECK, `${name}: the operator has not read yet whether the provider lists servers`, again);
  }
}

/** Nothing if an earlier version of the operator has read the lists. */
function aboutOrders({ metadata: { name }, status }: ServerCatalog, where: string): CheckFinding[] {
  const { orders, serverList } = status?.provider ?? {};
  switch (orders) {
    case 'Named':
      return [fine(CHECK, `${name}: orders go under an identifier, so an order without an answer is sent again`)];
    case 'Anonymous': {
      const why =
        serverList === 'Available'
          ? ' although the provider lists servers: --orders=anonymous is set, or the provider takes no other orders'
          : '';
      return [fine(CHECK, `${name}: orders go without an identifier${why}; an order without an answer needs you`)];
    }
    case 'Unknown':
      return [
        wrong(
          CHECK,
          `${name}: new orders wait, because the list of servers, which tells which way orders go, could not be read`,
          readAgain(name, where),
          '# if this persists, start the operator with --orders=anonymous',
        ),
      ];
    case undefined:
      return [];
  }
}

/** The lists that no order waits for. Nothing if the provider shows none, or an earlier version of the operator has read the lists. */
function aboutFurther({ metadata: { name }, status }: ServerCatalog): CheckFinding[] {
  const { zoneList, priceList } = status?.provider ?? {};
  const shown = [...(zoneList === 'Available' ? ['zones'] : []), ...(priceList === 'Available' ? ['prices'] : [])];
  if (shown.length === 0) return [];
  return [fine(CHECK, `${name}: the provider lists ${shown.join(' and ')}, which kubectl vps new and plan use`)];
}
