/** `npm run build`: one file for the operator and one for the simulator, which run without node_modules. */
import { build } from 'esbuild';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const out = join(root, 'dist');
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };

await rm(out, { recursive: true, force: true });
await build({
  absWorkingDir: root,
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
for (const name of ['operator.js', 'simulator.js']) {
  const { size } = await stat(join(out, name));
  console.log(`dist/${name}  ${(size / 1024 / 1024).toFixed(2)} MiB`);
}
