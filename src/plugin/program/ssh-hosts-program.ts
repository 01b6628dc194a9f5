/** The commands that make servers known to other programs, their arguments and flags. */
import { Option, type Command } from 'commander';
import { NAME } from '../flags/arguments.ts';
import { showInventory, writeSshConfig, type InventoryOptions, type SshConfigOptions } from '../commands/ssh-hosts.ts';
import type { Run } from './rollout-program.ts';
import { serverNameOf } from '../flags/target.ts';

export function addSshHosts(program: Command, run: Run): void {
  const choice = (command: Command): Command =>
    command
      .option('-A, --all-namespaces', 'include all namespaces', false)
      .option('-l, --selector <selector>', 'select servers by label')
      .option('--direct', 'connect over IPv6 instead of the SSH proxy', false)
      .option('--suffix <suffix>', 'end of each host name, such as .vps for web.default.vps', '')
      .addOption(
        new Option(
          '--known-hosts <file>',
          'write the host keys to this file (default: ~/.ssh/vps-operator/known_hosts)',
        ),
      );
  choice(
    program
      .command('ssh-config')
      .description('print or write an ssh configuration with all servers, for ssh, scp and rsync')
      .argument(`[${NAME.name}...]`, NAME.description),
  )
    .option('--write', 'write ~/.ssh/vps-operator/config and the host keys', false)
    .action((names: string[], options: SshConfigOptions, command: Command) =>
      run(command, (context) => writeSshConfig(context, names.map(serverNameOf), options)),
    );
  choice(program.command('inventory').description('print an Ansible inventory, and write the host keys'))
    .option('--list', 'print the whole inventory (default)', false)
    .option('--host <name>', 'print the variables of this host, such as web.default')
    .action((options: InventoryOptions, command: Command) =>
      run(command, (context) => showInventory(context, options)),
    );
}
