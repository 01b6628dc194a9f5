/**
 * `npm run chart`: writes the generated files of the Helm chart. The first run builds helm-docs with Go, which takes
 * minutes.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseDocument, stringify } from 'yaml';
import { CATALOG_CRD_FILE, CRD_FILE, SET_CRD_FILE } from '../crds.ts';
import { resolveBinaries } from '../control-plane/binaries.ts';
import { dashboardJson } from '../dashboard/main.ts';
import { goProgram } from '../go-program.ts';
import { GO_PROGRAMS } from '../go-programs.ts';
import { version } from '../image-build.ts';
import { schemaJson } from './schema.ts';
import { generatedTemplates } from './templates.ts';

const ROOT = join(import.meta.dirname, '../..');
export const CHART = join(ROOT, 'deploy/chart');

/** The content of all generated files but the README, by path in the chart. */
export async function chartFiles(kubectl: string): Promise<Record<string, string>> {
  return {
    ...(await generatedTemplates(kubectl)),
    'files/dashboard.json': dashboardJson(),
    'values.schema.json': schemaJson(await readFile(join(CHART, 'values.yaml'), 'utf8')),
    'Chart.yaml': await chartYaml(await version()),
  };
}

/** The content of Chart.yaml for this version. */
export async function chartYaml(version: string): Promise<string> {
  const document = parseDocument(await readFile(join(CHART, 'Chart.yaml'), 'utf8'));
  const { image } = parseDocument(await readFile(join(CHART, 'values.yaml'), 'utf8')).toJS() as {
    image: { repository: string };
  };
  document.set('version', version);
  document.set('appVersion', version);
  document.setIn(
    ['annotations', 'artifacthub.io/images'],
    stringify([{ name: 'operator', image: `${image.repository}:${version}` }]),
  );
  const prerelease = ['annotations', 'artifacthub.io/prerelease'];
  if (version.includes('-')) document.setIn(prerelease, 'true');
  else document.deleteIn(prerelease);
  const files = [CRD_FILE, SET_CRD_FILE, CATALOG_CRD_FILE];
  const crds = await Promise.all(files.map(async (file) => crdOf(await readFile(file, 'utf8'))));
  document.setIn(['annotations', 'artifacthub.io/crds'], stringify(crds, { lineWidth: 0 }));
  return document.toString({ lineWidth: 0 });
}

/** What Artifact Hub shows of a CRD. */
function crdOf(yaml: string): object {
  const { metadata, spec } = parse(yaml) as {
    metadata: { name: string };
    spec: {
      names: { kind: string };
      versions: { name: string; schema: { openAPIV3Schema: { description: string } } }[];
    };
  };
  const [version] = spec.versions;
  return {
    kind: spec.names.kind,
    version: version?.name,
    name: metadata.name,
    displayName: spec.names.kind,
    description: version?.schema.openAPIV3Schema.description,
  };
}

/** The README of the chart in this folder, which helm-docs generates from values.yaml and README.md.gotmpl. */
export async function readme(folder: string): Promise<string> {
  const helmDocs = await goProgram(GO_PROGRAMS.helmDocs);
  const args = ['--chart-search-root', folder, '--dry-run', '--sort-values-order=file', '--log-level=warning'];
  return (await promisify(execFile)(helmDocs, args)).stdout;
}

if (import.meta.main) {
  const { kubectl } = await resolveBinaries((line) => console.error(line));
  for (const [name, text] of Object.entries(await chartFiles(kubectl))) {
    await mkdir(dirname(join(CHART, name)), { recursive: true });
    await writeFile(join(CHART, name), text);
  }
  await writeFile(join(CHART, 'README.md'), await readme(CHART));
}
