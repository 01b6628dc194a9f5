import { describe, expect, it } from 'vitest';
import { isPlainText, readDocument, readDocuments } from '../../../src/kube/yaml.ts';

// Every row is the answer of NewYAMLOrJSONDecoder in k8s.io/apimachinery 0.36, which kubectl uses, with sigs.k8s.io/yaml 1.6.
const VALUES: [text: string, value: unknown][] = [
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE'].map((word): [string, unknown] => [
    word,
    true,
  ]),
  ...['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False'].map((word): [string, unknown] => [
    word,
    false,
  ]),
  ...['', '~', 'null', 'Null', 'NULL', '# c'].map((word): [string, unknown] => [word, null]),
  ...[
    'yEs',
    'oN',
    'tRUE',
    'nULL',
    'inf',
    '+inf',
    'NaN',
    '1:30',
    '190:20:30',
    '_1',
    '0x',
    '0xg',
    '0b2',
    '1e',
    '.',
    '..',
    '.e1',
    '1e400',
    '0x1p-2',
    '1 2',
    '1,2',
    '+',
    '-a',
    '=',
  ].map((word): [string, unknown] => [word, word]),
  ...['2001-12-14', '2001-1-4', '2026-11-27T03:00:00Z', '2001-12-14t21:59:43.10-05:00', '2001-12-14 21:59:43'].map(
    (word): [string, unknown] => [word, word],
  ),
  ['024', 20],
  ['-024', -20],
  ['0o24', 20],
  ['0O24', 20],
  ['08', 8],
  ['0789', 789],
  ['2_0', 20],
  ['0_24', 20],
  ['1__0', 10],
  ['0x1F', 31],
  ['0x_1F', 31],
  ['-0x1F', -31],
  ['0b101', 5],
  ['+0b101', 5],
  ['1e3', 1000],
  ['1.5e-3', 0.0015],
  ['.5', 0.5],
  ['.5_0', 0.5],
  ['5.', 5],
  ['10240.0', 10240],
  ['1_000.5', 1000.5],
  ['18446744073709551616', 18446744073709552000],
  ['"024"', '024'],
  ["'on'", 'on'],
  ['!!str 024', '024'],
  ['!!int "024"', 20],
  ['!!float 5', 5],
  ['!!bool "yes"', true],
  ['!!null ""', null],
  ['!!timestamp 2001-12-14', '2001-12-14'],
  ['!!binary aGVsbG8=', 'hello'],
  ['!foo 5', '5'],
  ['[1, 024, on]', [1, 20, true]],
  ['{a: 024, b: on}', { a: 20, b: true }],
  ['{a:1}', { 'a:1': null }],
  ['|\n    024', '024\n'],
  ['>\n    on\n    off', 'on off\n'],
];

describe('a value without quotes and tag, or with them', () => {
  it.each(VALUES)('%s is %j', (text, value) => {
    expect(readDocuments(`k: ${text}\n`)).toEqual([{ k: value }]);
  });
});

describe('a text', () => {
  it.each<[text: string, documents: unknown[]]>([
    ['on: 1\n024: 2\n1.5: 3\n"off": 4\n', [{ true: 1, 20: 2, '1.5': 3, off: 4 }]],
    ['a: 1\na: 2\n', [{ a: 2 }]],
    ['m:\n  a: 1\n  a: {b: 1}\n', [{ m: { a: { b: 1 } } }]],
    ['x: &a {p: 1, q: 2}\nz:\n  <<: *a\n  p: 9\n', [{ x: { p: 1, q: 2 }, z: { p: 9, q: 2 } }]],
    ['x: &a {p: 1, q: 2}\nz:\n  p: 9\n  <<: *a\n', [{ x: { p: 1, q: 2 }, z: { p: 1, q: 2 } }]],
    ['x: &a {p: 1}\nw: &b {p: 2}\nz:\n  <<: [*a, *b]\n', [{ x: { p: 1 }, w: { p: 2 }, z: { p: 1 } }]],
    ['z:\n  "<<": {p: 1}\n', [{ z: { '<<': { p: 1 } } }]],
    ['a: &x on\nb: *x\n', [{ a: true, b: true }]],
    ['a: &x 1\nb: &x 2\nc: *x\n', [{ a: 1, b: 2, c: 2 }]],
    ['a: 1\n---\n# c\n---\nb: 2\n', [{ a: 1 }, { b: 2 }]],
    ['--- # c\na: 1\n...\nb: 2\n', [{ a: 1 }]],
    ['\ufeffa: 1\r\nb: on\r\n---\r\nc: 2\r\n', [{ a: 1, b: true }, { c: 2 }]],
    ['a: |\n  x\n  ---\n  y\n', [{ a: 'x\n---\ny\n' }]],
    ['', []],
    ['# only\n---\n', []],
    ['{"a": 1}{"a": 2, "a": 3}', [{ a: 1 }, { a: 3 }]],
    ['{"a": "\\ud83d\\ude00\\/"}', [{ a: '😀/' }]],
    ['{"a": 024}', [{ a: 20 }]],
    ['{"a": 1}\n---\nb: 024\n', [{ a: 1 }, { b: 20 }]],
    ['{"a": {"b": [1, 2.0, 1e3, null, true]}}', [{ a: { b: [1, 2, 1000, null, true] } }]],
    ['constructor: 1\n', [{ constructor: 1 }]],
  ])('%j has the documents %j', (text, documents) => {
    expect(readDocuments(text)).toEqual(documents);
  });

  it('keeps a key that JavaScript knows', () => {
    expect(JSON.stringify(readDocuments('a: {__proto__: {b: 1}}\n'))).toBe('[{"a":{"__proto__":{"b":1}}}]');
  });

  it.each<[text: string, problem: string | RegExp]>([
    ['k: .inf\n', 'a number must be finite'],
    ['k: .nan\n', 'a number must be finite'],
    ['k: !!int abc\n', 'a value is no !!int'],
    ['k: !!int 1.5\n', 'a value is no !!int'],
    ['k: !!bool 1\n', 'a value is no !!bool'],
    ['k: !!binary "%%"\n', 'not valid base64'],
    ['k: "\\ud83d\\ude00"\n', 'unknown escape'],
    ['~: v\n', 'a key must be'],
    ['[a]: v\n', 'a key must be'],
    ['b: *x\n', /invalid YAML at line 1|names no anchor/],
    ['a: &x {b: *x}\n', 'an anchor contains itself'],
    ['z:\n  <<: 5\n', '<< needs a map'],
    ['a: 1\n--- {b: 1}\n', 'at line 2, only a comment may follow ---'],
    ['%YAML 1.2\n---\na: 1\n', 'at line 1, a directive'],
    ['a: 1\n---\nb: [1\nc: 2\n', 'invalid YAML at line 4'],
    ['a: b\n\tc: d: e\n', 'invalid YAML at line 2'],
    ['a: \u0007\n', 'invalid YAML at line 1'],
    [
      `a: &a [${'x,'.repeat(100)}]\nb: &b [${'*a,'.repeat(100)}]\nc: &c [${'*b,'.repeat(100)}]\nd: [${'*c,'.repeat(100)}]\n`,
      'too many aliases',
    ],
  ])('%j is refused', (text, problem) => {
    expect(() => readDocuments(text)).toThrow(problem);
  });

  it('has one document for a kubeconfig', () => {
    expect(readDocument('a: 1\n---\nb: 2\n')).toEqual({ a: 1 });
    expect(readDocument('{"a": 1}')).toEqual({ a: 1 });
    expect(readDocument('# only\n')).toBeNull();
  });
});

it.each(['0X1f', '1e5_0', '-_1', '024', 'on', '2_0', '.inf', '', '08'])('%j is no text without quotes', (text) => {
  expect(isPlainText(text)).toBe(false);
});
