/** kubectl apply --prune under the guards: what it deletes and what it leaves, as documented in docs/how-to/gitops.md. */
import { afterEach, expect, it, vi } from 'vitest';
import { virtualServer, withSpec, type Manifest } from '../../fixtures/virtual-server.ts';
import { patch, useGuards } from '../support/guarded-objects.ts';
import { refusal, succeed } from '../support/guards.ts';
import { createWorld, type World } from '../support/world.ts';

const { guarded } = useGuards();

const SELECTED = ['--selector=set=a'];
const ALLOWED = [...SELECTED, '--prune-allowlist=vps-operator.dev/v1alpha1/VirtualServer'];
const APPLY_SET = ['--applyset=servers'];
afterEach(() => void vi.unstubAllEnvs());

const ALL = ['guarded', 'kept', 'plain', 'retained'];

function manifestsOf(names: string[]): object {
  const spec = {
    guarded: { deletionProtection: true },
    retained: { deletionPolicy: 'Retain' },
  } as Record<string, Partial<Manifest['spec']>>;
  const items = names.map((name) => {
    const { metadata, ...manifest } = virtualServer(name, withSpec(spec[name] ?? {}));
    return { ...manifest, metadata: { ...metadata, labels: { set: 'a' } } };
  });
  return { apiVersion: 'v1', kind: 'List', items };
}

const apply = ({ namespace }: World, ...flags: string[]): string[] => [
  'apply',
  '--filename=-',
  '--namespace',
  namespace,
  ...flags,
];

/** Applies all objects and waits for their servers; returns the identifier of each. */
async function appliedWorld(...flags: string[]): Promise<{ world: World; identifiers: Record<string, string> }> {
  const { operatorKubeconfigPath, kubeconfigPath, admin } = guarded;
  const world = await createWorld({ kubeconfigPath, operatorKubeconfigPath });
  await succeed(admin, apply(world, ...flags), manifestsOf(ALL));
  const identifiers: Record<string, string> = {};
  for (const name of ALL) {
    const { status } = await world.waitForReason(name, 'Available', 'Ready');
    identifiers[name] = status?.identifier ?? '';
  }
  return { world, identifiers };
}

const aliveIn = ({ simulator }: World): string[] =>
  simulator
    .aliveServers()
    .map(({ identifier }) => identifier)
    .toSorted();

it.for([
  ['without an allowlist', ['--prune', ...SELECTED], SELECTED],
  ['that were applied with --server-side', ['--server-side'], ALLOWED],
] as const)('leaves VirtualServers alone %s', async ([, applied, flags]) => {
  const { world, identifiers } = await appliedWorld(...applied);
  await succeed(guarded.admin, apply(world, '--prune', ...flags), manifestsOf(['kept']));
  for (const name of ALL) {
    const object = await world.get(name);
    expect([name, object?.metadata.deletionTimestamp]).toEqual([name, undefined]);
    expect(object?.status?.identifier).toBe(identifiers[name]);
  }
  await unprotect(world);
});

it.for([
  ['an allowlist', ALLOWED],
  ['an ApplySet', APPLY_SET],
] as const)(
  'stops at a protected server with %s, and deletes the rest once protection is lifted',
  async ([, flags]) => {
    vi.stubEnv('KUBECTL_APPLYSET', 'true');
    const prunes = ['--prune', ...flags];
    const { world, identifiers } = await appliedWorld(...prunes);
    const prune = apply(world, ...prunes);
    expect(await refusal(guarded.admin, prune, manifestsOf(['kept']))).toContain('spec.deletionProtection is true');
    expect((await world.get('guarded'))?.metadata.deletionTimestamp).toBeUndefined();
    expect(aliveIn(world)).toContain(identifiers.guarded);

    await unprotect(world);
    await succeed(guarded.admin, prune, manifestsOf(['kept']));
    for (const name of ['guarded', 'plain', 'retained']) await world.waitGone(name);
    expect(aliveIn(world)).toEqual([identifiers.kept, identifiers.retained].toSorted());
    expect((await world.get('kept'))?.metadata.deletionTimestamp).toBeUndefined();
  },
);

async function unprotect({ namespace }: World): Promise<void> {
  const lift = patch('guarded', { spec: { deletionProtection: false } }, '--namespace', namespace);
  await succeed(guarded.editor, lift);
}
