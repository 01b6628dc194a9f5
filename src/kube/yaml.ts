/**
 * Reads YAML and JSON as kubectl does: sigs.k8s.io/yaml reads YAML 1.1 with the choices of go-yaml, so `024` is 20, `on` is
 * true, and the last of repeated keys counts. The package yaml reads the syntax; what a scalar means is decided here. Pure.
 */
import { isAlias, isMap, isScalar, isSeq, parseAllDocuments, Scalar, type Document, type YAMLMap } from 'yaml';

/** A text that is not valid. `message` quotes none of it, because a kubeconfig contains tokens and keys. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
}

/** All documents that are not empty, as JSON values. Throws YamlError. */
export function readDocuments(text: string): unknown[] {
  return [...documents(text)].filter((value) => value !== null);
}

/** The first document, as for a kubeconfig; null if it is empty. Throws YamlError. */
export function readDocument(text: string): unknown {
  return (text.trimStart().startsWith('{') ? jsonObjects(text)?.[0] : undefined) ?? valueOf(text, 1);
}

function* documents(text: string): Generator {
  if (text.trimStart().startsWith('{')) {
    const objects = jsonObjects(text);
    if (objects !== undefined) return yield* objects;
  }
  let line = 1;
  for (const part of parts(text)) {
    // Such a line ends at the next ---, so kubectl reads it alone and refuses it.
    if (part.startsWith('%')) throw new YamlError(`at line ${line}, a directive is not allowed`);
    yield valueOf(part, line);
    line += part.split('\n').length - 1;
  }
}

/** One JSON object, or several in a row; undefined if the text is something else. */
function jsonObjects(text: string): unknown[] | undefined {
  const objects: unknown[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') depth += 1;
    if (token !== '}' || --depth > 0) continue;
    try {
      objects.push(JSON.parse(text.slice(start, index + 1)));
    } catch {
      return undefined;
    }
    start = index + 1;
  }
  return text.slice(start).trim() === '' ? objects : undefined;
}

/** The parts between lines that begin with ---, each with the line above it. */
function parts(text: string): string[] {
  const found: string[] = [];
  let lines: string[] = [];
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    if (line.startsWith('---')) {
      const rest = line.slice(3).trim();
      if (rest !== '' && !rest.startsWith('#'))
        throw new YamlError(`at line ${index + 1}, only a comment may follow --- on its line`);
      if (lines.length > 0) found.push(`${lines.join('\n')}\n`);
      lines = lines.length > 0 ? [''] : [line];
      continue;
    }
    lines.push(line);
  }
  return [...found, lines.join('\n')];
}

/** Go refuses control characters, and ends a line at U+0085, U+2028 and U+2029, which YAML 1.2 does not. */
// eslint-disable-next-line no-control-regex
const REFUSED = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]/;

/** `firstLine`: the number of the first line of the text, for errors. */
function valueOf(text: string, firstLine: number): unknown {
  const refused = REFUSED.exec(text);
  if (refused !== null) {
    const line = firstLine + text.slice(0, refused.index).split('\n').length - 1;
    throw new YamlError(`invalid YAML at line ${line}: a control character or a line separator other than a line feed`);
  }
  const [document] = parseAllDocuments(text, {
    version: '1.1',
    schema: 'failsafe',
    uniqueKeys: false,
    keepSourceTokens: true,
    logLevel: 'error',
  });
  if (document === undefined || !('errors' in document)) return null;
  const [error] = document.errors;
  if (error !== undefined) {
    const [{ line, col } = { line: 1, col: 1 }] = error.linePos ?? [];
    throw new YamlError(`invalid YAML at line ${firstLine + line - 1}, column ${col}`);
  }
  return new Reader(document).value(document.contents);
}

/** As in go-yaml: how much of what is read may come from aliases. */
const FREE_ALIASES = 100;
const FREE_NODES = 1_000;
const LARGEST_SHARE = 0.99;
const SMALLEST_SHARE = 0.1;
const [FEW_NODES, MANY_NODES] = [400_000, 4_000_000];

class Reader {
  readonly #document: Document.Parsed;
  /** The nodes around the current one that an alias has named. */
  readonly #open = new Set<unknown>();
  #nodes = 0;
  #ofAliases = 0;

  constructor(document: Document.Parsed) {
    this.#document = document;
  }

  value(node: unknown): unknown {
    this.#count();
    if (isAlias(node)) return this.#named(node.resolve(this.#document));
    if (isScalar(node)) return scalarValue(node);
    if (isSeq(node)) return node.items.map((item) => this.value(item));
    if (!isMap(node)) return null;
    const object: Record<string, unknown> = {};
    this.#fill(object, node);
    return object;
  }

  /** A later key wins, also over an earlier merge, and a later merge over earlier keys. */
  #fill(object: Record<string, unknown>, { items }: YAMLMap): void {
    for (const { key, value } of items) {
      if (isScalar(key) && key.type === Scalar.PLAIN && key.source === '<<' && key.tag === undefined)
        this.#merge(object, value);
      else {
        const name = keyOf(this.value(key));
        const content = this.value(value);
        Object.defineProperty(object, name, { value: content, enumerable: true, configurable: true, writable: true });
      }
    }
  }

  #merge(object: Record<string, unknown>, value: unknown): void {
    const node = isAlias(value) ? value.resolve(this.#document) : value;
    if (isMap(node)) {
      this.#within(node, () => this.#fill(object, node));
      return;
    }
    if (isSeq(node) && !isAlias(value)) {
      // The first one wins.
      for (const item of node.items.toReversed()) {
        const map = isAlias(item) ? item.resolve(this.#document) : item;
        if (!isMap(map)) throw new YamlError('<< needs a map, or a list of maps');
        this.#within(map, () => this.#fill(object, map));
      }
      return;
    }
    throw new YamlError('<< needs a map, or a list of maps');
  }

  #named(node: unknown): unknown {
    if (node === undefined) throw new YamlError('an alias names no anchor');
    return this.#within(node, () => this.value(node));
  }

  #within<T>(node: unknown, read: () => T): T {
    if (this.#open.has(node)) throw new YamlError('an anchor contains itself');
    this.#open.add(node);
    const result = read();
    this.#open.delete(node);
    return result;
  }

  #count(): void {
    this.#nodes += 1;
    if (this.#open.size > 0) this.#ofAliases += 1;
    const [nodes, share] = [this.#nodes, this.#ofAliases / this.#nodes];
    const part = Math.min(1, Math.max(0, (nodes - FEW_NODES) / (MANY_NODES - FEW_NODES)));
    const allowed = LARGEST_SHARE - (LARGEST_SHARE - SMALLEST_SHARE) * part;
    if (this.#ofAliases > FREE_ALIASES && nodes > FREE_NODES && share > allowed)
      throw new YamlError('too many aliases');
  }
}

/** JSON has only texts as keys. */
function keyOf(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new YamlError('a key must be a text, a number, true or false');
}

const TAG = 'tag:yaml.org,2002:';
/** The tags whose scalars are read by the rules below. */
const RESOLVED: readonly (string | undefined)[] = ['str', 'bool', 'int', 'float', 'null', 'timestamp'];

/** YAML 1.1 has no slash among the escapes, and no halves of a character. */
const ESCAPE = /\\(?:\\|\/|u[dD][89a-fA-F])/g;

function scalarValue(node: Scalar): unknown {
  const { srcToken } = node;
  if (
    srcToken?.type === 'double-quoted-scalar' &&
    (srcToken.source.match(ESCAPE) ?? []).some((found) => found !== '\\\\')
  )
    throw new YamlError('a text in double quotes has an unknown escape');
  const text = typeof node.value === 'string' ? node.value : '';
  const { tag } = node;
  if (tag === undefined || tag === '!')
    return node.type === Scalar.PLAIN || node.type === undefined ? plain(text) : text;
  const name = tag.startsWith(TAG) ? tag.slice(TAG.length) : undefined;
  if (name === 'binary') {
    if (BASE64.test(text.replaceAll(/[\r\n]/g, ''))) return Buffer.from(text, 'base64').toString();
    throw new YamlError('a !!binary value is not valid base64');
  }
  if (name === 'str' || !RESOLVED.includes(name)) return text;
  const value = plain(text);
  const isRight =
    value === null
      ? name === 'null'
      : typeof value === 'boolean'
        ? name === 'bool'
        : typeof value === 'number' && (name === 'float' || (name === 'int' && !isFloat(text)));
  if (isRight || (name === 'timestamp' && isTimestamp(text))) return value;
  throw new YamlError(`a value is no !!${name}`);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const WORDS = new Map<string, boolean | null>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
]);

const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

/** What a scalar without quotes and tag means. */
function plain(text: string): string | number | boolean | null {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  // JSON has no such number.
  if (NOT_FINITE.test(text)) throw new YamlError('a number must be finite');
  if (!/^[-+.\d]/.test(text) || isTimestamp(text)) return text;
  const digits = text.startsWith('.') ? text.replaceAll(/(?<=\d)_(?=\d)/g, '') : text.replaceAll('_', '');
  const number = integer(digits) ?? (FLOAT.test(digits) ? Number(digits) : NaN);
  return Number.isFinite(number) ? number : text;
}

/** Whether kubectl reads a text without quotes as this text, not as a number or another value. */
export function isPlainText(text: string): boolean {
  try {
    return plain(text) === text;
  } catch (error) {
    if (error instanceof YamlError) return false;
    throw error;
  }
}

const isFloat = (text: string): boolean => integer(text.replaceAll('_', '')) === undefined;

/** As strconv.ParseInt with base 0; undefined for other texts, and for numbers beyond 64 bits. */
function integer(digits: string): number | undefined {
  const [, sign = '', number = ''] = /^([-+]?)(\d.*)$/.exec(digits) ?? [];
  const [, octal] = /^0[oO]?([0-7]+)$/.exec(number) ?? [];
  const isInteger = octal !== undefined || /^(?:0|[1-9]\d*|0[xX][\da-fA-F]+|0[bB][01]+)$/.test(number);
  if (!isInteger) return undefined;
  const value = BigInt(octal === undefined ? number : `0o${octal}`);
  if (value >= 2n ** (sign === '' ? 64n : 63n) + (sign === '-' ? 1n : 0n)) return undefined;
  return Number(sign === '-' ? -value : value);
}

const DATE =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?)?$/;

/** go-yaml leaves a time as the text that it is. */
const isTimestamp = (text: string): boolean => DATE.test(text);
