/** `kubectl vps doctor`: what it says about a cluster where all is well, and about everything that may be wrong. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OPERATOR_LEASE, VERSION_ANNOTATION } from '../../../src/api/names.ts';
import type { CheckFinding } from '../../../src/plugin/checks/checkup.ts';
import { startEmptyCluster } from '../deploy/cluster.ts';
import { lostOrder } from '../support/creates.ts';
import { useGuards } from '../support/guarded-objects.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { strangerIn } from '../support/service-account.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
const { guarded } = useGuards();

const electing = (world: World): string[] => ['--leader-elect', `--operator-namespace=${world.namespace}`];

/** A world under the guards, whose operator holds a Lease in the same namespace. */
async function installed(): Promise<{
  world: World;
  plugin: Plugin;
  doctor: (...words: string[]) => ReturnType<Plugin['kubectl']>;
}> {
  const { kubeconfigPath } = guarded;
  const world = await createWorld({ kubeconfigPath, operator: false });
  await world.startOperator({ flags: electing(world) });
  const plugin = await createPlugin(folder(), world.namespace, kubeconfigPath);
  const doctor = (...words: string[]) =>
    plugin.kubectl(['vps', 'doctor', `--operator-namespace=${world.namespace}`, ...words]);
  return { world, plugin, doctor };
}

const login = (world: World, plugin: Plugin) =>
  plugin.shell(`printf '%s\\n' '${world.simulator.keyId}' '${world.simulator.secret}' | kubectl vps login --yes`);

describe('kubectl vps doctor', () => {
  it('finds nothing wrong with a whole installation', async () => {
    const { world, plugin, doctor } = await installed();
    expect((await login(world, plugin)).code).toBe(0);
    await readyServer(world, 'web');
    const { code, stdout, stderr } = await doctor();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
      `✓ plugin          version development, namespace ${world.namespace}`,
      expect.stringMatching(/^✓ API server {6}Kubernetes v1\.\d+\.\d+ answers$/),
      "✓ clock           this computer's clock agrees with the API server's",
      '✓ CRDs            installed, without a label that tells their version',
      expect.stringMatching(/^✓ operator {8}\S+ is alive, version development$/),
      '✓ guards          all 10 policies are installed',
      '✓ ordered fields  the policy is installed',
      expect.stringMatching(
        /^✓ rights {10}you may read servers; read sets and catalogs; .*; read the operator's log \(logs\)$/,
      ),
      '✓ key             Secret vps-api-key exists',
      '✓ provider        vps-api-key (Secret vps-api-key): login works',
      expect.stringMatching(
        /^✓ {17}vps-api-key: \d+ products \(array\), \d+ images \(array\), \d+ disk sizes; an order names one of each$/,
      ),
      '✓                 vps-api-key: the provider has no list of servers; a server counts as gone after several denials',
      '✓                 vps-api-key: orders go without an identifier; an order without an answer needs you',
      '✓ objects         1 server, 0 sets; none needs you',
      '',
    ]);
    expect(stdout).not.toContain(world.simulator.secret);
    const json = await doctor('-o', 'json');
    const { findings } = JSON.parse(json.stdout) as { findings: CheckFinding[] };
    expect([json.code, findings.map(({ state }) => state)]).toEqual([0, Array(14).fill('ok')]);
  });

  it('lists what needs you, with the commands', async () => {
    const { world, plugin, doctor } = await installed();
    await plugin.shell("printf 'wrong\\nwrong\\n' | kubectl vps login --yes --skip-check --secret other");
    await lostOrder(world, 'web', false);
    await world.http.call({ method: 'DELETE', path: `/api/v1/namespaces/${world.namespace}/secrets/vps-api-key` });
    const { code, stdout, stderr } = await doctor();
    expect([code, stderr]).toEqual([1, 'kubectl vps: 3 checks failed\n']);
    expect(stdout).toMatch(/^✗ +there is no Secret vps-api-key, which 1 server uses: .*\n +kubectl vps login$/m);
    expect(stdout).toMatch(
      /^✗ provider +other \(Secret other\) InvalidCredentials: .*\n +kubectl vps login --secret other {3}# stores a key$/m,
    );
    expect(stdout).toMatch(
      /^✗ objects +1 server, 0 sets; 1 need you: web \(CreateOutcomeUnknown\)\n +kubectl vps status web$/m,
    );
  });

  it('tells a dead operator from one that lives, and one that stopped', async () => {
    const { world, doctor } = await installed();
    const path = `/apis/coordination.k8s.io/v1/namespaces/${world.namespace}/leases/${OPERATOR_LEASE}`;
    const lease = (await world.http.call({ path })) as { metadata: { annotations?: Record<string, string> } };
    expect(lease.metadata.annotations).toEqual({ [VERSION_ANNOTATION]: 'development' });
    await world.stopOperator();
    expect((await doctor()).stdout).toMatch(
      /^✗ operator +no operator runs: the last one stopped \d+s ago\n +kubectl get pods .*-l app/m,
    );
    const renewTime = '2026-01-01T00:00:00.000000Z';
    const patch = { method: 'PATCH', path, contentType: 'application/merge-patch+json' } as const;
    const hold = (more: object) =>
      world.http.call({
        ...patch,
        body: { spec: { holderIdentity: 'pod-1_x', leaseDurationSeconds: 15, renewTime, ...more } },
      });
    await hold({});
    expect((await doctor()).stdout).toMatch(/^✗ operator +pod-1 last renewed its Lease \d+d ago$/m);
    // A live operator whose clock is wrong.
    let round = 0;
    const stopping = new AbortController();
    const renewing = (async () => {
      while (!stopping.signal.aborted) {
        await hold({ renewTime: `2026-01-01T00:00:00.${String((round += 1)).padStart(6, '0')}Z` });
        await sleep(200);
      }
    })();
    const { stdout } = await doctor();
    stopping.abort();
    await renewing;
    expect(stdout).toMatch(/^✓ operator +pod-1 is alive/m);
  });

  it('lists what a user without rights cannot see, and which right is missing', async () => {
    const world = await createWorld({ operator: false });
    const stranger = await createPlugin(folder(), world.namespace, await strangerIn(world));
    const { code, stdout, stderr } = await stranger.kubectl([
      'vps',
      'doctor',
      `--operator-namespace=${world.namespace}`,
    ]);
    expect([code, stderr]).toEqual([1, 'kubectl vps: one check failed\n']);
    expect(stdout).toMatch(/^✓ CRDs +installed; you may not read their version$/m);
    expect(stdout).toMatch(
      /^– operator +cannot be seen: .*cannot get resource "leases".*\n +an administrator can grant it: kubectl create role get-leases-\S+-of-stranger .* --resource=leases.coordination.k8s.io --resource-name=\S+ && kubectl create rolebinding get-leases-\S+-of-stranger /m,
    );
    expect(stdout).toMatch(
      /^– guards +cannot be seen: .*validatingadmissionpolic.*\n.* clusterrole list-validatingadmissionpolic/m,
    );
    expect(stdout).toMatch(/^✗ rights +you may not read servers; missing: get virtualservers, list virtualservers$/m);
    expect(stdout).toMatch(
      /^– +you may not order and replace servers \(new --apply, replace\); missing: create virtualservers, create virtualserversets, delete virtualservers$/m,
    );
    expect(stdout).toMatch(
      /^– +you may not read the operator's log \(logs\); missing: list pods in \S+, get pods\/log in \S+$/m,
    );
    expect(stdout).toMatch(/^– objects +cannot be seen: .*virtualservers/m);
    expect(stdout).not.toMatch(/vps-operator-edit|clusterrole=edit/);
    // An administrator pastes what is printed for the rights; then nothing is missing.
    const plugin = await createPlugin(folder(), world.namespace);
    const grants = [...stdout.matchAll(/grant it: (kubectl create role (?:read|change|order|store)-.*)$/gm)];
    expect(grants.length).toBe(7);
    for (const [, grant = ''] of grants) expect((await plugin.shell(grant)).stderr).toBe('');
    const rights = async (): Promise<string> => {
      const again = await stranger.kubectl(['vps', 'doctor', `--operator-namespace=${world.namespace}`]);
      return again.stdout.split('\n').find((line) => / rights /.test(line)) ?? '';
    };
    await world.until(async () => (await rights()).includes("read the operator's log"), 'the roles to take effect');
    expect(await rights()).toContain('store and delete keys');
    const role = await plugin.kubectl(['get', 'role', 'store-keys-of-stranger', '-o', 'jsonpath={.rules}']);
    expect(JSON.parse(role.stdout)).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['vps-api-key'], verbs: ['get', 'patch'] },
    ]);
  });

  it('works without operator and guards, without CRDs, and without an API server', async () => {
    // Before a plugin changes $HOME, which tells where the programs of a control plane are.
    const empty = await startEmptyCluster();
    onTestFinished(() => empty.stop());
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const bare = await plugin.kubectl(['vps', 'doctor', `--operator-namespace=${world.namespace}`]);
    expect([bare.code, bare.stderr]).toEqual([1, 'kubectl vps: 2 checks failed\n']);
    expect(bare.stdout).toMatch(
      /^✗ operator +there is no Lease vps-operator in namespace \S+\n +kubectl get deployments /m,
    );
    expect(bare.stdout).toMatch(
      /^✗ guards +none is installed\n +kubectl apply --server-side -f deploy\/guards.yaml {3}# for an operator as in deploy\/install.yaml; others: docs\/reference\/guards.md$/m,
    );
    expect(bare.stdout).toMatch(/^✓ ordered fields /m);
    expect(bare.stdout).toMatch(
      /^– provider +no ServerCatalog .* vps-api-key\n +printf %s '.*' \| kubectl apply -f -$/m,
    );

    const there = `--kubeconfig=${empty.controlPlane.kubeconfigPath}`;
    const none = await plugin.kubectl(['vps', 'doctor', there]);
    expect(none.code).toBe(1);
    expect(none.stdout).toMatch(
      /^✗ CRDs +virtualservers, virtualserversets, servercatalogs of .* are not installed\n +kubectl apply --kubeconfig=\S+ --server-side -k deploy\/crds$/m,
    );
    expect(none.stdout).toMatch(/^– objects +cannot be seen: the CustomResourceDefinition/m);
    await empty.controlPlane.killApiServer();
    const away = await plugin.kubectl(['vps', 'doctor', there]);
    expect([away.code, away.stdout]).toEqual([
      1,
      expect.stringMatching(/^✓ plugin .*\n✗ API server +cannot reach the API server: .*ECONNREFUSED.*\n$/),
    ]);
    expect(await plugin.kubectl(['vps', 'list', there])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^kubectl vps: cannot reach the API server: connect ECONNREFUSED \S+\n$/) as string,
    });
  });
});
