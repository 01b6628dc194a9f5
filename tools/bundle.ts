/** Bundles the operator, the simulator and the kubectl plugin into one file each, which run without node_modules. */
import { build, type Plugin } from 'esbuild';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

const CLIENT_NODE = '@kubernetes/client-node';

/**
 * Of client-node only the kubeconfig is used. Its main module brings along every API of Kubernetes and what runs
 * commands in pods; unused modules of it may be left out, though its package.json does not say so. Measured: 20 MB.
 */
const lean: Plugin = {
  name: 'lean client-node',
  setup(esbuild) {
    esbuild.onResolve(
      { filter: /^\.|^@kubernetes\/client-node$/ },
      async ({ path, importer, resolveDir, kind, pluginData }) => {
        if (pluginData === lean || !(path === CLIENT_NODE || importer.includes(CLIENT_NODE))) return undefined;
        const wanted = path === CLIENT_NODE ? './node_modules/@kubernetes/client-node/dist/config.js' : path;
        const from = path === CLIENT_NODE ? ROOT : resolveDir;
        const found = await esbuild.resolve(wanted, { importer, resolveDir: from, kind, pluginData: lean });
        return found.errors.length > 0 ? found : { path: found.path, sideEffects: false };
      },
    );
  },
};

/** In METAFILE, what the names of Node's own modules begin with. */
export const OF_NODE = 'of-node';

/**
 * Modules of Node are required where they are used: an import statement for what an older Node's module does not export
 * fails before anything runs, and so before nodeCheck.
 */
const late: Plugin = {
  name: 'late modules of Node',
  setup(esbuild) {
    esbuild.onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: OF_NODE } : undefined,
    );
    esbuild.onLoad({ filter: /./, namespace: OF_NODE }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/** Dependencies written as CommonJS call `require`, which an ES module has not. */
const REQUIRE =
  "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);";

/** Runs before any package does: undici 8 fails on an older Node with a stack trace that names no version. */
const nodeCheck = (oldest: string): string => {
  const [major, minor] = oldest.split('.');
  return (
    "{ const [major, minor] = process.versions.node.split('.').map(Number); " +
    `if (major < ${major} || (major === ${major} && minor < ${minor})) { ` +
    `console.error(\`Node ${oldest} or newer is needed; this is \${process.version}\`); process.exit(1); } }`
  );
};

/** What lies in the folder of the bundles, without their source maps. */
export const BUNDLES = ['operator.js', 'simulator.js', 'kubectl-vps.js'];

/** esbuild's account of which file of which package went into which bundle. */
export const METAFILE = 'metafile.json';

/** Writes BUNDLES, their source maps and METAFILE to `out`; returns the version that they carry. */
export async function bundle(out: string): Promise<string> {
  const { version, engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    version: string;
    engines: { node: string };
  };
  const oldest = engines.node.replace('>=', '');
  const { metafile } = await build({
    metafile: true,
    absWorkingDir: ROOT,
    entryPoints: {
      operator: 'src/main.ts',
      simulator: 'src/simulator/main.ts',
      'kubectl-vps': 'src/cli/vps/main.ts',
    },
    outdir: out,
    bundle: true,
    platform: 'node',
    target: `node${oldest}`,
    format: 'esm',
    treeShaking: true,
    // Names of functions and classes show in logs and stack traces.
    keepNames: true,
    sourcemap: 'external',
    // In the source this is undefined: a process that runs from it is of no version.
    define: { 'process.env.VPS_OPERATOR_VERSION': JSON.stringify(version) },
    banner: { js: `${REQUIRE} ${nodeCheck(oldest)}` },
    plugins: [late, lean],
    logLevel: 'warning',
  });
  // Without it Node takes the files for CommonJS first and reads them twice.
  await writeFile(join(out, 'package.json'), '{ "type": "module" }\n');
  await writeFile(join(out, METAFILE), JSON.stringify(metafile));
  // kubectl runs it as a program.
  await chmod(join(out, 'kubectl-vps.js'), 0o755);
  return version;
}
