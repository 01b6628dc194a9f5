/** The pages of the site, in the order of its sidebar: first what a reader does first. */
export interface Group {
  title: string;
  /** Label of each page, by its path in the repository. */
  pages: Record<string, string>;
}

export const GROUPS: readonly Group[] = [
  {
    title: 'Start',
    pages: {
      'README.md': 'Overview',
      'docs/getting-started.md': 'Getting started',
      'docs/how-to/troubleshooting.md': 'Troubleshoot',
      'docs/faq.md': 'FAQ',
    },
  },
  {
    title: 'How to run the operator',
    pages: {
      'docs/how-to/install.md': 'Install',
      'docs/how-to/helm.md': 'Install with Helm',
      'docs/how-to/upgrade.md': 'Upgrade',
      'docs/how-to/remove.md': 'Remove',
      'docs/how-to/monitoring.md': 'Monitor',
      'docs/how-to/proxy.md': 'Proxy or private CA',
      'docs/how-to/external-secrets.md': 'API key from External Secrets',
      'docs/how-to/backup-and-restore.md': 'Back up and restore',
      'docs/how-to/velero.md': 'Restore with Velero',
      'docs/how-to/move-to-another-cluster.md': 'Move to another cluster',
      'docs/how-to/observe.md': 'Observe without acting',
      'docs/how-to/break-glass.md': 'Break glass',
    },
  },
  {
    title: 'How to manage servers',
    pages: {
      'docs/how-to/catalog.md': 'List what you can order',
      'docs/how-to/user-data.md': 'Set a server up with cloud-init',
      'docs/how-to/ssh.md': 'Log in over SSH',
      'docs/how-to/power.md': 'Switch servers off and on',
      'docs/how-to/connection-secret.md': 'Login data as a Secret',
      'docs/how-to/server-set.md': 'Sets of equal servers',
      'docs/how-to/plan.md': 'See what a change would do',
      'docs/how-to/protect.md': 'Protect or keep a server',
      'docs/how-to/undelete.md': 'Undo a deletion',
      'docs/how-to/change.md': 'Change a server in place',
      'docs/how-to/expire.md': 'Make a server expire',
      'docs/how-to/limit-cost.md': 'See and limit the cost',
      'docs/how-to/adopt.md': 'Adopt an existing server',
      'docs/how-to/resolve-an-order.md': 'Resolve a lost order',
      'docs/how-to/gitops.md': 'Argo CD and Flux',
      'docs/how-to/kustomize.md': 'kustomize',
      'docs/how-to/dns.md': 'DNS names',
    },
  },
  {
    title: 'Concepts',
    pages: {
      'docs/concepts/reliability.md': 'What is promised',
      'docs/concepts/limits.md': 'What it cannot do',
      'docs/concepts/comparison.md': 'Compared with other tools',
      'docs/concepts/security.md': 'Security',
      'docs/concepts/design.md': 'Design',
      'docs/concepts/virtual-server-set.md': 'Design of sets',
    },
  },
  {
    title: 'Reference',
    pages: {
      'docs/reference/reasons.md': 'Reasons',
      'docs/reference/api.md': 'Fields',
      'docs/reference/annotations.md': 'Annotations',
      'docs/reference/kubectl-plugin.md': 'kubectl plugin',
      'docs/reference/flags.md': 'Flags',
      'docs/reference/metrics.md': 'Probes and metrics',
      'docs/reference/alerts.md': 'Alerts',
      'docs/reference/guards.md': 'Guards',
      'docs/reference/providers.md': 'Providers',
      'docs/reference/versions.md': 'Versions',
      'docs/reference/performance.md': 'Performance',
      'docs/reference/simulator.md': 'Simulated provider',
      'docs/reference/glossary.md': 'Glossary',
    },
  },
  {
    title: 'Project',
    pages: {
      'CHANGELOG.md': 'Changelog',
      'CONTRIBUTING.md': 'Contributing',
      'docs/how-to/release.md': 'Make a release',
      'SECURITY.md': 'Report a vulnerability',
    },
  },
];

export const PAGES: readonly string[] = GROUPS.flatMap(({ pages }) => Object.keys(pages));

/** README.md is the page at the root of the site. */
export const routeOf = (page: string): string => page.replace(/^README\.md$/, 'index.md');
