/** Converts a zod schema to a structural schema, the OpenAPI 3.0 dialect of CustomResourceDefinitions. */
import * as z from 'zod';

/** The parts of a structural schema node that this project reads or changes. */
export interface StructuralSchema {
  type?: string;
  description?: string;
  format?: string;
  pattern?: string;
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
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: ValidationRule[];
}

/** A CEL rule; `fieldPath` names the field that the message is about. The API server prefers `messageExpression`. */
export interface ValidationRule {
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
