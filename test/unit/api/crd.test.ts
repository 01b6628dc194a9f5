import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  serverCatalogCrd,
  virtualServerCrd,
  virtualServerSetCrd,
  type StructuralSchema,
} from '../../../src/api/crd.ts';
import { orderedFieldsPolicy } from '../../../src/api/ordered-fields-policy.ts';
import { CATALOG_CRD_FILE, CRD_FILE, ORDERED_FIELDS_FILE, SET_CRD_FILE, crdYaml } from '../../../tools/crds.ts';

interface Crd {
  spec: { versions: [{ schema: { openAPIV3Schema: StructuralSchema } }] };
}

/** Every node below `schema`, with its path. */
function* walk(schema: StructuralSchema, path: string): Generator<[string, StructuralSchema]> {
  yield [path, schema];
  for (const [name, child] of Object.entries(schema.properties ?? {})) yield* walk(child, `${path}.${name}`);
  if (schema.items !== undefined) yield* walk(schema.items, `${path}[]`);
}

describe.each([
  ['VirtualServer', CRD_FILE, virtualServerCrd()],
  ['ServerCatalog', CATALOG_CRD_FILE, serverCatalogCrd()],
  ['VirtualServerSet', SET_CRD_FILE, virtualServerSetCrd()],
] as const)('the CustomResourceDefinition of %s', (_kind, file, definition) => {
  const root = (definition as Crd).spec.versions[0].schema.openAPIV3Schema;

  it('matches the schemas in deploy/crds (otherwise run: npm run crds)', () => {
    expect(readFileSync(file, 'utf8')).toBe(crdYaml(definition));
  });

  it('survives a round trip through YAML', () => {
    expect(parse(crdYaml(definition))).toEqual(JSON.parse(JSON.stringify(definition)));
  });

  it('describes every field', () => {
    const silent = [...walk(root, '')].filter(([path, { description }]) => !path.endsWith('[]') && !description);
    // The API server supplies the description of metadata.
    expect(silent.map(([path]) => path)).toEqual(['.metadata']);
  });

  it('bounds every string and list in spec and status', () => {
    const { spec, status } = root.properties ?? {};
    const nodes = [...walk(spec ?? {}, '.spec'), ...walk(status ?? {}, '.status')];
    const unbounded = nodes.filter(([, node]) => {
      const { type, enum: values, maxLength, maxItems } = node as Record<string, unknown>;
      return (type === 'string' && !values && !maxLength) || (type === 'array' && !maxItems);
    });
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });
});

it('the policy for the fields of an order matches deploy/crds (otherwise run: npm run crds)', () => {
  expect(readFileSync(ORDERED_FIELDS_FILE, 'utf8')).toBe(crdYaml(...orderedFieldsPolicy()));
});
