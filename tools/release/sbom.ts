/** The bill of materials (CycloneDX) of one bundle: exactly the packages with code in it, and the Node that runs it. */
import { execFile } from 'node:child_process';
import type { Metafile } from 'esbuild';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { LEFT_OUT, OF_NODE } from '../bundle.ts';
import { ROOT } from '../image-build.ts';

interface Bill {
  metadata: { component: { 'bom-ref': string; name: string } };
  components?: object[];
  dependencies?: { ref: string; dependsOn?: string[] }[];
}

const TOOL = join(ROOT, 'node_modules/.bin/cyclonedx-esbuild');

/** Throws the tool's error; the tool also validates the result against the CycloneDX schema. */
export async function writeBillOfMaterials(metafile: string, name: string, node: string, out: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-sbom-'));
  try {
    const own = join(folder, 'metafile.json');
    await writeFile(own, JSON.stringify(ofBundle(JSON.parse(await readFile(metafile, 'utf8')) as Metafile, name)));
    const args = ['--output-reproducible', '--validate', '--gather-license-texts', `--output-file=${out}`, own];
    await promisify(execFile)(TOOL, args, { cwd: ROOT });
  } finally {
    await rm(folder, { recursive: true });
  }
  const bill = JSON.parse(await readFile(out, 'utf8')) as Bill;
  await writeFile(out, `${JSON.stringify(withNode(bill, name, node), undefined, 2)}\n`);
}

/**
 * Only files with bytes in this bundle: esbuild also lists files that it read and dropped. Node is listed as a whole.
 */
function ofBundle({ inputs, outputs }: Metafile, name: string): Metafile {
  const found = Object.entries(outputs).find(([path]) => basename(path) === name);
  if (found === undefined) throw new Error(`no bundle ${name}`);
  const [path, output] = found;
  const parts = Object.entries(output.inputs).filter(
    ([input, { bytesInOutput }]) =>
      bytesInOutput > 0 && ![OF_NODE, LEFT_OUT].some((prefix) => input.startsWith(`${prefix}:`)),
  );
  const names = new Set(parts.map(([input]) => input));
  return {
    inputs: Object.fromEntries(Object.entries(inputs).filter(([input]) => names.has(input))),
    outputs: { [path]: { ...output, inputs: Object.fromEntries(parts) } },
  };
}

/** Adds Node, because the tool does not know runtimes. */
function withNode(bill: Bill, name: string, version: string): Bill {
  const purl = `pkg:generic/node@${version}`;
  const { component } = bill.metadata;
  const root = component['bom-ref'];
  const node = {
    type: 'platform',
    name: 'node',
    version,
    'bom-ref': purl,
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    purl,
  };
  const dependencies = bill.dependencies ?? [];
  const ofRoot = dependencies.find(({ ref }) => ref === root);
  return {
    ...bill,
    metadata: { ...bill.metadata, component: { ...component, name: `${component.name}/${name}` } },
    components: [...(bill.components ?? []), node],
    dependencies: [
      ...dependencies.filter(({ ref }) => ref !== root),
      { ref: root, dependsOn: [...(ofRoot?.dependsOn ?? []), purl] },
      { ref: purl },
    ],
  };
}
