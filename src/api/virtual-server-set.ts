/** VirtualServerSet: a number of equal servers. The types and the CustomResourceDefinition come from these schemas. */
import * as z from 'zod';
import { conditionsSchema, type ObjectMeta } from './meta.ts';
import { GROUP } from './names.ts';
import type { OrderedField } from './ordered-fields.ts';
import { matching, ruled } from './rules.ts';
import { specSchema, type VirtualServerSpec } from './virtual-server.ts';

export const MAX_REPLICAS = 10_000;
/** Maximum length of a set's name: a member's name adds a hyphen and five digits, and must be a DNS label. */
const MAX_SET_NAME = 57;
const LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
/** A rule of the whole object, for the API server and for code that writes a manifest. */
export const SET_NAME = {
  rule: `size(self.metadata.name) <= ${MAX_SET_NAME} && self.metadata.name.matches('${LABEL}')`,
  message: `the name of a set must be a DNS label of at most ${MAX_SET_NAME} characters, because its members are called NAME-0, NAME-1, ...`,
  holds: (name: string): boolean => name.length <= MAX_SET_NAME && new RegExp(LABEL).test(name),
};
/** How many revisions a status keeps, and the maximum length of all of them as JSON. */
export const MAX_REVISIONS = 10;
export const REVISIONS_LENGTH = 65_536;

/** In the annotations of a template, as `kubectl rollout restart` sets it: members that it did not exist for are replaced. */
export const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** Maximum number of labels, and of annotations, in a template. */
const MAX_ENTRIES = 32;
/** The name of a label or an annotation; without this rule, the API server would accept the set and refuse its members. */
const KEY = '^([a-zA-Z0-9][-a-zA-Z0-9.]*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$';
/** Maximum length of the value of an annotation in a template. */
const ANNOTATION_LENGTH = 1_024;
/**
 * Maximum length of all labels of a template, and of all its annotations. The operator writes both to an annotation of each
 * member, as JSON, where a character may become six, and keeps 16,384 characters of that annotation.
 */
const ENTRIES_LENGTH = 2_048;

const count = z.int().min(0).max(2147483647);
const revision = z.string().max(64);

/** A number or a percentage of `replicas`. */
const amount = (description: string) =>
  ruled((z.any() as z.ZodType<number | string>).meta({ 'x-kubernetes-int-or-string': true }), {
    rule: `type(self) == int ? self >= 0 && self <= ${MAX_REPLICAS} : self.matches('^(100|[1-9]?[0-9])%$')`,
    message: `must be a number from 0 to ${MAX_REPLICAS}, or a percentage from "0%" to "100%"`,
    holds: (value) =>
      typeof value === 'number'
        ? Number.isInteger(value) && value >= 0 && value <= MAX_REPLICAS
        : /^(100|[1-9]?[0-9])%$/.test(value),
  }).describe(description);

const sizeOf = (map: Record<string, string>): number =>
  Object.entries(map).reduce((sum, [key, value]) => sum + key.length + value.length, 0);

const entries = (value: z.ZodString, description: string) =>
  ruled(
    z.record(z.string().max(317), value).meta({ maxProperties: MAX_ENTRIES }),
    {
      rule: `self.all(key, !key.startsWith('${GROUP}/'))`,
      message: `must not begin with ${GROUP}/, which is for single objects`,
      holds: (map) => Object.keys(map).every((key) => !key.startsWith(`${GROUP}/`)),
    },
    {
      rule: `self.all(key, key.matches(r'${KEY}'))`,
      message:
        'names must be like "tier" or "example.org/tier": letters, digits, "-", "_" and ".", at most 63 after the "/"',
      holds: (map) => Object.keys(map).every((key) => new RegExp(KEY).test(key)),
    },
    {
      rule: `self.map(key, size(key) + size(self[key])).sum() <= ${ENTRIES_LENGTH}`,
      message: `names and values must have at most ${ENTRIES_LENGTH} characters together`,
      holds: (map) => sizeOf(map) <= ENTRIES_LENGTH,
    },
  )
    .optional()
    .describe(description);

const labelValue = matching(
  z.string().max(63),
  '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$',
  'must be the value of a label: letters, digits, "-", "_" and ".", with a letter or a digit first and last',
);

const rollingUpdateSchema = ruled(
  z.object({
    maxSurge: amount(
      'How many servers may exist in addition to replicas: a number, or a percentage of replicas, rounded up.',
    ).default(1),
    maxUnavailable: amount(
      'How many members may be unavailable during a rollout: a number, or a percentage of replicas, rounded down. With 0, one member at a time is changed in place, if that stops no server.',
    ).default(0),
  }),
  {
    rule: '!(self.maxSurge == 0 && self.maxUnavailable == 0)',
    message: 'maxSurge and maxUnavailable cannot both be 0: the rollout could do nothing',
    holds: ({ maxSurge, maxUnavailable }) => maxSurge !== 0 || maxUnavailable !== 0,
  },
);

const templateSchema = ruled(
  z.object({
    metadata: z
      .object({
        labels: entries(labelValue, 'Labels of the members, besides those that the operator sets.'),
        annotations: entries(z.string().max(ANNOTATION_LENGTH), 'Annotations of the members.'),
      })
      .optional()
      .describe('Metadata of the members.'),
    spec: specSchema.describe(
      'The spec of each member. A change of what an order sends is rolled out: in place if changePolicy allows all of it, otherwise with new servers. Other changes are written to the members.',
    ),
  }),
  {
    rule: '!has(self.spec.expiresAt) && !has(self.spec.ttl)',
    message: 'expiresAt and ttl are not allowed in a set, which keeps its servers: scale the set to 0 instead',
    holds: ({ spec }) => (spec.expiresAt ?? spec.ttl) === undefined,
  },
  {
    rule: '!has(self.spec.userData)',
    message:
      'userData is not allowed in a set, whose status keeps earlier templates: store it in a Secret, and set userDataFrom',
    holds: ({ spec }) => spec.userData === undefined,
  },
  {
    rule: '!has(self.spec.hostname) && !has(self.spec.serverName)',
    message: 'hostname and serverName are not allowed in a set, because all its members would get the same one',
    holds: ({ spec }) => (spec.hostname ?? spec.serverName) === undefined,
  },
  {
    rule: '!has(self.spec.identifier)',
    message: 'identifier is not allowed in a set: each member has its own, chosen by the operator',
    holds: ({ spec }) => spec.identifier === undefined,
  },
  {
    rule: '!has(self.spec.connectionSecretName) || size(self.spec.connectionSecretName) <= 240',
    message: 'connectionSecretName must have at most 240 characters, because the number of the member is appended',
    holds: ({ spec }) => (spec.connectionSecretName ?? '').length <= 240,
  },
);

export const setSpecSchema = z
  .object({
    replicas: z.int().min(0).max(MAX_REPLICAS).default(1).describe('How many servers you want.'),
    minReadySeconds: count
      .default(0)
      .describe('How long a member must be Ready, in seconds, before it counts as available.'),
    template: templateSchema.describe('The template of each member.'),
    strategy: z
      .object({
        type: z
          .enum(['RollingUpdate', 'OnDelete'])
          .default('RollingUpdate')
          .describe(
            'RollingUpdate changes or replaces the members after a change; OnDelete waits until you delete them.',
          ),
        rollingUpdate: rollingUpdateSchema
          .default({ maxSurge: 1, maxUnavailable: 0 })
          .describe('Limits of a rollout, and of every other action of the set.'),
      })
      .default({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } })
      .describe('How a changed template reaches the members.'),
    scaleDown: z
      .object({
        order: z
          .enum(['Newest', 'Oldest'])
          .default('Newest')
          .describe(
            'Which members the set deletes first, Newest or Oldest, after those that are marked and those that are not available.',
          ),
      })
      .default({ order: 'Newest' })
      .describe('Which members a smaller number of replicas deletes.'),
    paused: z.boolean().default(false).describe('While true, the set creates, changes and deletes no member.'),
    progressDeadlineSeconds: count
      .min(1)
      .default(3600)
      .describe('After this long without progress, in seconds, the set is Stalled. It keeps trying.'),
  })
  .describe('The servers you want.');

const keyOf = (kind: string) =>
  z
    .object({
      name: z.string().max(253).describe(`Name of a ${kind}.`),
      key: z.string().max(253).describe('Key in it.'),
    })
    .describe(`The ${kind}, and the key in it.`);

const orderedText = (description: string) => z.string().max(256).optional().describe(description);

/** The fields that an order sends, as a status keeps them. */
const orderedFields = {
  product: z.string().max(128).describe('Product code.'),
  image: z.string().max(256).describe('Image name.'),
  diskSize: count.describe('Disk size.'),
  sshKeys: z.array(z.string().max(8192)).max(16).optional().describe('SSH public keys.'),
  sshKeysFrom: z
    .array(
      z.object({
        name: z.string().max(253).describe('Name of a Secret.'),
        key: z.string().max(253).describe('Key in it.'),
      }),
    )
    .max(16)
    .optional()
    .describe('Keys of Secrets that hold SSH public keys.'),
  ipv4: z.boolean().optional().describe('Whether with an IPv4 address.'),
  zone: orderedText('Code of the zone.'),
  hostname: orderedText('Hostname.'),
  serverName: orderedText('Name at the provider.'),
  diskType: orderedText('Disk type.'),
  forwardDNS: z.boolean().optional().describe('Whether with DNS records of the hostname.'),
  reverseDNS: z.boolean().optional().describe('Whether with DNS records of the addresses.'),
  advanced: z
    .object({
      hostServer: orderedText('Host machine.'),
      extraCores: count.optional().describe('Additional cores.'),
      extraMemory: count.optional().describe('Additional memory in MB.'),
      cpuMode: z.enum(['Performance', 'Compatibility']).optional().describe('CPU mode.'),
      netDevice: orderedText('Network device.'),
      diskBus: orderedText('Bus of the disk.'),
      tablet: z.boolean().optional().describe('Whether with a tablet.'),
    })
    .optional()
    .describe('Rare fields.'),
  storedUserData: orderedText('Number or name of stored user data.'),
  userDataFrom: z
    .object({
      secretKeyRef: keyOf('Secret').optional(),
      configMapKeyRef: keyOf('ConfigMap').optional(),
    })
    .optional()
    .describe('Secret or ConfigMap with the user data.'),
} satisfies Record<Exclude<OrderedField, 'userData' | 'identifier'>, z.ZodType>;
const orderedSchema = z.object(orderedFields);

export const setStatusSchema = z
  .object({
    replicas: count.optional().describe('Members that are not being deleted.'),
    terminatingReplicas: count.optional().describe('Members that are being deleted; their servers may still exist.'),
    readyReplicas: count.optional().describe('Members that are Ready.'),
    updatedReplicas: count.optional().describe('Members with the current template.'),
    availableReplicas: count.optional().describe('Members that have been Ready for minReadySeconds.'),
    unavailableReplicas: count.optional().describe('How many available members are missing.'),
    unresolvedReplicas: count
      .optional()
      .describe('Members for which it is unknown which servers they hold; all but those in CreateInFlight need you.'),
    currentRevision: revision.optional().describe('Short name of the revision before the rollout.'),
    updateRevision: revision.optional().describe('Short name of the revision of the template.'),
    revisions: z
      .array(
        z.object({
          revision: revision.describe('Short name.'),
          spec: orderedSchema.describe('The fields that an order sends.'),
        }),
      )
      .max(MAX_REVISIONS)
      .optional()
      .describe('The last revisions of the template, newest first.'),
    lastProgressTime: z.iso.datetime().max(64).optional().describe('When the set last got closer to its spec.'),
    selector: z.string().max(512).optional().describe('Label selector of the members, for autoscalers.'),
    price: z
      .number()
      .optional()
      .describe("Sum of the prices of the members that run or are off on purpose, in the provider's unit."),
    observedGeneration: z.int().min(-1).optional().describe('The generation of the spec that this status is about.'),
    conditions: conditionsSchema,
  })
  .describe('What the operator knows about the set.');

export type VirtualServerSetSpec = z.infer<typeof setSpecSchema>;
export type VirtualServerSetStatus = z.infer<typeof setStatusSchema>;
/** A set refuses user data, which no status may show; a single server may have some. */
export type Ordered = z.infer<typeof orderedSchema> & Pick<VirtualServerSpec, 'identifier' | 'userData'>;

/** An object as the API server returns it, with defaults filled in and the schema enforced. */
export interface VirtualServerSet {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: VirtualServerSetSpec;
  status?: VirtualServerSetStatus;
}
