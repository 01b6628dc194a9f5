/** The CustomResourceDefinitions, built from the zod schemas. */
import {
  CATALOG_KIND,
  CATALOG_PLURAL,
  CATALOG_SHORT_NAME,
  CATALOG_SINGULAR,
  GROUP,
  SERVER_KIND,
  SERVER_PLURAL,
  SERVER_SHORT_NAME,
  SERVER_SINGULAR,
  SET_KIND,
  SET_PLURAL,
  SET_SHORT_NAME,
  SET_SINGULAR,
  VERSION,
} from './names.ts';
import { catalogSpecSchema, catalogStatusSchema } from './server-catalog.ts';
import { specSchema, statusSchema } from './virtual-server.ts';
import { SET_NAME, setSpecSchema, setStatusSchema } from './virtual-server-set.ts';
import * as z from 'zod';

function rootSchema(
  kind: string,
  description: string,
  spec: StructuralSchema,
  status: StructuralSchema,
): StructuralSchema {
  return {
    type: 'object',
    description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
      kind: { type: 'string', description: `Always ${kind}.` },
      metadata: { type: 'object' },
      spec,
      status: {
        ...status,
        // Only the operator writes it. managedFields do not list its fields then, and writes allocate a tenth less.
        'x-kubernetes-map-type': 'atomic',
        // kstatus treats an object without a status as current; -1 means that the operator has not seen it yet.
        default: { observedGeneration: -1 },
      },
    },
  };
}

const ready = (field: string) => `.status.conditions[?(@.type=="Ready")].${field}`;

/** Paused if the object is paused, else the reason of Ready: the first match, because JSONPath has no "or". */
const REASON = '.status.conditions[?(@.type>="Paused")].reason';

// The columns without a priority fit into 80 characters, whatever the reason, or with an end; `kubectl get -o wide` shows all.
const COLUMNS = [
  { name: 'Ready', type: 'string', jsonPath: ready('status') },
  { name: 'Reason', type: 'string', jsonPath: REASON },
  { name: 'Ends', type: 'string', jsonPath: '.status.cancelsAt' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Product', type: 'string', jsonPath: '.spec.product', priority: 1 },
  { name: 'Identifier', type: 'string', jsonPath: '.status.identifier', priority: 1 },
  { name: 'IPv6', type: 'string', jsonPath: '.status.ipv6[0]', priority: 1 },
  { name: 'SSH', type: 'string', jsonPath: '.status.ssh', priority: 1 },
  { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
  { name: 'Zone', type: 'string', jsonPath: '.status.zone.code', priority: 1 },
  { name: 'Price', type: 'number', jsonPath: '.status.price', priority: 1 },
  { name: 'Progress', type: 'integer', jsonPath: '.status.task.percent', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: ready('message'), priority: 1 },
];

const CATALOG_COLUMNS = [
  { name: 'Ready', type: 'string', jsonPath: ready('status') },
  { name: 'Products', type: 'integer', jsonPath: '.status.counts.products' },
  { name: 'Images', type: 'integer', jsonPath: '.status.counts.images' },
  { name: 'Disks', type: 'integer', jsonPath: '.status.counts.diskSizes' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Server-List', type: 'string', jsonPath: '.status.provider.serverList', priority: 1 },
  { name: 'Orders', type: 'string', jsonPath: '.status.provider.orders', priority: 1 },
  { name: 'Reason', type: 'string', jsonPath: ready('reason'), priority: 1 },
  { name: 'Message', type: 'string', jsonPath: ready('message'), priority: 1 },
];

const SET_COLUMNS = [
  { name: 'Desired', type: 'integer', jsonPath: '.spec.replicas' },
  { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
  { name: 'Updated', type: 'integer', jsonPath: '.status.updatedReplicas' },
  { name: 'Available', type: 'integer', jsonPath: '.status.availableReplicas' },
  { name: 'Price', type: 'number', jsonPath: '.status.price' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Reason', type: 'string', jsonPath: REASON, priority: 1 },
  { name: 'Unresolved', type: 'integer', jsonPath: '.status.unresolvedReplicas', priority: 1 },
  { name: 'Terminating', type: 'integer', jsonPath: '.status.terminatingReplicas', priority: 1 },
  { name: 'Image', type: 'string', jsonPath: '.spec.template.spec.image', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: ready('message'), priority: 1 },
];

/** For `kubectl scale` and autoscalers. */
const SCALE = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

export function virtualServerCrd(): object {
  const description =
    'A VirtualServer is a paid virtual server: applying it orders one, deleting it cancels the server.';
  const root = rootSchema(SERVER_KIND, description, inputSchema(specSchema), structuralSchema(statusSchema));
  const names = {
    kind: SERVER_KIND,
    plural: SERVER_PLURAL,
    singular: SERVER_SINGULAR,
    shortNames: [SERVER_SHORT_NAME],
  };
  return definition(names, root, COLUMNS);
}

export function serverCatalogCrd(): object {
  const [spec, status] = [inputSchema(catalogSpecSchema), structuralSchema(catalogStatusSchema)];
  const description =
    'A ServerCatalog shows what the provider offers to an API key: it orders nothing and costs nothing.';
  const root = rootSchema(CATALOG_KIND, description, spec, status);
  const names = {
    kind: CATALOG_KIND,
    plural: CATALOG_PLURAL,
    singular: CATALOG_SINGULAR,
    shortNames: [CATALOG_SHORT_NAME],
  };
  return definition(names, root, CATALOG_COLUMNS);
}

export function virtualServerSetCrd(): object {
  const description =
    'A VirtualServerSet keeps a number of equal paid virtual servers: it orders and cancels them by its replicas.';
  const root = rootSchema(SET_KIND, description, inputSchema(setSpecSchema), structuralSchema(setStatusSchema));
  const names = { kind: SET_KIND, plural: SET_PLURAL, singular: SET_SINGULAR, shortNames: [SET_SHORT_NAME] };
  const { rule, message } = SET_NAME;
  return definition(names, { ...root, 'x-kubernetes-validations': [{ rule, message }] }, SET_COLUMNS, { scale: SCALE });
}

interface Names {
  kind: string;
  plural: string;
  singular: string;
  shortNames: string[];
}

/** The definition as a plain object, because client-node's typed API would drop the `x-kubernetes-` keys. */
function definition(
  { kind, ...names }: Names,
  openAPIV3Schema: StructuralSchema,
  columns: object[],
  subresources: object = {},
): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: {
        kind,
        listKind: `${kind}List`,
        ...names,
        categories: ['vps-operator'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema },
          subresources: { status: {}, ...subresources },
          additionalPrinterColumns: columns,
        },
      ],
    },
  };
}

/* Converts a zod schema to a structural schema, the OpenAPI 3.0 dialect of CustomResourceDefinitions. */

/** The parts of a structural schema node that this project reads or changes. */
export interface StructuralSchema {
  type?: string;
  description?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  maxLength?: number;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  required?: string[];
  properties?: Record<string, StructuralSchema>;
  items?: StructuralSchema;
  additionalProperties?: boolean | StructuralSchema;
  propertyNames?: unknown;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: ValidationRule[];
}

/** A CEL rule, with the message of a refusal. */
interface ValidationRule {
  rule: string;
  message: string;
  messageExpression?: string;
  fieldPath?: string;
}

const INT32 = 2 ** 31;

/** Does not check for unions, tuples, lookaheads and `.meta({ id })`, which the API server rejects. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  const converted = z.toJSONSchema(schema, {
    io: 'input',
    target: 'openapi-3.0',
    override: ({ jsonSchema }) => {
      const node = jsonSchema as StructuralSchema;
      if (node.type === 'integer') adaptInteger(node);
      if (node.format === 'date-time') delete node.pattern;
      // A structural schema cannot restrict the keys of a map; a rule can.
      delete node.propertyNames;
      adaptAdditionalProperties(node);
    },
  }) as StructuralSchema & { $schema?: string };
  delete converted.$schema;
  return converted;
}

/** Replaces zod's bounds for integers (the range of a double) with the width that Kubernetes expects. */
function adaptInteger(node: StructuralSchema): void {
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.exclusiveMinimum === true && node.minimum !== undefined) node.minimum += 1;
  if (node.exclusiveMaximum === true && node.maximum !== undefined) node.maximum -= 1;
  delete node.exclusiveMinimum;
  delete node.exclusiveMaximum;
  const narrow = (node.minimum ?? -Infinity) >= -INT32 && (node.maximum ?? Infinity) < INT32;
  node.format = narrow ? 'int32' : 'int64';
}

/** A structural schema may neither forbid other fields (the API server prunes them) nor allow untyped ones. */
function adaptAdditionalProperties(node: StructuralSchema): void {
  const further = node.additionalProperties;
  if (further === undefined) return;
  if (further === false) {
    delete node.additionalProperties;
  } else if (further === true || Object.keys(further).length === 0) {
    delete node.additionalProperties;
    node['x-kubernetes-preserve-unknown-fields'] = true;
  }
}

/* The API server quotes a text that breaks its own pattern, format or rule, and the text may be a pasted private key. */

/** The structural schema of what users write: the rules of each text stand at the object or map around the text. */
export function inputSchema(schema: z.ZodType): StructuralSchema {
  return withRulesAround(structuralSchema(schema));
}

function withRulesAround(node: StructuralSchema): StructuralSchema {
  const { properties, items, additionalProperties, required = [] } = node;
  const rules = [...(node['x-kubernetes-validations'] ?? [])];
  const fields = Object.entries(properties ?? {}).map(([name, field]): [string, StructuralSchema] => {
    const isAlwaysSet = required.includes(name) || field.default !== undefined;
    const taken = withoutRules(field);
    for (const { rule, message } of taken.rules) {
      const ofField = rule.replaceAll(/\bself\b/g, `self.${name}`);
      rules.push({
        rule: isAlwaysSet ? ofField : `!has(self.${name}) || (${ofField})`,
        message,
        fieldPath: `.${name}`,
      });
    }
    return [name, withRulesAround(taken.bare)];
  });
  let values = additionalProperties;
  if (typeof values === 'object') {
    const taken = withoutRules(values);
    for (const { rule, message } of taken.rules) {
      const ofValue = rule.replaceAll(/\bself\b/g, 'self[key]');
      rules.push({ rule: `self.all(key, ${ofValue})`, message: `each value ${message}` });
    }
    values = taken.bare;
  }
  if (items !== undefined && withoutRules(items).rules.length > 0)
    throw new Error('write the rules of a text in a list as rules of the list');
  return {
    ...node,
    ...(properties && { properties: Object.fromEntries(fields) }),
    ...(items && { items: withRulesAround(items) }),
    ...(values !== undefined && { additionalProperties: values }),
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  };
}

/**
 * What the API server would quote of a text, as rules. Other values are no secrets, and neither is one of a few words: editors and
 * offline validators need those in the schema.
 */
function withoutRules(node: StructuralSchema): { bare: StructuralSchema; rules: ValidationRule[] } {
  const isText = node.type === 'string' || node['x-kubernetes-int-or-string'] === true;
  if (!isText || node.enum !== undefined) return { bare: node, rules: [] };
  const { 'x-kubernetes-validations': rules = [], format, pattern, ...bare } = node;
  if (pattern !== undefined) throw new Error(`write the pattern ${pattern} as a rule with a message`);
  if (format === 'date-time' && rules.length === 0) throw new Error('write the form of a time as a rule');
  return { bare, rules };
}
