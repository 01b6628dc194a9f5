/** JSON Schemas of the kinds that a real API server serves, including ours, in the format of kubeconform. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

type Schema = { [keyword: string]: unknown };

interface Definition extends Schema {
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

/** Where kubeconform finds the files that `writeSchemas` has written to `folder`. */
export const schemaLocation = (folder: string): string => join(folder, '{{ .ResourceKind }}{{ .KindSuffix }}.json');

/** `openApi`: the body of /openapi/v2. Writes one self-contained file per kind; unknown fields are rejected. */
export async function writeSchemas(openApi: string, folder: string): Promise<void> {
  const { definitions } = JSON.parse(openApi) as { definitions: Record<string, Definition> };
  const strict = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, strictly(schema)]));
  const kinds = Object.entries(definitions).flatMap(([name, schema]) =>
    (schema['x-kubernetes-group-version-kind'] ?? []).map((kind) => ({ name, ...kind })),
  );
  for (const { name, group, version, kind } of kinds) {
    const schema = { $ref: `#/definitions/${name}`, definitions: reachable(name, strict) };
    // kubeconform's naming: of a group, only the part before the first dot.
    const file = [kind.toLowerCase(), ...(group === '' ? [] : group.split('.', 1)), version].join('-');
    await writeFile(join(folder, `${file}.json`), JSON.stringify(schema));
  }
}

/** Rejects unknown fields of objects, and translates Kubernetes' int-or-string extension to plain JSON Schema. */
function strictly(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(strictly);
  if (typeof node !== 'object' || node === null) return node;
  const schema = node as Schema;
  if (schema.format === 'int-or-string') return { type: ['string', 'integer'] };
  const entries = Object.entries(schema).map(([keyword, value]) => [keyword, strictly(value)] as const);
  const open = 'additionalProperties' in schema || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const isObject = schema.type === 'object' && typeof schema.properties === 'object' && !open;
  return { ...Object.fromEntries(entries), ...(isObject && { additionalProperties: false }) };
}

/** The definitions that this one refers to, directly or indirectly, and itself. */
function reachable(name: string, all: Record<string, unknown>): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const open = [name];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next in found) continue;
    found[next] = all[next];
    const refs = JSON.stringify(all[next]).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g);
    open.push(...[...refs].map(([, target = '']) => target));
  }
  return found;
}
