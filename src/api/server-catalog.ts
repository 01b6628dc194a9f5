/** ServerCatalog: the provider's offers. The types and the CustomResourceDefinition are derived from these schemas. */
import * as z from 'zod';
import { DEFAULT_API_KEY_SECRET, RECONCILE_AT_ANNOTATION } from './names.ts';
import { MAX_PRICE } from '../base/price.ts';
import { MAX_IDENTIFIER } from './record.ts';
import { conditionsSchema, secretName, type ObjectMeta } from './meta.ts';

/** Maximum number of entries per list; with more, the object would be unreadable. */
export const MAX_ENTRIES = 500;
/** Maximum number of disk types. */
export const MAX_DISK_TYPES = 16;

/** Maximum lengths, in characters. */
export const CATALOG_BOUNDS = { text: 256, diskType: 64 } as const;

/** Rule for spec.refreshInterval. */
const DURATION = "self.matches(r'^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''";

const name = z.string().max(CATALOG_BOUNDS.text);
/** Whether a VirtualServer holds a server. */
const SERVER_STATES = ['Orphaned', 'Unclear', 'Held'] as const;

const shape = z.enum(['Array', 'Object']);
const total = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const price = z.number().min(0).max(MAX_PRICE);

export const catalogSpecSchema = z
  .object({
    apiKeySecretRef: z
      .object({ name: secretName.default(DEFAULT_API_KEY_SECRET).describe('Name of the Secret.') })
      .default({ name: DEFAULT_API_KEY_SECRET })
      .describe('Secret in the same namespace with the API key of the provider, in the keys "keyId" and "secret".'),
    refreshInterval: z
      .string()
      .max(32)
      .default('1h')
      .meta({
        'x-kubernetes-validations': [
          {
            rule: DURATION,
            message: 'refreshInterval must be a duration in hours, minutes and seconds, such as 1h or 1h30m',
          },
          {
            rule: `!(${DURATION}) || duration(self) >= duration('5m')`,
            message: 'refreshInterval must be at least 5m',
          },
        ],
      })
      .describe('How often the operator reads the lists again, e.g. 1h; at least 5m.'),
    listServers: z
      .boolean()
      .optional()
      .describe(
        "Whether status.servers shows the account's servers, and which of them no VirtualServer holds. Leave it out if " +
          'other clusters order servers with the same account: this cluster cannot see their objects.',
      ),
  })
  .describe('Which lists to read.');

export const catalogStatusSchema = z
  .object({
    products: z
      .array(
        z.object({
          code: name.describe('For spec.product of a VirtualServer.'),
          ram: total.optional().describe('Memory; 1 GB is 1024.'),
          period: name.optional().describe('Its billing period, as the provider names it, such as on-demand.'),
          price: price
            .optional()
            .describe("What the provider's list of prices says, without disk and IPv4 address; see status.prices."),
        }),
      )
      .max(MAX_ENTRIES)
      .optional()
      .describe('Products.'),
    images: z
      .array(
        z.object({
          name: name.describe('For spec.image of a VirtualServer.'),
          description: name.optional().describe('Description by the provider.'),
        }),
      )
      .max(MAX_ENTRIES)
      .optional()
      .describe('Images.'),
    diskSizes: z
      .array(
        z.object({
          type: z.string().max(CATALOG_BOUNDS.diskType).describe('Disk type.'),
          sizes: z.array(total).max(MAX_ENTRIES).describe('For spec.diskSize of a VirtualServer with this diskType.'),
        }),
      )
      .max(MAX_DISK_TYPES)
      .optional()
      .describe("Disk sizes by type, in the provider's own unit: MB at the public service of Mythic Beasts."),
    zones: z
      .array(
        z.object({
          code: name.describe('For spec.zone of a VirtualServer.'),
          description: name.optional().describe('Description by the provider.'),
        }),
      )
      .max(MAX_ENTRIES)
      .optional()
      .describe('Zones, if the provider lists them.'),
    prices: z
      .object({
        ipv4: price.optional().describe('What an IPv4 address costs.'),
        disks: z
          .array(
            z.object({
              type: z.string().max(CATALOG_BOUNDS.diskType).describe('Disk type.'),
              price: price.describe('What each begun unit costs.'),
              extent: price.describe('Size of a unit, in GB.'),
            }),
          )
          .max(MAX_DISK_TYPES)
          .describe('What disks cost.'),
      })
      .optional()
      .describe(
        "What a server costs besides its product, by the provider's list of prices. The provider states no unit; at the public " +
          'service of Mythic Beasts it is pence a month, as a client of that service says. Left out if there is no such list.',
      ),
    counts: z
      .object({
        products: total.describe('Number of products.'),
        images: total.describe('Number of images.'),
        diskSizes: total.describe('Number of disk sizes of all types.'),
        zones: total.optional().describe('Number of zones.'),
      })
      .optional()
      .describe('How many the provider lists. Larger than the lists above if they were cut.'),
    servers: z
      .array(
        z.object({
          identifier: z.string().max(MAX_IDENTIFIER).describe("The provider's identifier of the server."),
          name: name
            .optional()
            .describe('Its name at the provider. The operator names a server NAMESPACE/NAME (start of the uid).'),
          product: name.optional().describe('Its product code.'),
          state: z
            .enum(SERVER_STATES)
            .describe(
              'Held: a VirtualServer holds it. Orphaned: you pay for it, and no VirtualServer that the operator sees holds it. ' +
                'Unclear: it may belong to a VirtualServer, such as one whose order is open.',
            ),
          heldBy: name.optional().describe('The VirtualServer that holds it, if that is in the same namespace.'),
          unheldSince: z.iso
            .datetime()
            .max(64)
            .optional()
            .describe(
              'Since when each read of the list has found that no VirtualServer holds it. One may have held it between two reads.',
            ),
        }),
      )
      .max(MAX_ENTRIES)
      .optional()
      .describe("The account's servers, those that no VirtualServer holds first. Only with spec.listServers."),
    serverCounts: z
      .object({
        all: total.describe('Number of servers.'),
        orphaned: total.describe('How many of them no VirtualServer holds.'),
        unclear: total.describe('How many of them may belong to a VirtualServer.'),
      })
      .optional()
      .describe('How many servers the provider lists. Larger than status.servers if that was cut.'),
    provider: z
      .object({
        productList: shape.describe(
          'How the provider writes the list of products: an array, or an object keyed by code.',
        ),
        imageList: shape.describe('How the provider writes the list of images: an array, or an object keyed by name.'),
        serverList: z
          .enum(['Available', 'Unavailable', 'Forbidden', 'Unknown'])
          .describe(
            "Whether the provider lists the account's servers. Available: it does, so the list can confirm that a server is " +
              'gone. Unavailable: it has no such list, as the specification says. Forbidden: the API key may not list servers. ' +
              'Unknown: the last read of this list failed in another way.',
          ),
        zoneList: z
          .enum(['Available', 'Unavailable', 'Forbidden', 'Unknown'])
          .optional()
          .describe(
            'Whether the provider lists its zones. Available: it does, so the operator checks spec.zone before an order. ' +
              'Unavailable: it has no such list, as the specification says, so the provider checks spec.zone. Forbidden: the API ' +
              'key may not read it. Unknown: the last read of it failed in another way; the operator keeps the last list.',
          ),
        priceList: z
          .enum(['Available', 'Unavailable', 'Forbidden', 'Unknown'])
          .optional()
          .describe(
            'Whether the provider has a list of prices. Available: it does. Unavailable: it has none, as the specification says. ' +
              'Forbidden: the API key may not read it. Unknown: the last read of it failed in another way, so the prices shown ' +
              'may be old. No order waits for this list.',
          ),
        orders: z
          .enum(['Named', 'Anonymous', 'Unknown'])
          .optional()
          .describe(
            'Which way orders go with this API key. Named: under an identifier that the operator or spec.identifier chooses, so an order without an ' +
              'answer is safe to repeat. Anonymous: without one, as the specification says. Unknown: the list of servers could not ' +
              'be read, so with --orders=auto new orders wait.',
          ),
      })
      .optional()
      .describe('What kind of provider this is, as it answered the last successful read of the lists.'),
    observedAt: z.iso
      .datetime()
      .max(64)
      .optional()
      .describe('When the operator last saw the lists change. Unchanged lists are not written again.'),
    lastHandledReconcileAt: name
      .optional()
      .describe(
        `The last value of the annotation ${RECONCILE_AT_ANNOTATION} that the operator acted on; at most 256 characters.`,
      ),
    observedGeneration: z.int().min(-1).optional().describe('The generation of the spec that this status is about.'),
    conditions: conditionsSchema,
  })
  .describe('What the provider offers for this API key.');

export type ServerCatalogSpec = z.infer<typeof catalogSpecSchema>;
export type ServerCatalogStatus = z.infer<typeof catalogStatusSchema>;
export type CatalogServer = NonNullable<ServerCatalogStatus['servers']>[number];
export type Orders = NonNullable<NonNullable<ServerCatalogStatus['provider']>['orders']>;
export type ServerList = NonNullable<ServerCatalogStatus['provider']>['serverList'];

/** An object as the API server returns it. */
export interface ServerCatalog {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: ServerCatalogSpec;
  status?: ServerCatalogStatus;
}
