/** An object's whole life while a tool repeatedly applies the same manifest. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { withOwnKey } from '../../../tools/demo/manifests.ts';
import { spawnOperator } from '../support/process.ts';
import { createWorld, type World } from '../support/world.ts';
import { ROOT } from '../deploy/cluster.ts';

/** The simple example, with an SSH key. */
const folder = await mkdtemp(join(tmpdir(), 'vps-operator-applied-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
export const MANIFEST = join(folder, 'simple.yaml');
await writeFile(MANIFEST, withOwnKey(await readFile(join(ROOT, 'examples/servers/simple.yaml'), 'utf8')));
export const NAME = 'simple';
export const OBJECT = `virtualserver.vps-operator.dev/${NAME}`;

/** The operator's field manager, as in `--show-managed-fields`. */
const FIELD_MANAGER = 'vps-operator';
/** Allows for dozens of kubectl calls. */
export const LIFE_MS = 180_000;

interface ManagedFields {
  manager: string;
  subresource?: string;
  fieldsV1: Record<string, unknown>;
}

/** Runs kubectl as an administrator, in the world's namespace. Rejects if kubectl does not exit with 0. */
export const kubectlIn =
  (world: World) =>
  async (...args: string[]): Promise<string> => {
    const flags = ['--kubeconfig', inject('kubeconfigPath'), '--namespace', world.namespace];
    return (await promisify(execFile)(inject('kubectl'), [...flags, ...args])).stdout;
  };

/**
 * The output of `kubectl diff`. kubectl reads the object first and computes the result of an apply afterwards, so an
 * operator write in between would show as a difference. Only a diff of a single version counts.
 */
export async function difference(kubectl: ReturnType<typeof kubectlIn>, flags: string[]): Promise<string> {
  const version = (): Promise<string> => kubectl('get', OBJECT, '--output=jsonpath={.metadata.resourceVersion}');
  const before = await version();
  const shown = await kubectl('diff', ...flags, '-f', MANIFEST).catch((error: unknown) => {
    const { code, stdout } = error as { code?: number; stdout?: string };
    // Exit code 1 and output: there is a difference.
    if (code !== 1 || !stdout) throw error;
    return stdout;
  });
  return (await version()) === before ? shown : difference(kubectl, flags);
}

/** Paths of the fields that the operator owns: `metadata/annotations/x`, and `status` as a whole. */
async function ownedFields(kubectl: ReturnType<typeof kubectlIn>): Promise<string[]> {
  const text = await kubectl('get', OBJECT, '--show-managed-fields', '--output=jsonpath={.metadata.managedFields}');
  const own = (JSON.parse(text) as ManagedFields[]).filter(({ manager }) => manager === FIELD_MANAGER);
  const paths = own.flatMap(({ fieldsV1, subresource }) => leaves(fieldsV1).map((path) => [subresource ?? '', path]));
  return [
    ...new Set(paths.map(([subresource, path = '']) => (path.startsWith('status') ? `${subresource}:status` : path))),
  ].sort();
}

function leaves(fields: Record<string, unknown>, path = ''): string[] {
  const children = Object.entries(fields).filter(([key]) => key !== '.');
  if (children.length === 0) return [path];
  return children.flatMap(([key, value]) =>
    leaves(value as Record<string, unknown>, `${path}${path && '/'}${key.replace(/^[fv]:/, '')}`),
  );
}

/** Ways to apply a manifest: as users, Argo CD and Flux do. */
export const APPLIERS = [
  { who: 'kubectl apply', flags: [] },
  { who: 'Argo CD', flags: ['--server-side', '--field-manager=argocd-controller'] },
  { who: 'Flux', flags: ['--server-side', '--field-manager=kustomize-controller', '--force-conflicts'] },
];

/** Checks that no field changes owner, no difference shows, and `kubectl wait` succeeds. */
export async function applyThroughLife({ flags }: (typeof APPLIERS)[number]): Promise<void> {
  const world = await createWorld({ operator: false, simulator: { taskDurationMs: 3_000 } });
  const kubectl = kubectlIn(world);
  const apply = (): Promise<string> => kubectl('apply', ...flags, '-f', MANIFEST);
  const settled = async (): Promise<void> => {
    expect(await apply()).toMatch(flags.length === 0 ? / unchanged$/m : / serverside-applied$/m);
    expect(await difference(kubectl, flags)).toBe('');
    expect((await world.get(NAME))?.metadata.generation).toBe(1);
  };

  await apply();
  await settled();
  await spawnOperator(world);
  await world.waitForReason(NAME, 'Creating');
  await settled();
  expect(await kubectl('wait', '--for=condition=Ready', OBJECT, '--timeout=60s')).toContain('condition met');
  await settled();

  const { metadata } = (await world.get(NAME)) ?? {};
  expect(metadata?.finalizers).toEqual(['vps-operator.dev/virtualserver']);
  expect(metadata?.annotations?.[RECORD_ANNOTATION]).toContain('"identifier"');
  expect(await ownedFields(kubectl)).toEqual([
    'metadata/annotations/vps-operator.dev/record',
    'metadata/finalizers/"vps-operator.dev/virtualserver"',
    'status:status',
  ]);
  await world.visited(NAME);
  await settled();

  await kubectl('delete', OBJECT, '--timeout=60s');
  expect(world.simulator.aliveServers()).toEqual([]);
  expect(world.simulator.ledger.creates()).toHaveLength(1);
}
