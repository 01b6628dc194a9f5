/**
 * VirtualServer: the zod schema from which the types and the CustomResourceDefinition are derived.
 * Every string, list and number is bounded: the API server rejects a whole status if one value exceeds its bound, and
 * CEL's cost limit requires bounds.
 */
import * as z from 'zod';
import { conditionsSchema, secretName, type ObjectMeta } from './meta.ts';
import { DEFAULT_API_KEY_SECRET } from './names.ts';
import { MAX_IDENTIFIER, storedRecordSchema } from './record.ts';
import { matching, ruled } from './rules.ts';
import { secretKeySchema, sshKeysSchema } from './ssh-keys.ts';
import { MAX_USER_DATA, userDataFromSchema } from './user-data.ts';

/** Bounds of the status; the operator cuts text from the provider to these lengths before writing it. */
export const BOUNDS = {
  address: 64,
  addresses: 16,
  hostname: 253,
  identifier: MAX_IDENTIFIER,
  text: 256,
  /** Of a host key in base64: RSA with 12288 bits. */
  hostKey: 2100,
  hostKeys: 4,
} as const;

/** A second rule requires a digit other than 0, so the duration is above 0. */
const DURATION = '^([0-9]{1,6}(h|m|s))+$';

/** RFC 3339, as the API server reads it, and only days that exist: to convert another one to a time would be an error without our words. */
const LEAP_YEAR = '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)';
const DAYS = [
  '(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])',
  '(0[469]|11)-(0[1-9]|[12][0-9]|30)',
  '02-(0[1-9]|1[0-9]|2[0-8])',
].join('|');
const DAY = `([0-9]{4}-(${DAYS})|${LEAP_YEAR}-02-29)`;
const CLOCK = '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?';
const TIME = `^${DAY}T${CLOCK}(Z|[+-]([01][0-9]|2[0-4]):[0-5][0-9])$`;

const duration = (field: string): z.ZodString =>
  ruled(z.string().max(32), {
    rule: `self.matches(r'${DURATION}') && self.matches('[1-9]')`,
    message: `${field} must be a duration above 0 in hours, minutes and seconds, such as 72h or 1h30m`,
    holds: (value) => new RegExp(DURATION).test(value) && /[1-9]/.test(value),
  });

const text = z.string().max(BOUNDS.text);
const port = z.int().min(1).max(65535);
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** What the provider takes if the order names no disk type. */
export const DEFAULT_DISK_TYPE = 'ssd';

const LABEL = '[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?';

const extra = z.int().min(1).max(2147483647).optional();
const device = z.string().min(1).max(64).optional();

/** What the operator may do to a server when its spec changes. */
const changePolicySchema = z.enum(['Never', 'Online', 'AllowStop']);
export type ChangePolicy = z.infer<typeof changePolicySchema>;

/** Rare fields of an order. */
export const advancedSchema = z
  .object({
    hostServer: z
      .string()
      .min(1)
      .max(BOUNDS.hostname)
      .optional()
      .describe('Host machine that the server is created on. Only with a private cloud.'),
    extraCores: extra.describe('Cores in addition to the product. Only with a private cloud.'),
    extraMemory: extra.describe(
      'Memory in addition to the product, in MB; the public service accepts multiples of 1024. Only with a private cloud.',
    ),
    cpuMode: z
      .enum(['Performance', 'Compatibility'])
      .optional()
      .describe('Performance or Compatibility. By default the provider chooses.'),
    netDevice: device.describe('Network device, such as virtio or e1000. By default the provider chooses.'),
    diskBus: device.describe('Bus of the disk, such as virtio or sata. By default the provider chooses.'),
    tablet: z.boolean().optional().describe('Whether the server has a tablet as its pointing device.'),
  })
  .refine((fields) => Object.keys(fields).length > 0, 'must set at least one of its fields')
  .meta({ minProperties: 1 })
  .describe('Rare fields of the order.');

/** Fields that the order sends if they are set. The provider's own limits are not known, so the provider decides. */
const furtherOrderFields = {
  ipv4: z
    .boolean()
    .optional()
    .describe('Whether the server gets an IPv4 address, which costs extra. By default it has IPv6 only.'),
  zone: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Code of the zone that the server is created in. By default the provider chooses.'),
  hostname: matching(
    z.string().min(1).max(BOUNDS.hostname),
    `^${LABEL}([.]${LABEL})*$`,
    'must be a DNS name, such as web.example.org: labels of letters, digits and "-", with "." between them',
  )
    .optional()
    .describe('Hostname of the server. By default the provider makes one of the identifier.'),
  serverName: z
    .string()
    .min(1)
    .max(BOUNDS.text)
    .optional()
    .describe(
      'Name that the provider shows, for people. By default it is made of namespace, name and uid of this object if the order has an identifier. With spec.identifier, the start of the uid follows it.',
    ),
  diskType: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("Disk type, from the provider's list of disk sizes. By default ssd."),
  forwardDNS: z
    .boolean()
    .optional()
    .describe('Whether the provider creates the DNS records from the hostname to the addresses.'),
  reverseDNS: z
    .boolean()
    .optional()
    .describe('Whether the provider creates the DNS records from the addresses to the hostname.'),
  advanced: advancedSchema.optional(),
  storedUserData: z
    .string()
    .min(1)
    .max(BOUNDS.text)
    .optional()
    .describe('Number or name of user data (cloud-init) that is stored at the provider.'),
  userData: z
    .string()
    .min(1)
    .max(MAX_USER_DATA)
    .optional()
    .describe(
      'User data for cloud-init, such as a script or a cloud-config. Everyone who may read this object can read it, so it must not contain passwords.',
    ),
  userDataFrom: userDataFromSchema.optional(),
};

export const specSchema = ruled(
  z.object({
    product: z.string().min(1).max(128).describe("Product code, from the provider's list of products."),
    image: z.string().min(1).max(256).describe("Image name, from the provider's list of images."),
    diskSize: z
      .int()
      .min(1)
      .max(2147483647)
      .describe(
        "Disk size, one of the provider's list of sizes for the disk type, in the unit of that list: MB at the public service of Mythic Beasts.",
      ),
    identifier: matching(
      z.string().min(1).max(20),
      '^[a-z][a-z0-9]*$',
      'identifier must begin with a letter, and have only lower-case letters and digits, at most 20',
    )
      .optional()
      .describe(
        'Identifier of the server, which is part of its host name. Only where orders go under an identifier (--orders). The operator chooses one if it is not set.',
      ),
    sshKeys: sshKeysSchema.optional().describe('SSH public keys that may log in as root.'),
    sshKeysFrom: z
      .array(secretKeySchema)
      .max(16)
      .optional()
      .describe('Keys of Secrets in the same namespace that hold more SSH public keys for root.'),
    ...furtherOrderFields,
    apiKeySecretRef: z
      .object({ name: secretName.default(DEFAULT_API_KEY_SECRET).describe('Name of the Secret.') })
      .default({ name: DEFAULT_API_KEY_SECRET })
      .describe('Secret in the same namespace with the API key of the provider, in the keys "keyId" and "secret".'),
    deletionPolicy: z
      .enum(['Delete', 'Retain'])
      .default('Delete')
      .describe('What happens to the server when this object is deleted: Delete cancels it, Retain keeps it running.'),
    deletionProtection: z
      .boolean()
      .default(false)
      .describe(
        'While true, the operator never cancels the server, and the guards refuse to delete this object. If it is deleted anyway, it waits, unless deletionPolicy is Retain.',
      ),
    power: z
      .enum(['On', 'Off', 'Dormant'])
      .optional()
      .describe(
        'On, Off or Dormant; in quotes, because YAML reads On and Off as true and false. Off asks the system of the server to shut down. Dormant switches the server off by force, keeps its disk and addresses, and costs less. By default the operator does not touch the power. Only where the provider API can switch servers off and on.',
      ),
    changePolicy: changePolicySchema
      .optional()
      .describe(
        'What the operator may do to the server when you change this spec. Never: nothing, so the fields of the order are locked. Online: change product, diskSize (only larger) and serverName while the server runs. AllowStop: also shut the server down and start it again, for the fields of advanced and for a resize that waits for a restart. Only where the provider can change servers. By default Never.',
      ),
    sshCheck: z
      .enum(['None', 'Proxy', 'Direct'])
      .default('None')
      .describe(
        'None, Proxy or Direct. With Proxy or Direct, Ready requires an SSH server that answers: through the SSH proxy, or at port 22 of the first IPv6 address.',
      ),
    connectionSecretName: secretName
      .optional()
      .describe(
        'Name of a Secret that the operator creates in the same namespace and keeps up to date: identifier, addresses, SSH, admin console, and VNC with its password. Requires --connection-secrets.',
      ),
    expiresAt: z.iso
      .datetime('must be a time that exists, such as 2027-01-31T18:00:00Z')
      .max(64)
      .meta({
        'x-kubernetes-validations': [
          {
            rule: `self.matches(r'${TIME}') && timestamp(self) > timestamp('1970-01-01T00:00:00Z')`,
            message: 'must be a time that exists, such as 2027-01-31T18:00:00Z',
          },
        ],
      })
      .optional()
      .describe(
        'Cancel the server at this time, e.g. 2027-01-31T18:00:00Z. This object stays, and the operator orders no other server. Mutually exclusive with ttl.',
      ),
    ttl: duration('ttl')
      .optional()
      .describe(
        'Cancel the server this long after it first became ready, e.g. 72h. Mutually exclusive with expiresAt.',
      ),
    deletionDelay: duration('deletionDelay')
      .optional()
      .describe(
        'Keep the server this long after this object is deleted, e.g. 24h, and cancel it then. Until then you can take the deletion back. Without effect if deletionPolicy is Retain.',
      ),
  }),
  {
    rule: '(has(self.sshKeys) && size(self.sshKeys) > 0) || (has(self.sshKeysFrom) && size(self.sshKeysFrom) > 0)',
    message: 'set at least one SSH key, in sshKeys or sshKeysFrom: without one, you could not log in',
    holds: ({ sshKeys = [], sshKeysFrom = [] }) => sshKeys.length + sshKeysFrom.length > 0,
  },
  {
    rule: '[has(self.userData), has(self.userDataFrom), has(self.storedUserData)].filter(isSet, isSet).size() <= 1',
    message: 'set only one of userData, userDataFrom and storedUserData',
    holds: ({ userData, userDataFrom, storedUserData }) =>
      [userData, userDataFrom, storedUserData].filter((value) => value !== undefined).length <= 1,
  },
  {
    rule: '!(has(self.expiresAt) && has(self.ttl))',
    message: 'set expiresAt or ttl, not both',
    holds: ({ expiresAt, ttl }) => expiresAt === undefined || ttl === undefined,
  },
  {
    rule: "!(has(self.expiresAt) || has(self.ttl)) || self.deletionPolicy == 'Delete'",
    message: 'expiresAt and ttl require deletionPolicy: Delete, because an expired server is cancelled',
    holds: ({ expiresAt, ttl, deletionPolicy }) => (expiresAt ?? ttl) === undefined || deletionPolicy === 'Delete',
  },
  {
    rule: '!has(self.connectionSecretName) || (self.connectionSecretName != self.apiKeySecretRef.name && !(has(self.sshKeysFrom) && self.sshKeysFrom.exists(key, key.name == self.connectionSecretName)))',
    message: 'connectionSecretName must differ from the Secrets with the API key and the SSH keys',
    holds: ({ connectionSecretName, apiKeySecretRef, sshKeysFrom = [] }) =>
      ![apiKeySecretRef, ...sshKeysFrom].some(({ name }) => name === connectionSecretName),
  },
).describe('The server you want.');

export const statusSchema = z
  .object({
    identifier: z.string().max(BOUNDS.identifier).optional().describe("The provider's identifier of the server."),
    ipv6: z.array(z.string().max(BOUNDS.address)).max(BOUNDS.addresses).optional().describe('IPv6 addresses.'),
    ipv4: z.array(z.string().max(BOUNDS.address)).max(BOUNDS.addresses).optional().describe('IPv4 addresses.'),
    sshProxy: z
      .object({ hostname: z.string().max(BOUNDS.hostname).describe('Host.'), port: port.describe('Port.') })
      .optional()
      .describe('SSH proxy of the server.'),
    ssh: z.string().max(300).optional().describe('Arguments for ssh: "root@host -p port".'),
    sshHostKeys: z
      .array(
        z.object({
          type: z.string().max(64).describe('Type of the key, such as ssh-ed25519.'),
          fingerprint: z.string().max(64).describe('Fingerprint, as ssh-keygen -l prints it: SHA256:...'),
          key: z.string().max(BOUNDS.hostKey).describe('The public key in base64, as in known_hosts.'),
          firstSeen: z.iso.datetime().max(64).describe('When the operator first saw the key.'),
        }),
      )
      .max(BOUNDS.hostKeys)
      .optional()
      .describe(
        'The SSH host key that sshCheck found first, or that you accepted since. It changes only by your annotation.',
      ),
    serverStatus: text.optional().describe("The provider's word for the state of the server, such as running."),
    task: z
      .object({
        id: (z.any() as z.ZodType<number | string>)
          .meta({ 'x-kubernetes-int-or-string': true })
          .describe('Number of the task; its digits as a string if it is greater than 2^53.'),
        message: text.optional().describe("The provider's words for the progress."),
        percent: z.int().min(0).max(100).optional().describe('Percent complete, if the message contains it.'),
        secondsRemaining: count.optional().describe('Seconds remaining, if the message contains them.'),
        expectedAt: z.iso
          .datetime()
          .max(64)
          .optional()
          .describe('When the task is expected to end, by its message or by tasks of this product before.'),
      })
      .optional()
      .describe('The task that creates the server, while the task runs.'),
    name: text.optional().describe('Name of the server at the provider.'),
    zone: z
      .object({ name: text.optional().describe('Name.'), code: text.optional().describe('Code.') })
      .optional()
      .describe('Zone that the server is in.'),
    hostServer: text.optional().describe('Name of the host machine.'),
    product: text.optional().describe('Product code that the server has.'),
    specs: z
      .object({
        cores: count.optional().describe('Number of cores.'),
        ram: count.optional().describe('Memory; a product with 1 GB has 1024.'),
        diskSize: count.optional().describe("Disk size in the provider's unit."),
        diskType: text.optional().describe('Disk type, such as ssd.'),
      })
      .optional()
      .describe('What the server has.'),
    advanced: z
      .object({
        extraCores: count.optional().describe('Cores in addition to the product.'),
        extraMemory: count.optional().describe('Memory in addition to the product.'),
        cpuMode: text.optional().describe('CPU mode.'),
        netDevice: text.optional().describe('Network device.'),
        diskBus: text.optional().describe('Bus of the disk.'),
        tablet: z.boolean().optional().describe('Whether the server has a tablet as its pointing device.'),
      })
      .optional()
      .describe('What the server has of the fields of spec.advanced that can change.'),
    price: z.number().optional().describe("Price in the provider's unit."),
    macs: z.array(z.string().max(BOUNDS.address)).max(BOUNDS.addresses).optional().describe('Hardware addresses.'),
    adminConsole: z
      .object({ hostname: z.string().max(BOUNDS.hostname).describe('Host.'), username: text.describe('User.') })
      .optional()
      .describe('Admin console of the server.'),
    userDataChanged: z
      .literal(true)
      .optional()
      .describe('The Secret or ConfigMap in spec.userDataFrom no longer has the user data that the order sent.'),
    cancelsAt: z.iso
      .datetime()
      .max(64)
      .optional()
      .describe(
        'When the operator cancels the server: by spec.expiresAt or spec.ttl, or, once the object is deleted, by spec.deletionDelay.',
      ),
    cancelRequestedAt: z.iso
      .datetime()
      .max(64)
      .optional()
      .describe('When the operator noted that it had asked the provider to cancel the server.'),
    record: storedRecordSchema.optional(),
    observedGeneration: z.int().min(-1).optional().describe('The generation of the spec that this status is about.'),
    conditions: conditionsSchema,
  })
  .describe('What the operator knows about the server.');

export type VirtualServerSpec = z.infer<typeof specSchema>;
export type Advanced = z.infer<typeof advancedSchema>;
export type VirtualServerStatus = z.infer<typeof statusSchema>;

/** An object as the API server returns it, with defaults filled in and the schema enforced. */
export interface VirtualServer {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: VirtualServerSpec;
  status?: VirtualServerStatus;
}
