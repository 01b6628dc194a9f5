import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');
const SRC = join(ROOT, 'src');

/** Files besides the mains that read the environment or the arguments; $KUBECONFIG is handled separately. */
const READERS: string[] = ['base/version.ts', 'kube/config.ts', 'kube/exec-credential.ts'];

/** Files that read messages, and whose. A condition has its facts apart: the reason, the summary and the subject. */
const MESSAGES_OF_OTHERS: Record<string, string> = {
  'controller/conditions.ts': 'quotes a part of the message of another object',
  'plugin/cluster/cluster.ts': 'the API server, which names the verb that it refuses only there',
  'virtual-server/connection-secret.ts': 'the API server',
  'virtual-server/decision/silent-task.ts': 'the provider',
  'virtual-server/journal/notes.ts': 'Node',
};

/** Files of the operator that read conditions, and why. What is known is in the record; conditions only show it. */
const CONDITIONS_READ: Record<string, string> = {
  'controller/conditions.ts': 'renders',
  'observability/metrics.ts': 'counts what objects show',
  'server-catalog/decision/catalog-status.ts': 'renders',
  'server-catalog/reconciler.ts': 'renders, and spreads the first reads after a start',
  'virtual-server-set/decision/member.ts':
    'asks whether a member is Ready, Stalled or has ChangePending with which reason, as any client does, and quotes it',
  'virtual-server-set/decision/set-status.ts': 'renders',
  'virtual-server-set/reconciler.ts': 'renders',
  'virtual-server/decision/compose.ts': 'renders',
  'virtual-server/decision/format-1.ts': 'reads records of format 1, which left things to conditions',
};

/** The functions about a VirtualServer that take conditions: what for, and which files of the operator call one that answers. */
const CONDITIONS_TOLD: Record<string, Record<string, { why: string; calledIn?: string[] }>> = {
  'virtual-server/decision/compose.ts': {
    compose: { why: 'renders' },
    eventsOf: {
      why: 'for Events',
      calledIn: [
        'virtual-server/decision/outcome.ts',
        'virtual-server/operations/expire.ts',
        'virtual-server/operations/order-anonymous.ts',
      ],
    },
    shownReason: { why: 'for a log line', calledIn: ['virtual-server/visit.ts'] },
    showsReady: {
      why: 'for an Event: whether an earlier one may have told that the server is ready',
      calledIn: ['virtual-server/operations/look.ts'],
    },
  },
  'virtual-server/decision/format-1.ts': {
    fromFormat1: { why: 'for records of format 1', calledIn: ['virtual-server/decision/known-record.ts'] },
    readySince: { why: 'for records of format 1', calledIn: ['virtual-server/decision/expiry.ts'] },
  },
};
const ANSWERS = Object.entries(CONDITIONS_TOLD).flatMap(([path, told]) =>
  Object.entries(told).flatMap(([name, { calledIn }]) => (calledIn === undefined ? [] : [{ path, name, calledIn }])),
);

/** Whether the code itself takes the conditions of an object, or asks for the reason that they show. */
function takesConditions(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return node.name.text === 'conditions';
  if (ts.isElementAccessExpression(node))
    return ts.isStringLiteralLike(node.argumentExpression) && node.argumentExpression.text === 'conditions';
  if (ts.isBindingElement(node)) return (node.propertyName ?? node.name).getText() === 'conditions';
  return ts.isCallExpression(node) && node.expression.getText() === 'currentReason';
}

const someNode = (node: ts.Node, test: (node: ts.Node) => boolean): boolean =>
  test(node) || (ts.forEachChild(node, (child) => someNode(child, test) || undefined) ?? false);

const parsed = ({ path, text }: Pick<Source, 'path' | 'text'>): ts.SourceFile =>
  ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

const readsConditions = (source: Source): boolean => someNode(parsed(source), takesConditions);

/** The exports of a file that take conditions, themselves or through other functions of the file. */
function tellsConditions(source: Pick<Source, 'path' | 'text'>): string[] {
  const parts = new Map<string, { node: ts.Node; isExported: boolean }>();
  for (const statement of parsed(source).statements) {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    const named = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
    for (const node of named)
      if ((ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node)) && node.name !== undefined)
        parts.set(node.name.getText(), { node, isExported });
  }
  const reads = new Set([...parts].filter(([, { node }]) => someNode(node, takesConditions)).map(([name]) => name));
  const uses = (node: ts.Node): boolean => someNode(node, (part) => ts.isIdentifier(part) && reads.has(part.text));
  for (let known = -1; known < reads.size;) {
    known = reads.size;
    for (const [name, { node }] of parts) if (uses(node)) reads.add(name);
  }
  return [...reads].filter((name) => parts.get(name)?.isExported).sort();
}

interface Import {
  /** Path relative to src/, or the name of a package. */
  to: string;
  own: boolean;
  typeOnly: boolean;
}

interface Source {
  path: string;
  text: string;
  imports: Import[];
}

const sources: Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    return { path, text, imports: importsOf(path, text) };
  });

function importsOf(path: string, text: string): Import[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  const add = (specifier: ts.Expression | undefined, typeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteral(specifier)) return;
    const own = specifier.text.startsWith('.');
    const to = own ? relative(SRC, join(SRC, dirname(path), specifier.text)) : specifier.text;
    imports.push({ to, own, typeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnly(node.importClause));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return imports;
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause.namedBindings;
  return (
    clause.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.every((element) => element.isTypeOnly)
  );
}

/** The folder of a file in src, or `top` for files directly in src/. */
const folderOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : 'top');

/** The folders that each folder may import besides itself: only folders below it. */
const MAY_IMPORT: Record<string, string[]> = {
  base: [],
  api: ['base'],
  config: ['base'],
  provider: ['base'],
  // These two know no kind; each kind has a separate folder.
  kube: ['api', 'base'],
  controller: ['api', 'base', 'kube'],
  accounts: ['api', 'base', 'kube', 'provider'],
  // The folders of the kinds do not import each other.
  'virtual-server': ['accounts', 'api', 'base', 'controller', 'kube', 'provider'],
  'server-catalog': ['accounts', 'api', 'base', 'controller', 'kube', 'provider'],
  'virtual-server-set': ['api', 'base', 'controller', 'kube'],
  observability: ['api', 'base', 'config', 'controller', 'kube', 'provider', 'virtual-server-set'],
  // No code of the operator.
  simulator: ['base'],
  plugin: ['api', 'base', 'controller', 'kube', 'virtual-server', 'virtual-server-set'],
  top: [
    'accounts',
    'api',
    'base',
    'config',
    'controller',
    'kube',
    'observability',
    'provider',
    'server-catalog',
    'virtual-server',
    'virtual-server-set',
  ],
};

/** The folders of the plugin; each may import only those before it. */
const PLUGIN_FOLDERS = [
  ...['terminal', 'cluster', 'flags', 'state', 'decisions', 'plan', 'screens', 'checks', 'commands', 'program'],
];
/** Beside main.ts, which is after all of them. */
const pluginRank = (path: string): number =>
  path === 'plugin/main.ts' ? PLUGIN_FOLDERS.length : PLUGIN_FOLDERS.indexOf(path.split('/')[1] ?? '');

const inFolder = (folder: string): Source[] => sources.filter(({ path }) => folderOf(path) === folder);
/** Files that only make decisions, in whichever folder. */
const isPure = (path: string): boolean =>
  path.includes('/decision/') || ['controller/conditions.ts', 'controller/commands.ts'].includes(path);
const pure = sources.filter(({ path }) => isPure(path));
const edges = (folder: string): { path: string; to: string; typeOnly: boolean }[] =>
  inFolder(folder).flatMap(({ path, imports }) => imports.filter(({ own }) => own).map((edge) => ({ path, ...edge })));

describe('the folders of src', () => {
  it('match the design', () => {
    expect(new Set(sources.map(({ path }) => folderOf(path)))).toEqual(new Set(Object.keys(MAY_IMPORT)));
  });

  it.each(Object.entries(MAY_IMPORT))('%s imports only %j', (folder, allowed) => {
    const wrong = edges(folder).filter(
      ({ to }) => ![folder, ...allowed].some((name) => name === to || name === folderOf(to)),
    );
    expect(wrong).toEqual([]);
  });

  it.each(Object.entries(MAY_IMPORT))('%s uses each of %j', (folder, allowed) => {
    const used = new Set(edges(folder).map(({ to }) => folderOf(to)));
    expect(allowed.filter((name) => !used.has(name))).toEqual([]);
  });

  it('of the plugin import only those before them', () => {
    const own = edges('plugin').filter(({ to }) => folderOf(to) === 'plugin');
    expect(inFolder('plugin').filter(({ path }) => pluginRank(path) < 0)).toEqual([]);
    expect(own.filter(({ path, to }) => pluginRank(to) > pluginRank(path))).toEqual([]);
  });

  it('import no files outside src/', () => {
    expect(sources.flatMap(({ imports }) => imports.filter(({ own, to }) => own && to.startsWith('..')))).toEqual([]);
  });

  it('have no circular imports, not even of types', () => {
    const graph = new Map(
      sources.map(({ path, imports }) => [path, imports.filter(({ own }) => own).map(({ to }) => to)]),
    );
    expect(circles(graph)).toEqual([]);
  });

  it('keep the simulator and the provider client separate', () => {
    const others = sources.filter(({ path }) => folderOf(path) !== 'simulator');
    const users = others.filter(({ imports }) => imports.some(({ to }) => folderOf(to) === 'simulator'));
    expect(users.map(({ path }) => path)).toEqual([]);
  });
});

describe('the pure folders', () => {
  it('import only types from folders that do I/O', () => {
    const edges = pure.flatMap(({ path, imports }) => imports.map((edge) => ({ path, ...edge })));
    const wrong = edges.filter(
      ({ to, own, typeOnly }) => own && !typeOnly && !isPure(to) && !['api', 'base'].includes(folderOf(to)),
    );
    expect(wrong).toEqual([]);
  });

  it('import no Node module, and only packages without I/O', () => {
    const packages = pure.flatMap(({ imports }) => imports.filter(({ own }) => !own).map(({ to }) => to));
    expect(packages.filter((name) => name !== 'fastest-levenshtein')).toEqual([]);
  });

  it('use no clock, random numbers, timers or process', () => {
    const forbidden =
      /\b(Date\.now|new Date\(\)|Math\.random|setTimeout|setInterval|setImmediate|performance\.|process\.|globalThis|crypto\.|fetch\(|console\.)/;
    const wrong = pure.filter(({ text }) => forbidden.test(text));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});

describe('the code', () => {
  it('reads no conditions back to decide', () => {
    const operator = sources.filter(({ path }) => !['plugin', 'api', 'simulator'].includes(folderOf(path)));
    const readers = operator.filter(readsConditions).map(({ path }) => path);
    expect(readers.sort()).toEqual(Object.keys(CONDITIONS_READ).sort());
  });

  it('takes the conditions of a VirtualServer in listed functions only', () => {
    const tellers = sources.filter(({ path }) => path.startsWith('virtual-server/') && path in CONDITIONS_READ);
    const told = tellers.map((source) => [source.path, tellsConditions(source)] as const);
    const listed = Object.entries(CONDITIONS_TOLD).map(([path, names]) => [path, Object.keys(names).sort()]);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(listed));
  });

  it('sees a function that reads conditions through another one', () => {
    const text = `
      const inner = (status) => status?.['conditions'] ?? [];
      function between(object) { return inner(object.status); }
      export const isStalled = (object) => between(object).length > 0;
      export const withReady = ({ status }) => ({ ...status, ready: true });`;
    expect(tellsConditions({ path: 'example.ts', text })).toEqual(['isStalled']);
  });

  it.each(ANSWERS)('calls $name of $path only in $calledIn', ({ path: teller, name, calledIn }) => {
    const isCaller = (source: Source): boolean =>
      source.imports.some(({ to }) => to === teller) &&
      someNode(parsed(source), (node) => ts.isImportSpecifier(node) && (node.propertyName ?? node.name).text === name);
    const operator = sources.filter(({ path }) => !['plugin', 'simulator'].includes(folderOf(path)));
    expect(operator.filter(isCaller).map(({ path }) => path)).toEqual(calledIn);
  });

  it('spells out the API group only in names.ts', () => {
    const spelled = sources.filter(({ text }) => /['"`][^'"`\n]*vps-operator\.dev/.test(text)).map(({ path }) => path);
    expect(spelled).toEqual(['api/names.ts']);
  });

  it('never parses its own messages', () => {
    const message = String.raw`\b(message|summary|note)\b`;
    const methods =
      'match|matchAll|split|includes|startsWith|endsWith|indexOf|search|replace|replaceAll|slice|substring';
    const reads = new RegExp(String.raw`${message}\??\.(${methods})\(|\.(exec|test)\((\w+\.)*${message}`);
    const own = sources.filter(({ path }) => !['kube', 'provider', 'simulator'].includes(folderOf(path)));
    const readers = own.filter(({ text }) => reads.test(text)).map(({ path }) => path);
    expect(readers.sort()).toEqual(Object.keys(MESSAGES_OF_OTHERS).sort());
  });

  it('gives a name to one export only', () => {
    const paths = new Map<string, string[]>();
    for (const { path, text } of sources)
      for (const [, name = ''] of text.matchAll(
        /^export (?:async )?(?:interface|type|class|function\*?|const) (\w+)/gm,
      ))
        paths.set(name, [...(paths.get(name) ?? []), path]);
    expect([...paths].filter(([, each]) => each.length > 1)).toEqual([]);
  });

  it('spells a result only in result.ts', () => {
    const spelled = sources.filter(
      ({ path, text }) => path !== 'base/result.ts' && /\bok: (?:true|false)\b/.test(text),
    );
    expect(spelled.map(({ path }) => path)).toEqual([]);
  });

  it('starts every module with a sentence of purpose', () => {
    expect(sources.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('reads environment and arguments only in main files and in listed files', () => {
    const readers = sources.filter(({ text }) => /\bprocess\.(env|argv)\b/.test(text)).map(({ path }) => path);
    expect(readers.filter((path) => !/(^|\/)main\.ts$/.test(path) && !READERS.includes(path))).toEqual([]);
  });
});

/** Every circular import, as a chain of paths. */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const finished = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path]);
    if (start >= 0 || finished.has(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path]);
    finished.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return found;
}

describe('comments and pages', () => {
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(ROOT, path)));

  it.each(['src/', 'test/', 'tools/', 'docs/', 'CONTRIBUTING.md', 'README.md'])(
    'of %s name only files that exist',
    (part) => {
      const pages = files.filter((path) => path.startsWith(part) && /\.(ts|md)$/.test(path));
      const named = pages.flatMap((path) => filesNamedIn(path).map((name) => ({ path, name })));
      expect(named.filter(({ name }) => !files.some((file) => file === name || file.endsWith(`/${name}`)))).toEqual([]);
    },
  );
});

/** Names of TypeScript files in the comments of a source, or in a page. */
function filesNamedIn(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const words = path.endsWith('.md') ? text : (text.match(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm) ?? []).join('\n');
  return words.match(/(?<![\w./*-])(?:[\w.-]+\/)*[\w-]+\.(?:test\.)?ts\b/g) ?? [];
}
