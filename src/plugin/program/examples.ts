/** What the help of each command ends with: examples, and where to read more. */
import type { Command } from 'commander';
import { DOCUMENTATION } from '../../api/documentation.ts';

const PAGE = `${DOCUMENTATION}/reference/kubectl-plugin.md`;
const GLOBAL = 'kubectl vps --help   # the flags that all commands take, such as --namespace';

/** By command; after `kubectl vps`. */
const EXAMPLES: Record<string, readonly string[]> = {
  list: ['list -A --sort price', 'list --watch', 'list -o custom-columns=NAME:.metadata.name,IPV6:.status.ipv6[0]'],
  status: ['status web', 'status set/web --watch', 'status web -o yaml'],
  timeline: ['timeline web'],
  wait: ['wait web', 'wait web db --for delete --timeout 5m'],
  ssh: ['ssh web', 'ssh web -- uptime', 'ssh web --direct'],
  scp: ['scp notes.txt web:/root/', 'scp -r web:/var/log logs'],
  'ssh-config': [
    'ssh-config --write -A',
    'ssh-config web',
    'ssh-config --write -A --suffix .vps',
    'ssh-config --known-hosts known_hosts > config',
  ],
  inventory: ['inventory', 'inventory -A -l team=web', 'inventory --host web.default'],
  login: ['login', 'login --secret team-key < key.txt'],
  logout: ['logout'],
  pause: ['pause web', 'pause set/web'],
  resume: ['resume web'],
  reconcile: ['reconcile web'],
  protect: ['protect web', 'protect -l team=web'],
  unprotect: ['unprotect web'],
  start: ['start web', 'start set/web'],
  stop: ['stop web', 'stop web --force'],
  suspend: ['suspend lab', 'suspend -l team=lab --yes'],
  reboot: ['reboot web'],
  extend: ['extend lab --ttl 96h', 'extend lab --expires-at 2027-01-31T18:00:00Z'],
  replace: [
    'replace web',
    'replace web --image cloudinit-debian-trixie.raw.gz --name web2',
    'replace web -f web.yaml --yes',
  ],
  undelete: ['undelete web', 'undelete web --name web2'],
  cancel: ['cancel web', 'cancel web --now --yes'],
  console: ['console web', 'console web --open'],
  catalog: ['catalog', 'catalog -o json'],
  new: ['new web > web.yaml', 'new web --product VPSX4 --ttl 72h --apply', 'new web --set --replicas 3 > set.yaml'],
  adopt: ['adopt web vs1001', 'adopt --from-record --all --dry-run', 'adopt -f servers.csv'],
  'start-over': ['start-over web'],
  resolve: ['resolve web', 'resolve web --not-created', 'resolve web --adopt vs1001'],
  import: ['import --all > servers.yaml', 'import vs1001 vs1002'],
  cost: ['cost -A'],
  orphans: ['orphans', 'orphans -A -o json'],
  logs: ['logs web --since 1h', 'logs set/web --follow'],
  doctor: ['doctor', 'doctor -o json'],
  plan: ['plan -f deploy -R', 'plan -f deploy -o markdown', 'plan -f deploy --detailed-exitcode'],
  rollout: ['rollout status web', 'rollout undo web', 'rollout restart web'],
};

export function addExamples(program: Command): void {
  program.addHelpText('after', `\nMore: ${PAGE}`);
  for (const command of program.commands) {
    const lines = (EXAMPLES[command.name()] ?? []).map((example) => `  kubectl vps ${example}`);
    command.addHelpText(
      'after',
      ['', 'Examples:', ...lines, '', GLOBAL, `More: ${PAGE}#${anchorOf(command)}`].join('\n'),
    );
  }
}

/** The heading of the page that is about the command. */
function anchorOf(command: Command): string {
  const name = command.name();
  return HEADINGS.find((heading) => heading.startsWith(`${name}-`) || heading.split('-').includes(name)) ?? name;
}

const HEADINGS = [
  'undelete-and-cancel',
  'login-and-logout',
  'pause-resume-reconcile-protect-unprotect-and-extend',
  'start-stop-suspend-and-reboot',
  'ssh-scp-and-console',
  'ssh-config-and-inventory',
  'catalog-and-new',
  'resolve-and-adopt',
];
