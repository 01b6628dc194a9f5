/** `npm run gitops`: writes the generated files for Argo CD: the test data of its Lua scripts, and argocd-cm. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { Condition } from '../src/api/meta.ts';
import { CATALOG_KIND, GROUP, SERVER_KIND, SET_KIND } from '../src/api/names.ts';
import { CATALOG_VERDICTS, catalogStates } from '../test/fixtures/catalog-states.ts';
import { ACTION_TESTS, ACTIONS, type Actionable } from '../test/fixtures/resource-actions.ts';
import { SET_VERDICTS, setStates } from '../test/fixtures/set-states.ts';
import { states } from '../test/fixtures/states.ts';
import { VERDICTS, type Verdict } from '../test/fixtures/verdicts.ts';

const ROOT = join(import.meta.dirname, '..');
const CUSTOMIZATIONS = join(ROOT, 'deploy/argocd/resource_customizations', GROUP);
const CONFIG_MAP = join(ROOT, 'examples/argocd/argocd-cm.yaml');
/** Folders with generated files only. */
const TESTDATA = ['testdata', 'actions/testdata'];

export const KINDS = [SERVER_KIND, CATALOG_KIND, SET_KIND] as const;
export type Kind = (typeof KINDS)[number];

type Stated = Actionable & { status?: { conditions?: Condition[] | undefined } };

const SERVERS = Object.fromEntries(Object.entries(await states()).map(([name, { object }]) => [name, object]));
const SETS = await setStates();

/** Every observable state of an object of each kind, and what a GitOps tool should report for it. */
export const JUDGED: Record<Kind, { objects: () => Record<string, Stated>; verdicts: Record<string, Verdict> }> = {
  [SERVER_KIND]: {
    objects: () => SERVERS,
    verdicts: VERDICTS,
  },
  [CATALOG_KIND]: { objects: catalogStates, verdicts: CATALOG_VERDICTS },
  [SET_KIND]: { objects: () => SETS, verdicts: SET_VERDICTS },
};

/** Same layout as the folder of one kind in Argo CD's own repository. */
export const customization = (kind: Kind): string => join(CUSTOMIZATIONS, kind);

/** The scripts of a kind, written by hand. */
export async function scripts(kind: Kind) {
  const read = (path: string): Promise<string> => readFile(join(customization(kind), path), 'utf8');
  const definitions = await Promise.all(
    (ACTIONS[kind] ?? []).map(async (name) => [name, await read(`actions/${name}/action.lua`)] as const),
  );
  return {
    health: await read('health.lua'),
    actions: { discovery: await read('actions/discovery.lua'), definitions: Object.fromEntries(definitions) },
  };
}

/** Path to content of all generated files. Throws if a state has no verdict. */
export async function gitopsFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>(KINDS.flatMap((kind) => [...filesOf(kind)]));
  files.set(CONFIG_MAP, await configMap());
  return files;
}

function filesOf(kind: Kind): Map<string, string> {
  const objects = JUDGED[kind].objects();
  const { verdicts } = JUDGED[kind];
  const folder = customization(kind);
  const files = new Map<string, string>();
  const inputs = new Map<string, string>();
  const healthTests = Object.entries(objects).map(([name, object]) => {
    const verdict = verdicts[name];
    if (verdict === undefined) throw new Error(`no verdict on ${kind} ${name}`);
    const inputPath = `testdata/${verdict.argo.toLowerCase()}_${name}.yaml`;
    inputs.set(name, `../${inputPath}`);
    files.set(join(folder, inputPath), generated(object));
    return { healthStatus: { status: verdict.argo, message: messageOf(verdict, object) }, inputPath };
  });
  files.set(join(folder, 'health_test.yaml'), generated({ tests: healthTests }));

  const { disabled, parameters = {}, actions } = ACTION_TESTS[kind] ?? { disabled: {}, actions: [] };
  const discoveryTests = Object.entries(disabled).map(([state, names]) => ({
    inputPath: inputs.get(state),
    result: (ACTIONS[kind] ?? []).map((name) => {
      const params = parameters[name]?.map((parameter) => ({ name: parameter }));
      return { name, ...(params && { params }), ...(names.includes(name) && { disabled: true }) };
    }),
  }));
  const actionTests = actions.map(({ action, state, parameters: entered, expected }) => {
    const test = { action, inputPath: inputs.get(state), ...(entered && { parameters: entered }) };
    if (typeof expected === 'object') return { ...test, expectedErrorMessage: expected.error };
    const expectedOutputPath = `testdata/${action}_${state}.yaml`;
    files.set(join(folder, 'actions', expectedOutputPath), generated(expected(objects[state] as Stated)));
    return { ...test, expectedOutputPath };
  });
  files.set(join(folder, 'actions/action_test.yaml'), generated({ discoveryTests, actionTests }));
  return files;
}

function messageOf({ says }: Verdict, { status }: Stated): string {
  if (typeof says === 'string') return says;
  const [first = '', ...more] = says.map(
    (type) => status?.conditions?.find((other) => other.type === type)?.message ?? '',
  );
  return [more.length === 0 ? first : `${first}.`, ...more].join(' ');
}

const NOTE = '# Generated by npm run gitops; do not edit.\n';

/** YAML 1.1, which Go's tools read: quotes times and similar values. */
const generated = (value: object): string =>
  NOTE + stringify(value, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });

async function configMap(): Promise<string> {
  const how = [
    '# The health checks and the actions of our kinds for Argo CD. This command adds the keys, and keeps all other keys of the',
    '# ConfigMap:',
    '#   kubectl patch configmap argocd-cm --namespace argocd --type=merge --patch-file examples/argocd/argocd-cm.yaml',
  ];
  const data: Record<string, string> = {};
  for (const kind of KINDS) {
    const { health, actions } = await scripts(kind);
    const definitions = Object.entries(actions.definitions).map(([name, script]) => ({ name, 'action.lua': script }));
    data[`resource.customizations.health.${GROUP}_${kind}`] = health;
    data[`resource.customizations.actions.${GROUP}_${kind}`] = stringify(
      { 'discovery.lua': actions.discovery, definitions },
      { lineWidth: 0 },
    );
  }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'argocd-cm', namespace: 'argocd' }, data };
  return `${NOTE}${how.join('\n')}\n${stringify(object, { lineWidth: 0 })}`;
}

/** Paths of all existing test data, generated or not. */
export async function testdataFiles(): Promise<string[]> {
  const folders = KINDS.flatMap((kind) => TESTDATA.map((folder) => join(customization(kind), folder)));
  return (
    await Promise.all(folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))))
  ).flat();
}

if (import.meta.main) {
  for (const kind of KINDS) {
    for (const folder of TESTDATA) await rm(join(customization(kind), folder), { recursive: true, force: true });
  }
  for (const [path, text] of await gitopsFiles()) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
