/** The CustomResourceDefinition of VirtualServer, built from its zod schemas. */
import { GROUP, KIND, PLURAL, SHORT_NAME, SINGULAR, VERSION } from './names.ts';
import { structuralSchema, type StructuralSchema, type ValidationRule } from './structural-schema.ts';
import { specSchema, statusSchema } from './virtual-server.ts';

/** What the create sends. Once it may have been sent, another value would be a lie about the server. */
const LOCKED_FIELDS = ['product', 'image', 'diskSize', 'sshKeys', 'sshKeysFrom'] as const;

/** Rules see no annotations, hence the record's mirror in status. */
const NOT_ATTEMPTED = '!has(oldSelf.status) || !has(oldSelf.status.record) || !has(oldSelf.status.record.attempt)';

function lockRule(field: string, required: boolean): ValidationRule {
  const now = `self.spec.${field}`;
  const before = `oldSelf.spec.${field}`;
  const unchanged = required
    ? `${now} == ${before}`
    : `has(${now}) == has(${before}) && (!has(${now}) || ${now} == ${before})`;
  return {
    rule: `${NOT_ATTEMPTED} || (${unchanged})`,
    message:
      `${field} cannot be changed after the server was ordered: ` +
      'make a new VirtualServer with the new value, then delete this one',
    fieldPath: `.spec.${field}`,
  };
}

function rootSchema(): StructuralSchema {
  const spec = structuralSchema(specSchema);
  const status = structuralSchema(statusSchema);
  // kstatus takes an object without any status for current; -1 says that nobody has looked at it yet.
  status.default = { observedGeneration: -1 };
  return {
    type: 'object',
    description: 'A VirtualServer is a paid virtual server: applying it orders one, deleting it cancels the server.',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
      kind: { type: 'string', description: `Always ${KIND}.` },
      metadata: { type: 'object' },
      spec,
      status,
    },
    'x-kubernetes-validations': LOCKED_FIELDS.map((field) => lockRule(field, spec.required?.includes(field) === true)),
  };
}

const ready = (field: string) => `.status.conditions[?(@.type=="Ready")].${field}`;

const COLUMNS = [
  { name: 'Ready', type: 'string', jsonPath: ready('status') },
  { name: 'Reason', type: 'string', jsonPath: ready('reason') },
  { name: 'Product', type: 'string', jsonPath: '.spec.product' },
  { name: 'IPv6', type: 'string', jsonPath: '.status.ipv6[0]' },
  { name: 'SSH', type: 'string', jsonPath: '.status.ssh' },
  { name: 'Identifier', type: 'string', jsonPath: '.status.identifier' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
  { name: 'Zone', type: 'string', jsonPath: '.status.zone.code', priority: 1 },
  { name: 'Price', type: 'number', jsonPath: '.status.price', priority: 1 },
  { name: 'Progress', type: 'integer', jsonPath: '.status.task.percent', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: ready('message'), priority: 1 },
];

/** The definition as a plain object; client-node's typed API would drop its `x-kubernetes-` keys. */
export function virtualServerCrd(): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${PLURAL}.${GROUP}` },
    spec: {
      group: GROUP,
      names: {
        kind: KIND,
        listKind: `${KIND}List`,
        plural: PLURAL,
        singular: SINGULAR,
        shortNames: [SHORT_NAME],
        categories: ['vps-operator'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema() },
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
        },
      ],
    },
  };
}
