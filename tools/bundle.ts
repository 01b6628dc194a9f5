/** Bundles the operator, the simulator and the kubectl plugin into one file each, which run without node_modules. */
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

const CLIENT_NODE = '@kubernetes/client-node';
const CLIENT_NODE_CONFIG = join(ROOT, 'node_modules', CLIENT_NODE, 'dist/config.js');

/**
 * Only the kubeconfig of client-node is used, but its main module imports every Kubernetes API and the code that runs
 * commands in pods. Declares its unused modules as removable, which its package.json does not. Measured: saves 20 MB.
 */
const lean: Plugin = {
  name: 'lean client-node',
  setup(esbuild) {
    // Joins the paths itself. Measured: with esbuild.resolve, all bundles took 19 s of CPU time instead of 3.
    esbuild.onResolve({ filter: /^\.|^@kubernetes\/client-node$/ }, ({ path, importer, resolveDir }) => {
      if (path === CLIENT_NODE) return { path: CLIENT_NODE_CONFIG, sideEffects: false };
      if (!importer.replaceAll('\\', '/').includes(CLIENT_NODE)) return undefined;
      return { path: join(resolveDir, path), sideEffects: false };
    });
  },
};

/**
 * undici's main module loads fetch, WebSockets, caches and mocks too. Replaces it by one that exports what this project
 * uses; the build fails for any other name.
 */
const leanUndici: Plugin = {
  name: 'lean undici',
  setup(esbuild) {
    esbuild.onLoad({ filter: /[/\\]undici[/\\]index\.js$/ }, () => ({
      contents: [
        "import Dispatcher from './lib/dispatcher/dispatcher.js';",
        "import api from './lib/api/index.js';",
        "export { default as Agent } from './lib/dispatcher/agent.js';",
        "export { default as Client } from './lib/dispatcher/client.js';",
        "export { default as Pool } from './lib/dispatcher/pool.js';",
        "export { default as ProxyAgent } from './lib/dispatcher/proxy-agent.js';",
        "export { default as buildConnector } from './lib/core/connect.js';",
        // client-node imports it for code that the bundles leave out.
        'export const { fetch } = globalThis;',
        'Object.assign(Dispatcher.prototype, api);',
      ].join('\n'),
    }));
    // Every connection is HTTP/1.1 (`allowH2: false`).
    esbuild.onLoad({ filter: /[/\\]undici[/\\].*[/\\]client-h2\.js$/ }, () => ({
      contents: "module.exports = () => { throw new Error('left out'); };",
    }));
    // An experimental parser, which is off by default.
    esbuild.onLoad({ filter: /[/\\]undici[/\\].*[/\\]parser-h1\.js$/ }, () => ({
      contents: 'module.exports = { getMiloEnabled: () => false };',
    }));
  },
};

/**
 * Of ssh2, only the key exchange of a client is used. Leaves out file transfer, servers, encrypted private keys, and
 * the optional native parts, which would be another binary for each platform. Measured: 280 kB instead of 390 kB.
 */
const leanSsh2: Plugin = {
  name: 'lean ssh2',
  setup(esbuild) {
    const only = (filter: RegExp, contents: string): void => esbuild.onLoad({ filter }, () => ({ contents }));
    only(/[/\\]ssh2[/\\]lib[/\\]index\.js$/, "module.exports = { Client: require('./client.js') };");
    only(/[/\\]ssh2[/\\]lib[/\\]protocol[/\\]SFTP\.js$/, 'module.exports = {};');
    only(/[/\\]bcrypt-pbkdf[/\\]index\.js$/, 'module.exports = {};');
    // They ask where their file is, which ES modules do not have under this name, and use it for nothing here.
    esbuild.onLoad({ filter: /[/\\]ssh2[/\\].*[/\\](agent|poly1305)\.js$/ }, async ({ path }) => ({
      contents: `var __dirname = '', __filename = '';\n${await readFile(path, 'utf8')}`,
    }));
    esbuild.onResolve({ filter: /^cpu-features$|\.node$/ }, ({ path }) => ({ path, namespace: LEFT_OUT }));
    esbuild.onLoad({ filter: /./, namespace: LEFT_OUT }, () => ({ contents: "throw new Error('left out');" }));
  },
};

/** Prefix in METAFILE of native parts that are not in the bundle. */
export const LEFT_OUT = 'left-out';

/** Prefix of Node's own modules in METAFILE. */
export const OF_NODE = 'of-node';

/**
 * Requires Node's modules where they are used. An import statement for a name that an older Node does not export fails
 * before any code runs, and so before nodeCheck.
 */
const late: Plugin = {
  name: 'lazy modules of Node',
  setup(esbuild) {
    esbuild.onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: OF_NODE } : undefined,
    );
    esbuild.onLoad({ filter: /./, namespace: OF_NODE }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/** CommonJS dependencies call `require`, which ES modules do not have. */
const REQUIRE =
  "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);";

/** Runs before any package: on an older Node, undici 8 fails with a stack trace that names no version. */
const nodeCheck = (oldest: string): string => {
  const [major, minor] = oldest.split('.');
  return (
    "{ const [major, minor] = process.versions.node.split('.').map(Number); " +
    `if (major < ${major} || (major === ${major} && minor < ${minor})) { ` +
    `console.error(\`Node ${oldest} or newer is needed; this is \${process.version}\`); ` +
    `if (import.meta.url.endsWith('/${PLUGIN}')) console.error('To build a plugin that contains Node, run in the checkout: npm run release -- executable'); ` +
    'process.exit(1); } }'
  );
};

export const OPERATOR = 'operator.js';
/** The bundle of the kubectl plugin. */
export const PLUGIN = 'kubectl-vps.js';
/** The files in the bundle folder, without their source maps. */
export const BUNDLES = [OPERATOR, 'simulator.js', PLUGIN];

/** esbuild's report on which file of which package went into which bundle. */
export const METAFILE = 'metafile.json';

/** What all bundles have in common. */
const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  treeShaking: true,
  // Node keeps the text in memory. Identifiers stay as they are: names of functions and classes appear in logs and stack
  // traces. `keepNames` would set the name of each closure whenever one is created.
  minifyWhitespace: true,
  minifySyntax: true,
  // Node prints the line of an uncaught error.
  lineLimit: 500,
  plugins: [late, lean, leanUndici, leanSsh2],
  logLevel: 'warning',
} as const satisfies BuildOptions;

const PLUGIN_ENTRY = 'src/plugin/main.ts';

interface Manifest {
  version: string;
  engines: { node: string };
}

const manifest = async (): Promise<Manifest> =>
  JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/** Undefined in the source: a process that runs from source has no version. */
const withVersion = (version: string): Record<string, string> => ({
  'process.env.VPS_OPERATOR_VERSION': JSON.stringify(version),
});

/** Writes one module of src and all that it needs to `outfile`, as in the bundles. */
export async function bundleModule(entry: string, outfile: string): Promise<void> {
  await build({ ...COMMON, entryPoints: [entry], outfile, format: 'esm', banner: { js: REQUIRE } });
}

/** Writes BUNDLES, their source maps and METAFILE to `out`; returns the version that they carry. */
export async function bundle(out: string): Promise<string> {
  const { version, engines } = await manifest();
  const oldest = engines.node.replace('>=', '');
  const { metafile } = await build({
    ...COMMON,
    metafile: true,
    entryPoints: {
      operator: 'src/main.ts',
      simulator: 'src/simulator/main.ts',
      'kubectl-vps': PLUGIN_ENTRY,
    },
    outdir: out,
    target: `node${oldest}`,
    format: 'esm',
    sourcemap: 'external',
    define: withVersion(version),
    banner: { js: `${REQUIRE} ${nodeCheck(oldest)}` },
  });
  for (const name of BUNDLES) await escapeNonAscii(join(out, name));
  // Without it, Node first treats the files as CommonJS and parses them twice.
  await writeFile(join(out, 'package.json'), '{ "type": "module" }\n');
  await writeFile(join(out, METAFILE), JSON.stringify(metafile));
  // kubectl executes the plugin.
  await chmod(join(out, 'kubectl-vps.js'), 0o755);
  return version;
}

/**
 * A single character that is not ASCII makes V8 keep the whole text with two bytes for each. esbuild escapes those in strings,
 * but not those in regular expressions and comments. Measured: saves 2 MB of memory.
 */
async function escapeNonAscii(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  await writeFile(file, text.replaceAll(/[^\0-\x7f]/g, escaped));
}

/** Writes the plugin as one CommonJS file, the only form that a single executable of Node 24 runs. */
export async function bundlePluginScript(outfile: string): Promise<void> {
  const { version } = await manifest();
  const target = `node${process.versions.node}`;
  await build({ ...COMMON, entryPoints: [PLUGIN_ENTRY], outfile, target, format: 'cjs', define: withVersion(version) });
}
