/** What plain ssh and Ansible are told about servers: nothing that a name, a label or the provider could turn into an option. */
import { describe, expect, it } from 'vitest';
import type { VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import { SET_KIND } from '../../../src/api/names.ts';
import { sshArguments, sshDestination } from '../../../src/plugin/flags/ssh-arguments.ts';
import {
  checkSuffix,
  hostVariables,
  inventory,
  knownHostsText,
  sshConfig,
  sshHosts,
} from '../../../src/plugin/decisions/ssh-hosts.ts';
import { HOST_KEY, OTHER_HOST_KEY } from '../../fixtures/decision.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const FILE = '/home/me/.ssh/vps-operator/known_hosts';
const pinned = [{ ...HOST_KEY, firstSeen: '2026-01-01T00:00:00Z' }];
const STATUS: VirtualServerStatus = {
  identifier: 'vs1',
  sshProxy: { hostname: 'proxy.example.com', port: 20001 },
  ipv6: ['2001:db8::1'],
  sshHostKeys: pinned,
};
const OTHER: VirtualServerStatus = { ...STATUS, identifier: 'vs2' };
const server = (
  name: string,
  status: VirtualServerStatus = STATUS,
  metadata: { labels?: Record<string, string>; namespace?: string; ownerReferences?: object[] } = {},
) => stored(name, storedWith({ metadata: metadata as never, status }));
const hostsOf = (...objects: ReturnType<typeof server>[]) => sshHosts(objects, false).hosts;

describe('ssh with known host keys', () => {
  it('accepts no other key, whatever the user or a configuration says', () => {
    const target = sshDestination(server('web'), false, '');
    expect(target.knownHosts).toEqual([`vps-vs1 ssh-ed25519 ${HOST_KEY.key}`]);
    const words = sshArguments(target, ['-o', 'StrictHostKeyChecking=no'], ['id'], '/tmp/x y/known_hosts');
    const strict = words.indexOf('StrictHostKeyChecking=yes');
    expect(strict).toBeGreaterThan(0);
    expect(strict).toBeLessThan(words.indexOf('StrictHostKeyChecking=no'));
    expect(words).toContain('UserKnownHostsFile="/tmp/x y/known_hosts"');
    expect(words).toContain('UpdateHostKeys=no');
    expect(words).toContain('KnownHostsCommand=none');
    expect(words).toContain('ControlPath=none');
  });

  it('is given no line that is not a key', () => {
    const evil = [
      { ...pinned[0], type: 'ssh-rsa AAAA\n*' },
      { ...pinned[0], key: 'AAAA\n* ssh-rsa BBBB' },
      { ...pinned[0], type: 7 },
    ] as never;
    expect(sshDestination(server('web', { ...STATUS, sshHostKeys: evil }), false, '').knownHosts).toEqual([]);
  });
});

describe('the ssh configuration', () => {
  it('has an entry for each server, strict where a key is known', () => {
    const { sshHostKeys: _none, ...unknown } = STATUS;
    expect(sshConfig(hostsOf(server('web'), server('db', { ...unknown, identifier: 'vs2' })), FILE)).toBe(`\
# Written by kubectl vps ssh-config, which replaces it.

Host db.default
  # No host key is known: your own known_hosts decides.
  HostName proxy.example.com
  Port 20001
  User root
  HostKeyAlias vps-vs2
  CheckHostIP no

Host web.default
  HostName proxy.example.com
  Port 20001
  User root
  HostKeyAlias vps-vs1
  CheckHostIP no
  UserKnownHostsFile "${FILE}"
  GlobalKnownHostsFile /dev/null
  IgnoreUnknown KnownHostsCommand
  KnownHostsCommand none
  StrictHostKeyChecking yes
  UpdateHostKeys no
  VerifyHostKeyDNS no
`);
  });

  it.each([
    ['a name with a pattern', server('*')],
    ['a name with a line break', server('web\n  ProxyCommand reboot')],
    ['a name that begins with a dash', server('-oProxyCommand=reboot')],
    [
      'a host name with a line break',
      server('web', { ...STATUS, sshProxy: { hostname: 'a\nProxyCommand x', port: 1 } }),
    ],
    ['a host name with a quote', server('web', { ...STATUS, sshProxy: { hostname: 'a"b', port: 1 } })],
    ['a host name with a token', server('web', { ...STATUS, sshProxy: { hostname: '%d', port: 1 } })],
    ['no server', server('web', {})],
    ['no way to it', server('web', { identifier: 'vs1' })],
  ])('leaves out %s, and reports it', (_what, object) => {
    const { hosts, notes } = sshHosts([object], false);
    expect(hosts).toEqual([]);
    expect(notes).toEqual([expect.stringContaining('is left out') as string]);
  });

  it.each([
    ['fe80::1%lo', 'only known on one machine, as its zone says'],
    ['2001:db8::1%eth0', 'only known on one machine, as its zone says'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:10.0.0.1', 'private'],
    ['fd00:ec2::254', 'private'],
    ['ff02::1', 'multicast'],
    ['2002:0a00:0001::1', 'private'],
    ['%h', 'no address'],
    ['2001:db8::1\n  ProxyCommand reboot', 'no address'],
  ])('has no entry with --direct for the address %j, and tells why in a comment', (address, why) => {
    const { hosts, notes } = sshHosts([server('web', { ...STATUS, ipv6: [address] })], true);
    expect(hosts).toEqual([]);
    expect(notes).toEqual([`web.default is left out: its address ${JSON.stringify(address)} is ${why}`]);
    const lines = sshConfig(hosts, FILE, notes).split('\n');
    expect(lines).toContain(`# ${notes[0]}`);
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
  });

  it('names the first address that leads to one host', () => {
    const ipv6 = ['fe80::1%lo', '::', '2001:db8::2', '2001:db8::3'];
    const { hosts } = sshHosts([server('web', { ...STATUS, ipv6 })], true);
    expect(sshConfig(hosts, FILE)).toContain('\n  HostName 2001:db8::2\n');
  });

  it('leaves out servers of one identifier, which would share their host keys', () => {
    const other = { ...STATUS, sshHostKeys: [{ ...OTHER_HOST_KEY, firstSeen: '2026-01-01T00:00:00Z' }] };
    const unlike = server('c', { ...STATUS, identifier: 'vs2' });
    const { hosts, notes } = sshHosts([server('a'), server('b', other), unlike], false);
    expect(hosts.map(({ name }) => name)).toEqual(['c.default']);
    expect(notes).toEqual([
      'a.default and b.default are left out: they name the same server, and only one can be right',
    ]);
  });

  it('has no name that could be a host of the Internet, unless a suffix ends all names', () => {
    const dotted = server('git.example', STATUS, { namespace: 'dev' });
    expect(sshHosts([dotted], false).hosts).toEqual([]);
    expect(sshHosts([dotted], false).notes).toEqual([
      'git.example.dev is left out: it could be another host. Pass --suffix .vps to include it',
    ]);
    const { hosts, notes } = sshHosts([dotted, server('web', OTHER)], false, '.vps');
    expect(hosts.map(({ name }) => name)).toEqual(['git.example.dev.vps', 'web.default.vps']);
    expect(notes).toEqual([]);
    expect(sshConfig(hosts, FILE)).toContain('Host web.default.vps\n');
  });

  it.each(['vps', '.', '.VPS', '.vps ', '.a\nProxyCommand x', '.*', '.-a', '.a-'])(
    'refuses the suffix %j',
    (suffix) => {
      expect(() => checkSuffix(suffix)).toThrow('must be a dot and a host name');
    },
  );

  it('cannot be broken by an identifier', () => {
    const text = sshConfig(hostsOf(server('web', { ...STATUS, identifier: 'a\n  ProxyCommand reboot' })), FILE);
    expect(text).not.toContain('ProxyCommand');
  });

  it.each(['/a"b', "/a'b", '/a\nb', '/a${HOME}', '/a\\b', '/a{{b}}'])('refuses %j as a known_hosts file', (file) => {
    expect(() => sshConfig(hostsOf(server('web')), file)).toThrow('cannot be a known_hosts file');
  });
});

describe('the known_hosts file', () => {
  it('keeps the lines of others, and replaces those of the hosts', () => {
    const before = `vps-vs1 ssh-ed25519 ${OTHER_HOST_KEY.key}\nvps-vs9 ssh-ed25519 AAAA\ngithub.com ssh-rsa AAAA\n`;
    expect(knownHostsText(before, hostsOf(server('web')))).toBe(
      `vps-vs9 ssh-ed25519 AAAA\ngithub.com ssh-rsa AAAA\nvps-vs1 ssh-ed25519 ${HOST_KEY.key}\n`,
    );
    const { sshHostKeys: _none, ...unknown } = STATUS;
    expect(knownHostsText(before, hostsOf(server('web', unknown)))).not.toContain('vps-vs1 ');
  });
});

describe('the inventory', () => {
  it('has the strict options for each host, and groups by namespace, set and label', () => {
    const ownerReferences = [{ apiVersion: 'x', kind: SET_KIND, name: 'web', uid: 'u', controller: true }];
    const found = inventory(
      hostsOf(
        server('web-0', STATUS, { labels: { 'app.kubernetes.io/name': 'web' }, ownerReferences }),
        server('db', OTHER),
      ),
      FILE,
    );
    expect(found.notes).toEqual([]);
    expect(found.inventory).toMatchObject({
      namespace_default: { hosts: ['db.default', 'web-0.default'] },
      set_default_web: { hosts: ['web-0.default'] },
      label_app_kubernetes_io_name_web: { hosts: ['web-0.default'] },
      vps: { hosts: ['db.default', 'web-0.default'] },
    });
    const variables = found.inventory._meta.hostvars['web-0.default'];
    expect(variables).toMatchObject({
      ansible_host: 'proxy.example.com',
      ansible_port: 20001,
      ansible_user: 'root',
      ansible_ssh_host_key_checking: true,
    });
    expect(variables?.ansible_ssh_common_args).toContain(`-o 'UserKnownHostsFile="${FILE}"' `);
    expect(variables?.ansible_ssh_common_args).toContain(`-o 'StrictHostKeyChecking=yes'`);
  });

  it('leaves out a group that two labels would share', () => {
    const found = inventory(
      hostsOf(server('a', STATUS, { labels: { 'x.y': 'z' } }), server('b', OTHER, { labels: { x: 'y_z' } })),
      FILE,
    );
    expect(found.inventory).not.toHaveProperty('label_x_y_z');
    expect(found.notes).toEqual([expect.stringContaining('label x.y z and label x y_z') as string]);
  });

  it('has no text that Ansible runs', () => {
    const labels = { role: "{{ lookup('pipe', 'reboot') }}", 'a\nb': 'c', fine: 'yes' };
    const [host] = hostsOf(server('web', { ...STATUS, identifier: '{{ 1 }}' }, { labels }));
    const text = JSON.stringify(host && hostVariables(host, FILE));
    expect(text).not.toMatch(/[{][{%#]/);
    expect(text).toContain('"vps_labels":{"fine":"yes"}');
  });
});
