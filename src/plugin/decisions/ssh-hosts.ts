/** Servers as hosts of other programs: entries of an ssh configuration, an Ansible inventory, and their host keys. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { SET_KIND } from '../../api/names.ts';
import { notPublic } from '../../base/ip-address.ts';
import { SSH_USER } from '../../virtual-server/decision/server-status.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { endOfObject } from '../state/let-go.ts';
import { clean } from '../terminal/terminal.ts';
import { quotedPath, sshDestination, strictOptions, type SshDestination } from '../flags/ssh-arguments.ts';

export interface SshHost {
  /** Such as `web.default`, with the suffix: what you type after `ssh`. */
  name: string;
  object: VirtualServer;
  target: SshDestination;
}

/** What the API server accepts as a name; checked again, because ssh reads patterns and options. */
const NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

const SUFFIX = /^\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/** Throws CommandError for a suffix that is no end of a host name. */
export function checkSuffix(suffix: string): void {
  if (suffix !== '' && !SUFFIX.test(suffix))
    throw new CommandError(
      EXIT.usage,
      `--suffix ${JSON.stringify(suffix)} must be a dot and a host name, such as .vps`,
    );
}

/**
 * The servers that can be reached, in the order of their names; and why the others cannot. Without a suffix, a name with a dot
 * is left out: who may create VirtualServers could choose a host of the Internet, such as `git.example` in the namespace `dev`.
 */
export function sshHosts(
  objects: readonly VirtualServer[],
  direct: boolean,
  suffix = '',
): { hosts: SshHost[]; notes: string[] } {
  const hosts: SshHost[] = [];
  const notes: string[] = [];
  for (const object of objects) {
    const name = `${object.metadata.name}.${object.metadata.namespace}${suffix}`;
    const end = endOfObject(object);
    try {
      if (!NAME.test(name)) notes.push(`${JSON.stringify(name)} is left out: it is no host name`);
      else if (end?.mayExist === false) notes.push(`${name} is left out: ${end.message}`);
      else if (suffix === '' && object.metadata.name.includes('.'))
        notes.push(`${name} is left out: it could be another host. Pass --suffix .vps to include it`);
      else hosts.push({ name, object, target: sshDestination(direct ? publicOnly(object) : object, direct, '') });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      notes.push(`${name} is left out: ${error.message}`);
    }
  }
  const sharers = Map.groupBy(hosts, ({ target }) => target.hostKeyAlias);
  const shared = [...sharers.values()].filter(({ length }) => length > 1);
  for (const names of shared.map((group) => group.map(({ name }) => name)))
    notes.push(`${names.join(' and ')} are left out: they name the same server, and only one can be right`);
  const own = hosts.filter(({ target }) => sharers.get(target.hostKeyAlias)?.length === 1);
  return { hosts: own.toSorted((a, b) => (a.name < b.name ? -1 : 1)), notes };
}

/**
 * With those of its IPv6 addresses that lead to one host from everywhere. The others would lead to this machine, or to another
 * one in each network, and ssh reads a zone such as %eth0 as a token. Throws CommandError if none is left.
 */
function publicOnly(object: VirtualServer): VirtualServer {
  const { ipv6 = [] } = object.status ?? {};
  const left = ipv6.filter((address) => notPublic(address) === undefined);
  const [first] = ipv6;
  if (left.length === 0 && first !== undefined)
    throw new CommandError(EXIT.failed, `its address ${JSON.stringify(first)} is ${notPublic(first)}`);
  return { ...object, status: { ...object.status, ipv6: left } };
}

/** The options of ssh for one host, as names and values of its configuration. */
function optionsOf({ target: { host, port, hostKeyAlias, knownHosts } }: SshHost, file: string): [string, string][] {
  return [
    ['HostName', host],
    ...(port === undefined ? [] : [['Port', String(port)] satisfies [string, string]]),
    ['User', SSH_USER],
    ['HostKeyAlias', hostKeyAlias],
    ['CheckHostIP', 'no'],
    ...(knownHosts.length === 0 ? [] : strictOptions(quotedPath(file))),
  ];
}

/**
 * An ssh configuration, with the notes of `sshHosts` as comments; `file`: the known_hosts file with `knownHostsText`. Throws
 * CommandError for a path that ssh cannot read.
 */
export function sshConfig(hosts: readonly SshHost[], file: string, notes: readonly string[] = []): string {
  const entries = hosts.map((host) => {
    const unknown =
      host.target.knownHosts.length === 0 ? ['  # No host key is known: your own known_hosts decides.'] : [];
    return [`Host ${host.name}`, ...unknown, ...optionsOf(host, file).map(([name, value]) => `  ${name} ${value}`)];
  });
  return [
    '# Written by kubectl vps ssh-config, which replaces it.',
    ...notes.map((note) => `# ${clean(note)}`),
    ...entries.flatMap((entry) => ['', ...entry]),
    '',
  ].join('\n');
}

/** The known_hosts file with the lines of these hosts in place of earlier ones; all other lines stay. */
export function knownHostsText(before: string, hosts: readonly SshHost[]): string {
  const own = new Set(hosts.map(({ target }) => target.hostKeyAlias));
  const others = before.split('\n').filter((line) => line !== '' && !own.has(line.split(' ')[0] ?? ''));
  const lines = [...others, ...hosts.flatMap(({ target }) => target.knownHosts)];
  return lines.map((line) => `${line}\n`).join('');
}

type Variables = Record<string, string | number | boolean | Record<string, string>>;

/** What Ansible knows of a host. Every value is checked text: Ansible runs templates that it finds in an inventory. */
export function hostVariables(host: SshHost, file: string): Variables {
  const { target, object } = host;
  const { name, namespace, labels = {} } = object.metadata;
  const isPlain = (entry: [string, string]): boolean => entry.every((text) => /^[A-Za-z0-9./_-]*$/.test(text));
  const options = optionsOf(host, file).filter(([option]) => !['HostName', 'Port', 'User'].includes(option));
  return {
    ansible_host: target.host,
    ...(target.port !== undefined && { ansible_port: target.port }),
    ansible_user: SSH_USER,
    // Ansible splits them as a shell does.
    ansible_ssh_common_args: options.map(([option, value]) => `-o '${option}=${value}'`).join(' '),
    // ansible.cfg may turn the check off for all hosts.
    ...(target.knownHosts.length > 0 && { ansible_ssh_host_key_checking: true }),
    vps_name: name,
    vps_namespace: namespace,
    vps_labels: Object.fromEntries(Object.entries(labels).filter(isPlain)),
  };
}

export interface Inventory {
  _meta: { hostvars: Record<string, Variables> };
  [group: string]: object;
}

/**
 * A dynamic inventory for `--list`: groups by namespace, set and label. Ansible allows letters, digits and underscores in the
 * name of a group; if two different labels would give the same name, no host is in a group of that name: a playbook must not
 * run on hosts that it does not mean.
 */
export function inventory(hosts: readonly SshHost[], file: string): { inventory: Inventory; notes: string[] } {
  const groups = new Map<string, { sources: Set<string>; hosts: string[] }>();
  for (const host of hosts)
    for (const source of groupsOf(host)) {
      const group = source.join('_').replaceAll(/[^A-Za-z0-9_]/g, '_');
      const found = groups.get(group) ?? { sources: new Set(), hosts: [] };
      found.sources.add(source.join(' '));
      found.hosts.push(host.name);
      groups.set(group, found);
    }
  const unclear = [...groups].filter(([, { sources }]) => sources.size > 1);
  const listed = [...groups].filter(([, { sources }]) => sources.size === 1);
  const hostvars = Object.fromEntries(hosts.map((host) => [host.name, hostVariables(host, file)]));
  return {
    inventory: {
      _meta: { hostvars },
      ...Object.fromEntries(listed.map(([group, { hosts }]) => [group, { hosts }])),
      vps: { hosts: hosts.map(({ name }) => name) },
    },
    notes: unclear.map(
      ([group, { sources }]) => `group ${group} is left out: it would mean ${[...sources].join(' and ')}`,
    ),
  };
}

function groupsOf({ object: { metadata } }: SshHost): string[][] {
  const { namespace, labels = {}, ownerReferences = [] } = metadata;
  const set = ownerReferences.find(({ kind, controller }) => kind === SET_KIND && controller === true);
  return [
    ['namespace', namespace],
    ...(set === undefined ? [] : [['set', namespace, set.name]]),
    ...Object.entries(labels).map(([key, value]) => ['label', key, value]),
  ];
}
