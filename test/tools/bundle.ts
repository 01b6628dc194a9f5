/** Bundles the operator and the simulator into one file each, which run without node_modules. */
import { build } from 'esbuild';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Writes `<out>/operator.js`, `<out>/simulator.js` and their source maps; returns the version that they carry. */
export async function bundle(out: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  await build({
    absWorkingDir: ROOT,
    entryPoints: { operator: 'src/main.ts', simulator: 'src/simulator/main.ts' },
    outdir: out,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    treeShaking: true,
    // Names of functions and classes show in logs and stack traces.
    keepNames: true,
    sourcemap: 'external',
    // In the source this is undefined: a process that runs from it is of no version.
    define: { 'process.env.VPS_OPERATOR_VERSION': JSON.stringify(version) },
    // Dependencies written as CommonJS call `require`, which an ES module has not.
    banner: {
      js: "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  return version;
}
