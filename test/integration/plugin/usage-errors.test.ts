/** Mistakes in the arguments of a command: each names the flag, and exits with 2, so that a script can tell them from failures. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EXIT } from '../../../src/plugin/terminal/failure.ts';
import { SSH_KEY, virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

const NEW = ['new', 'x', '--product=VPSX4', '--image=i', '--disk-size=1', `--ssh-key=${SSH_KEY}`];

/** The call, and the flag that its error names. */
const MISTAKES: (readonly [flag: string, ...call: string[]])[] = [
  ['--selector', 'list', '-l', 'a=b=c'],
  ['--selector', 'pause', '-l', 'a=b=c'],
  ['--selector', 'ssh-config', '-l', 'a=b=c'],
  ['--selector', 'inventory', '-l', 'a=b=c'],
  ['--selector', 'adopt', '--from-record', '-l', 'a=b=c', '--yes'],
  ['--selector', 'plan', '--prune', '-l', 'a=b=c', '-f', 'FILE'],
  ['--selector', 'plan', '-l', 'a=b=c', '-f', 'FILE'],
  ['--selector', 'plan', '-l', '', '-f', 'FILE'],
  ['--prune', 'plan', '--prune', '-f', 'FILE'],
  ...['list', 'stop', 'protect', 'ssh-config', 'inventory'].map(
    (command) => ['--selector', command, '-l', ''] as const,
  ),
  ['--selector', 'plan', '--prune', '-l', ' ', '-f', 'FILE'],
  ['--sort', 'list', '--sort', 'size'],
  ['--output', 'list', '-o', 'xml'],
  ['--output', 'list', '-o', 'custom-columns=A'],
  ['--output', 'status', '-o', 'xml'],
  ['--filename', 'plan', '-f', '/nosuch'],
  ['--filename', 'plan', '-f', 'EMPTY'],
  ['--filename', 'plan'],
  ['--filename', 'plan', 'shop.yaml'],
  ['--output', 'plan', '-f', 'FILE', '-o', 'xml'],
  ['--nosuch', 'plan', '--nosuch'],
  ['--filename', 'adopt', '-f', '/nosuch'],
  ['--filename', 'start-over', '-f', '/nosuch'],
  ['--filename', 'replace', 'web', '-f', '/nosuch', '--yes'],
  ['--filename', 'replace', 'web', '-f', 'WRONG', '--yes'],
  ['--filename', 'adopt', '--from-record', '--all', '-f', '/nosuch'],
  ['--expires-at', 'extend', 'web', '--expires-at', 'tomorrow'],
  ['--ttl', 'extend', 'web', '--ttl', 'soon'],
  ['--ttl', 'extend', 'web', '--ttl', '0s'],
  ['--expires-at', ...NEW, '--expires-at', 'tomorrow'],
  ['--ttl', ...NEW, '--ttl', 'soon'],
  ['--deletion-delay', ...NEW, '--deletion-delay', 'soon'],
  ['--ttl', ...NEW, '--ttl', '1h', '--expires-at', '2099-01-01T00:00:00Z'],
  ['--image', ...NEW, '--image', ''],
  ['--disk-size', ...NEW, '--disk-size', 'big'],
  ['--ssh-key', ...NEW, '--ssh-key', '/nosuch'],
  ['--ssh-key', ...NEW, '--ssh-key', 'ssh-ed25519 AAAA'],
  ['--ssh-key-from', ...NEW, '--ssh-key-from', 'keys'],
  ['--ssh-key-from', ...NEW, '--ssh-key-from', 'UP/key'],
  ['--secret', ...NEW, '--secret', 'UP'],
  ['--connection-secret', ...NEW, '--connection-secret', 'UP'],
  ['--ssh-check', ...NEW, '--ssh-check', 'Here'],
  ['--label', ...NEW, '--label', 'team'],
  ['--label', ...NEW, '--label', 'a=b=c'],
  ['--retain', ...NEW, '--deletion-policy', 'Keep'],
  ['--secret', 'replace', 'web', '--api-key-secret-ref', 'key'],
  ['--annotation', ...NEW, '--annotation', 'team'],
  ['--adopt', ...NEW, '--adopt', 'a b'],
  ['--set', ...NEW, '--replicas', '3'],
  ['--replicas', ...NEW, '--set', '--replicas', 'many'],
  ['--max-surge', ...NEW, '--set', '--max-surge', '200%'],
  ['--max-unavailable', ...NEW, '--set', '--max-unavailable', 'x'],
  ['--min-ready-seconds', ...NEW, '--set', '--min-ready-seconds', 'x'],
  ['--strategy', ...NEW, '--set', '--strategy', 'x'],
  ['--scale-down-order', ...NEW, '--set', '--scale-down-order', 'x'],
  ['--name', 'replace', 'web', '--name', 'UP', '--yes'],
  ['--name', 'undelete', 'web', '--name', 'UP'],
  ['--adopt', 'resolve', 'web', '--adopt', 'a b'],
  ['--not-created', 'resolve', 'web', '--not-created', '--gone'],
  ['--for', 'wait', 'web', '--for', 'lunch'],
  ['--timeout', 'wait', 'web', '--timeout', 'soon'],
  ['--timeout', 'rollout', 'status', 'web', '--timeout', 'soon'],
  ['--watch', 'rollout', 'status', 'web', '--watch=maybe'],
  ['--to-revision', 'rollout', 'undo', 'web', '--to-revision'],
  ['--since', 'logs', 'web', '--since', 'today'],
  ['--tail', 'logs', 'web', '--tail', 'all'],
  ['--operator-namespace', 'logs', 'web', '--operator-namespace', 'UP'],
  ['--operator-namespace', 'doctor', '--operator-namespace', 'UP'],
  ['--secret', 'login', '--secret', 'UP'],
  ['--secret', 'logout', '--secret', 'UP'],
  ['--timeout', 'login', '--timeout', 'soon'],
  ['--suffix', 'ssh-config', '--suffix', 'a b'],
  ['--host', 'inventory', '--list', '--host', 'web.x'],
  ['--known-hosts', 'ssh-config', '--known-hosts', 'BELOW'],
  ['--known-hosts', 'inventory', '--known-hosts', 'BELOW'],
  ['--secret', 'catalog', '--secret', 'UP'],
  ['--ttl', 'extend', 'web'],
  ['--expires-at', 'extend', 'web', '--ttl', '1h', '--expires-at', '2099-01-01T00:00:00Z'],
  ['--selector', 'pause'],
  ['--selector', 'pause', 'web', '-l', 'team=web'],
  ['--selector', 'list', '-l'],
  ['--selector', 'plan', '-f', 'FILE', '-l', 'a=b'],
  ['--follow', 'logs', 'web', '-f', '-p'],
  ['--watch', 'list', '--watch', '-o', 'json'],
  ['--watch', 'status', 'web', '--watch', '-o', 'json'],
  ['--open', 'console', 'web', '--open', '-o', 'json'],
  ['--apply', ...NEW, '--apply', '-o', 'json'],
  ['--from-record', 'adopt', '--all'],
  ['--dry-run', 'adopt', 'web', 'vs1', '--dry-run'],
  ['--all-namespaces', 'status', 'web', '-A'],
  ['--disk-size', 'replace', 'web', '--disk-size', '0', '--yes'],
  ['--yes', 'cancel', 'web'],
  ['--yes', 'replace', 'web'],
  ['--product', 'new', 'x'],
  ['--kubeconfig', 'list', '--kubeconfig', '/nosuch'],
  ['--context', 'list', '--context', 'nosuch'],
  ['--cluster', 'list', '--cluster', 'nosuch'],
  ['--user', 'list', '--user', 'nosuch'],
  ['--server', 'list', '--server', 'no url'],
  ['--certificate-authority', 'list', '--certificate-authority', '/nosuch'],
  ['--certificate-authority', 'list', '--certificate-authority', '/'],
  ['--client-certificate', 'list', '--client-certificate', '/nosuch', '--client-key', '/nosuch'],
  ['--as', 'list', '--as-group', 'team'],
  ['--namespace', 'list', '-n', 'UP'],
];

it('names the flag of each mistake, and exits with 2', async () => {
  const world = await createWorld({ operator: false });
  const plugin = await createPlugin(folder(), world.namespace);
  await world.create(virtualServer('web'));
  const [file, empty, bad] = ['web.yaml', 'empty.yaml', 'wrong.yaml'].map((name) => join(world.journalDir, name)) as [
    string,
    string,
    string,
  ];
  const files = new Map([
    ['FILE', file],
    ['EMPTY', empty],
    ['WRONG', bad],
    ['BELOW', join(file, 'known_hosts')],
  ]);
  await writeFile(file, JSON.stringify(virtualServer('web')));
  await writeFile(empty, '');
  await writeFile(bad, JSON.stringify(virtualServer('web2', withSpec({ ttl: 'soon' }))));
  const wrong: string[] = [];
  for (const [flag, ...call] of MISTAKES) {
    const words = call.map((word) => files.get(word) ?? word);
    const { code, stderr } = await plugin.kubectl(['vps', ...words]);
    const named = new RegExp(`${flag}(?![-a-z])`).test(stderr);
    if (code !== EXIT.usage || !named) wrong.push(`${words.join(' ')}: ${flag}, exit code ${code}: ${stderr}`);
  }
  expect(wrong).toEqual([]);
  // 2 then means that there is something to do.
  for (const call of [
    ['-f', '/nosuch'],
    ['-f', file, '-o', 'xml'],
  ]) {
    const { code } = await plugin.kubectl(['vps', 'plan', ...call, '--detailed-exitcode']);
    expect(code).toBe(EXIT.failed);
  }
});
