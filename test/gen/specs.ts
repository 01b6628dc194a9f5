/**
 * Spec values generated from the schema of the CustomResourceDefinition (after Acto): for each field, the values at its
 * bounds, and values that break exactly one of its rules.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { CRD_FILE } from '../../tools/crds.ts';
import { DEFAULT_API_KEY_SECRET } from '../../src/api/names.ts';
import type { StructuralSchema } from '../../src/api/crd.ts';
import { SSH_KEY, virtualServer } from './virtual-server.ts';

export type Spec = Record<string, unknown>;

interface Node extends Omit<StructuralSchema, 'items' | 'properties'> {
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  enum?: string[];
  items?: Node;
  properties?: Record<string, Node>;
}

/** A spec with one field changed. */
interface Variant {
  /** Path of the field, as the API server writes it, such as `spec.sshKeysFrom[0].name`. */
  path: string;
  what: string;
  spec: Spec;
}

/** Texts of a given length that match a field's pattern or rule; a field with a new pattern must be added here. */
const SHAPES: Record<string, (length: number) => string> = {
  'spec.image': (length) => `f/${'v'.repeat(length - 2)}`,
  'spec.sshKeys[0]': (length) => (length < 6 ? SSH_KEY : `ssh-a ${'A'.repeat(length - 6)}`),
  'spec.sshKeysFrom[0].name': (length) => 'n'.repeat(length),
  'spec.sshKeysFrom[0].key': (length) => 'k'.repeat(length),
  'spec.apiKeySecretRef.name': (length) => 's'.repeat(length),
  'spec.connectionSecretName': (length) => 'c'.repeat(length),
  'spec.expiresAt': (length) => `2999-01-01T00:00:00${length < 22 ? '' : `.${'0'.repeat(length - 21)}`}Z`,
  'spec.ttl': (length) => (length < 2 ? '72h' : `${length % 2 === 0 ? '1h' : '10h'}${'1h'.repeat(length / 2 - 1)}`),
};

/** Texts that break the pattern or rule but no bound. */
const MISSHAPEN: Record<string, string[]> = {
  'spec.image': ['debian', 'debian/', '/minimal', 'a b/c'],
  'spec.sshKeys[0]': ['ssh-rsa', 'AAAA', 'ssh-rsa A\nssh-rsa B', '-----BEGIN OPENSSH PRIVATE KEY-----'],
  'spec.sshKeysFrom[0].name': ['Keys', 'a_b', '-a', 'a-', 'a/b', '../a', 'ä'],
  'spec.sshKeysFrom[0].key': ['a b', 'a/b', 'ä'],
  'spec.expiresAt': ['tomorrow', '2999-01-01', '2999-13-01T00:00:00Z'],
  'spec.ttl': ['soon', '72', '0h', '-1h', '3d', '1h 30m'],
  'spec.apiKeySecretRef.name': ['Key', 'a_b', '-a', 'a.', '../a', 'ä'],
  'spec.connectionSecretName': ['Connection', 'a_b', '-a', 'a.', 'a..b', 'a.-b', '../a', 'ä'],
};

const WRONG_TYPES: Record<string, unknown> = { text: 'x', number: 7, fraction: 1.5, truth: true, list: [], map: {} };
/** The entries of WRONG_TYPES that are valid for a type. */
const RIGHT_TYPES: Record<string, string[]> = {
  string: ['text'],
  integer: ['number'],
  boolean: ['truth'],
  array: ['list'],
  object: ['map'],
};

function specSchemaOfCrd(): Node {
  const crd = parse(readFileSync(CRD_FILE, 'utf8')) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: Node } } } }[] };
  };
  const [version] = crd.spec.versions;
  if (version === undefined) throw new Error('the CustomResourceDefinition has no version');
  return version.schema.openAPIV3Schema.properties.spec;
}

/** A spec that the simulator can fulfill. */
export const goodSpec = (): Spec => virtualServer('good').spec;

interface Leaf {
  path: string;
  node: Node;
  required: boolean;
  /** The spec with the field set to this value; `undefined` omits the field. */
  put: (value: unknown) => Spec;
}

/** Every field of the schema, in a spec that is valid both with and without it. */
function fields(node: Node, path: string, put: Leaf['put']): Leaf[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const inner = `${path}.${name}`;
    const base = example(node, path) as Spec;
    const leaf: Leaf = {
      path: inner,
      node: child,
      required: node.required?.includes(name) === true,
      put: (value) => put({ ...base, [name]: value }),
    };
    return [leaf, ...children(leaf)];
  });
}

function children({ path, node, put }: Leaf): Leaf[] {
  if (node.type === 'object') return fields(node, path, put);
  if (node.type !== 'array' || node.items === undefined) return [];
  const item: Leaf = { path: `${path}[0]`, node: node.items, required: true, put: (value) => put([value]) };
  return [item, ...children(item)];
}

/** A valid value of a field. */
function example(node: Node, path: string): unknown {
  const good = goodSpec()[path.replace('spec.', '')];
  if (good !== undefined) return good;
  switch (node.type) {
    case 'object': {
      const names = Object.entries(node.properties ?? {}).filter(([name]) => node.required?.includes(name));
      return Object.fromEntries(names.map(([name, child]) => [name, example(child, `${path}.${name}`)]));
    }
    case 'array':
      return node.items === undefined ? [] : [example(node.items, `${path}[0]`)];
    case 'string':
      return node.enum?.[0] ?? textOf(node, path, Math.max(node.minLength ?? 0, 8));
    case 'integer':
      return node.minimum ?? 0;
    default:
      return false;
  }
}

function textOf(node: Node, path: string, length: number): string {
  const shape = SHAPES[path];
  const free = node.pattern === undefined && node['x-kubernetes-validations'] === undefined;
  if (shape === undefined && !free) throw new Error(`${path} has a pattern: add a matching text to SHAPES`);
  return shape?.(length) ?? 'x'.repeat(length);
}

function leaves(): Leaf[] {
  return fields(specSchemaOfCrd(), 'spec', (value) => ({ ...goodSpec(), ...(value as Spec) }));
}

/** Every spec that the API server must accept: each field at each of its bounds, and optional fields omitted. */
export function validSpecs(): Variant[] {
  return leaves().flatMap(({ path, node, required, put }) => {
    const values = atBounds(node, path);
    // The API server treats a null like an omitted field.
    if (!required) values.push(['left out', undefined], ['null', null]);
    return values.map(([what, value]) => ({ path, what, spec: put(value) })).filter(({ spec }) => hasSshKey(spec));
  });
}

const entries = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/** A rule across two fields rejects a spec without any SSH key. */
function hasSshKey(spec: Spec): boolean {
  return entries(spec.sshKeys) + entries(spec.sshKeysFrom) > 0;
}

function atBounds(node: Node, path: string): [string, unknown][] {
  switch (node.type) {
    case 'string': {
      if (node.enum !== undefined) return node.enum.map((value) => [value, value]);
      const { minLength = 0, maxLength = 0 } = node;
      return [minLength, maxLength].map((length) => [`of ${length} characters`, textOf(node, path, length)]);
    }
    case 'integer':
      return [node.minimum, node.maximum].map((value) => [String(value), value]);
    case 'boolean':
      return [false, true].map((value) => [String(value), value]);
    case 'array': {
      const one = node.items === undefined ? undefined : example(node.items, `${path}[0]`);
      const many = [0, 1, node.maxItems ?? 0];
      return many.map((count) => [`${count} entries`, Array.from({ length: count }, () => one)]);
    }
    default:
      return [['the least', example(node, path)]];
  }
}

/** Every spec that the API server must reject: each breaks one rule of one field. */
export function invalidSpecs(): Variant[] {
  const broken = leaves().flatMap(({ path, node, required, put }) => {
    const wrong = [...beyondBounds(node, path), ...wrongTypes(node)];
    if (required && !path.endsWith(']')) wrong.push(['missing', undefined]);
    if (required) wrong.push(['null', null]);
    return wrong.map(([what, value]) => ({ path, what, spec: put(value) }));
  });
  const keyless = [[], undefined].flatMap((sshKeys) =>
    [[], undefined].map((sshKeysFrom) => ({ sshKeys, sshKeysFrom })),
  );
  const ruled = keyless.map((keys) => ({ path: 'spec', what: 'no SSH key', spec: { ...goodSpec(), ...keys } }));
  return [...broken, ...ruled];
}

/** Whether the simulator offers what the spec asks for and all its Secrets exist. */
export function isOffered({ product, image, diskSize, sshKeysFrom, apiKeySecretRef, sshCheck }: Spec): boolean {
  const good = goodSpec();
  const { name } = (apiKeySecretRef ?? {}) as { name?: string | null };
  const wanted = [product, image, diskSize, name ?? DEFAULT_API_KEY_SECRET, entries(sshKeysFrom), sshCheck ?? 'None'];
  // No SSH server answers at the simulator's addresses.
  const offered = [good.product, good.image, good.diskSize, DEFAULT_API_KEY_SECRET, 0, 'None'];
  return wanted.every((value, index) => value === offered[index]);
}

/** The JSON merge patch that turns one value into another; null removes a field. */
export function mergePatch(from: unknown, to: unknown): unknown {
  if (!isMap(from) || !isMap(to)) return to;
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return Object.fromEntries(
    names.map((name) => [name, to[name] === undefined ? null : mergePatch(from[name], to[name])]),
  );
}

function isMap(value: unknown): value is Spec {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function beyondBounds(node: Node, path: string): [string, unknown][] {
  const found: [string, unknown][] = (MISSHAPEN[path] ?? []).map((text) => [`text ${JSON.stringify(text)}`, text]);
  if (node.enum !== undefined) found.push(['a word that is not listed', `${node.enum[0] ?? ''}x`]);
  const { minLength = 0, maxLength, minimum, maximum, maxItems } = node;
  if (minLength > 0) found.push(['an empty text', '']);
  if (maxLength !== undefined) found.push([`of ${maxLength + 1} characters`, textOf(node, path, maxLength + 1)]);
  if (minimum !== undefined) found.push([String(minimum - 1), minimum - 1]);
  if (maximum !== undefined) found.push([String(maximum + 1), maximum + 1]);
  if (maxItems !== undefined && node.items !== undefined) {
    const one = example(node.items, `${path}[0]`);
    found.push([`${maxItems + 1} entries`, Array.from({ length: maxItems + 1 }, () => one)]);
  }
  return found;
}

function wrongTypes({ type = '' }: Node): [string, unknown][] {
  const right = RIGHT_TYPES[type] ?? [];
  return Object.entries(WRONG_TYPES)
    .filter(([what]) => !right.includes(what))
    .map(([what, value]) => [`a ${what}`, value]);
}
