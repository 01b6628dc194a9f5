/** The groups of commands in `kubectl vps --help`. */
import type { Command } from 'commander';

const GROUPS: readonly (readonly [heading: string, commands: readonly string[]])[] = [
  ['See:', ['list', 'status', 'timeline', 'wait', 'cost', 'catalog', 'orphans', 'logs']],
  [
    'Change:',
    [
      ...[
        'new',
        'start',
        'stop',
        'suspend',
        'reboot',
        'pause',
        'resume',
        'reconcile',
        'protect',
        'unprotect',
        'extend',
      ],
      ...['replace', 'rollout', 'cancel'],
    ],
  ],
  ['Log in:', ['ssh', 'scp', 'console', 'ssh-config', 'inventory']],
  ['Plan and undo:', ['plan', 'undelete', 'resolve', 'adopt', 'import', 'start-over']],
  ['Set up:', ['login', 'logout', 'doctor']],
];
const ORDER = GROUPS.flatMap(([, names]) => names);

/** Groups the commands of the help, in the order above. Throws for a command without a group. */
export function groupCommands(program: Command): void {
  // The help shows groups and commands in the order of this list.
  (program.commands as Command[]).sort((a, b) => ORDER.indexOf(a.name()) - ORDER.indexOf(b.name()));
  for (const command of program.commands) {
    const [heading] = GROUPS.find(([, names]) => names.includes(command.name())) ?? [];
    if (heading === undefined) throw new Error(`${command.name()} has no group`);
    command.helpGroup(heading);
  }
  program.commandsGroup('Set up:').helpCommand('help [command]', 'show the help of a command');
}
