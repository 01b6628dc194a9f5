/** `kubectl vps logs`: lines of a real operator, which the API server reads from a stand-in for the kubelet. */
import { describe, expect, it } from 'vitest';
import { logText } from '../../../src/base/log-text.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { startKubelet } from '../support/kubelet.ts';
import { createPlugin, noTerminal, usePlugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { strangerIn } from '../support/service-account.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();
const STEP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (DEBUG )?\S+\/web(?:: sending the| is| has) /;

/** A world with two servers, whose operator's lines are in the logs of two pods, in turn. */
async function createLogged() {
  const world = await createWorld();
  await readyServer(world, 'web');
  await readyServer(world, 'web-2');
  await world.stopOperator();
  const kubelet = await startKubelet(world.http, world.namespace);
  const lines = [...world.log];
  // Lines of one time have an order only within a pod.
  const times = [...new Set(lines.map(({ time }) => time))];
  const isLeaders = ({ time }: { time?: unknown }): boolean => times.indexOf(time) % 2 === 0;
  await kubelet.addPod('leader', lines.filter(isLeaders));
  await kubelet.addPod(
    'standby',
    lines.filter((line) => !isLeaders(line)),
  );
  const plugin = await createPlugin(folder(), world.namespace);
  const run = (...words: string[]) =>
    plugin.kubectl(['vps', 'logs', `--operator-namespace=${world.namespace}`, ...words]);
  /** What the operator logged about the server, in its order. */
  const about = (name: string): string[] => lines.filter((line) => line['name'] === name).map(logText);
  return { world, kubelet, plugin, run, about };
}

describe('kubectl vps logs', () => {
  it('merges the lines of all pods about one object in order of time, as sentences', async () => {
    const { run, about } = await createLogged();
    const { code, stdout, stderr } = await run('web');
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual(about('web'));
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(line).toMatch(STEP);
    expect((await run('vps/web', '--tail=2')).stdout).toBe(`${about('web').slice(-2).join('\n')}\n`);
    expect((await run('web', '--tail=0')).stdout).toBe('');
    expect((await run('web', '--since=1h')).stdout).toBe(stdout);
  });

  it('shows the newest lines only, and says if there are none', async () => {
    const { world, kubelet, run } = await createLogged();
    const line = (name: string, time: number) => ({
      ...{ level: 'warn', time: new Date(time).toISOString(), namespace: world.namespace, name },
      ...{ msg: `connection Secret of ${name} not written` },
    });
    await kubelet.addPod('third', [line('db', Date.now() - 3_600_000), line('lab', Date.now())]);
    expect(await run('db', '--since=5m')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no VirtualServer "db"') as string,
    });
    expect((await run('db', '--since=2h')).stdout).toMatch(/Z WARN \S+\/db: connection Secret of db not written\n$/);
    await world.create(virtualServer('quiet'));
    expect(await run('quiet')).toEqual({ code: 0, stdout: '', stderr: 'the operator has no line about quiet\n' });
    expect((await run('set/web')).code).toBe(3);
  });

  it('shows a line about a set and its member for both, and skips what is not JSON', async () => {
    const { world, kubelet, run } = await createLogged();
    const acted = { level: 'info', time: new Date().toISOString(), set: `${world.namespace}/all`, member: 'all-0' };
    await kubelet.addPod('third', [{ ...acted, action: 'create', msg: 'set acted on a member' }]);
    kubelet.log('third', '(node:1) Warning: \u001b[31msomething about all-0');
    const said = new RegExp(
      `^\\S+Z set ${world.namespace}/all: set acted on a member \\(member all-0, action create\\)\n$`,
    );
    for (const name of ['set/all', 'all-0']) expect((await run(name)).stdout).toMatch(said);
  });

  it('shows the lines of a container before its restart', async () => {
    const { kubelet, run, about } = await createLogged();
    kubelet.restart('leader');
    kubelet.restart('standby');
    expect((await run('web')).stderr).toBe('the operator has no line about web\n');
    expect((await run('web', '--previous')).stdout).toBe(`${about('web').join('\n')}\n`);
    await kubelet.addPod('new');
    const partly = await run('web', '-p', '--tail=1');
    expect([partly.code, partly.stdout]).toEqual([0, `${about('web').at(-1)}\n`]);
    expect(partly.stderr).toMatch(/^the log of pod new is not shown: .*previous terminated container/);
    expect((await run('web', '--previous', '--follow')).code).toBe(2);
  });

  it('says how to find lines that the operator wrote as text', async () => {
    const { world, kubelet, plugin } = await createLogged();
    for (const pod of ['leader', 'standby']) await kubelet.removePod(pod);
    await kubelet.addPod('text');
    for (const line of world.log) kubelet.log('text', logText(line));
    const { code, stdout, stderr } = await plugin.kubectl([
      'vps',
      'logs',
      'web',
      `--operator-namespace=${world.namespace}`,
    ]);
    expect([code, stdout]).toEqual([0, '']);
    const [command = ''] = /^ {2}kubectl logs .*$/m.exec(stderr) ?? [];
    expect((await plugin.shell(command)).stdout).toContain(`${world.namespace}/web is Available after `);
  });

  it('follows the log, also when a container ends and a new pod starts', async () => {
    const { world, kubelet, plugin } = await createLogged();
    const said = async (): Promise<string> => (await plugin.shell('cat said 2>/dev/null || true')).stdout;
    const command = `kubectl vps logs web --follow --tail=1 --operator-namespace=${world.namespace}`;
    const running = plugin.shell(`${command} > said & echo $! > pid; wait`);
    const line = (msg: string) => ({
      level: 'info',
      time: new Date().toISOString(),
      namespace: world.namespace,
      name: 'web',
      msg,
    });
    await expect.poll(() => kubelet.followers('leader')).toBe(1);
    kubelet.log('leader', line('one'));
    await expect.poll(said).toMatch(/Z \S+\/web: one\n$/);
    kubelet.end('leader');
    await expect.poll(() => kubelet.followers('leader')).toBe(1);
    kubelet.log('leader', line('two'));
    // Two streams have no order between them.
    await expect.poll(said).toMatch(/: two\n$/);
    await kubelet.addPod('new');
    await expect.poll(() => kubelet.followers('new')).toBe(1);
    await kubelet.removePod('leader');
    kubelet.log('new', line('three'));
    await expect.poll(said).toContain('three');
    await plugin.shell('kill $(cat pid)');
    await running;
    // One line of before, and each new one once.
    expect((await said()).replaceAll(/^\S+ \S+\/web/gm, '')).toMatch(/^.*\n: one\n: two\n: three\n$/);
  });

  it('names the right that is missing, a namespace without an operator, and a log that cannot be read', async () => {
    const { world, kubelet, plugin, run } = await createLogged();
    expect(await plugin.kubectl(['vps', 'logs', 'web', '--operator-namespace=default'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /no pod of the operator in namespace "default"\n {2}kubectl get deployments .*-A -l/,
      ) as string,
    });
    const stranger = await createPlugin(folder(), world.namespace, await strangerIn(world));
    const refused = await stranger.kubectl(['vps', 'logs', 'web', `--operator-namespace=${world.namespace}`]);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(
      /cannot list resource "pods".*\n {2}an administrator can grant it: kubectl create role list-pods-of-\S+ --namespace=\S+ --verb=list --resource=pods && /,
    );
    // This control plane fills no view role: grant what the page lists.
    const rights = 'kubectl create role logs --verb=get,list --resource=pods,pods/log';
    const bind = `kubectl create rolebinding logs --role=logs --serviceaccount=${world.namespace}:stranger`;
    expect(
      (
        await plugin.shell(
          `${rights} && ${bind} && kubectl create rolebinding own --clusterrole=vps-operator-view --serviceaccount=${world.namespace}:stranger`,
        )
      ).code,
    ).toBe(0);
    const asked = () => stranger.kubectl(['vps', 'logs', 'web', `--operator-namespace=${world.namespace}`]);
    await world.until(async () => (await asked()).code === 0, 'the role to take effect');
    expect((await asked()).stdout).toBe((await run('web')).stdout);
    kubelet.breaks('standby');
    const partial = await run('web');
    expect(partial.code).toBe(0);
    expect(partial.stderr).toMatch(/^the log of pod standby is not shown: /);
    kubelet.breaks('leader');
    expect(await run('web')).toMatchObject({ code: 1, stdout: '' });
    expect((await run('web', '--tail=many')).code).toBe(2);
    expect((await run('web', '--since=yesterday')).code).toBe(2);
  });

  it.skipIf(noTerminal !== undefined)('has no colors in a pipe', async () => {
    const { world, plugin } = await createLogged();
    const { stdout } = await plugin.shell(`kubectl vps logs web --operator-namespace=${world.namespace} | cat`);
    expect(stdout).toMatch(STEP);
    expect(stdout).not.toContain('\u001b');
  });
});
