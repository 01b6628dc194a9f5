/** `npm run build`: writes the bundles to dist/. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BUNDLES, bundle } from './bundle.ts';

const out = join(import.meta.dirname, '../dist');
await rm(out, { recursive: true, force: true });
const version = await bundle(out);
for (const name of BUNDLES) {
  const { size } = await stat(join(out, name));
  console.log(`dist/${name}  ${version}  ${(size / 1024 / 1024).toFixed(2)} MiB`);
}
