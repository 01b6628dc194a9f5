/** Operator flags for the plans: short intervals, so that a life takes seconds. */
import type { Simulator } from '../../src/simulator/index.ts';

export function flagsFor(namespace: string, { baseUrl, authUrl }: Simulator, elects: boolean): string[] {
  return [
    ...[`--base-url=${baseUrl}`, `--auth-url=${authUrl}`, `--watch-namespace=${namespace}`],
    ...['--poll-interval=100ms', '--resync-interval=300ms', '--provider-qps=1000', '--max-concurrent-reconciles=4'],
    ...[
      '--provider-timeout=1500ms',
      '--create-timeout=1500ms',
      '--kube-timeout=1500ms',
      '--takeover-grace=500ms',
      '--absence-grace=2s',
      // The SSH host of the plans is on this machine.
      '--ssh-check-private-addresses',
    ],
    ...['--log-level=debug', `--operator-namespace=${namespace}`],
    ...(elects ? ['--leader-elect', '--lease-duration=2s'] : []),
  ];
}
