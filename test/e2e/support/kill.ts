/**
 * Kills the process of a pod with SIGKILL, from its node. Neither a deletion nor a container of the pod can do that: a
 * forced deletion sends SIGTERM first, and the kernel protects process 1 from signals within its PID namespace.
 */
import { apply, kubectl, run, setting, until } from './cluster.ts';

/** Not the operator's namespace, which admits no privileged pods. */
const NAMESPACE = 'vps-e2e-kill';
const NAMESPACE_OBJECT = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
};

/** Runs in a privileged pod of the node: finds the process by the pod's uid in its cgroup or in the path of a volume. */
const SCRIPT = `
  const { readdirSync, readFileSync } = require('node:fs');
  const read = (path) => { try { return readFileSync(path, 'utf8'); } catch { return ''; } };
  const uid = process.argv[1];
  // systemd allows no "-" in a name.
  const names = [uid, uid.replaceAll('-', '_')];
  const isOurs = (pid) =>
    read('/proc/' + pid + '/cmdline').includes('/app/operator.js') &&
    names.some((name) => (read('/proc/' + pid + '/cgroup') + read('/proc/' + pid + '/mountinfo')).includes(name));
  const found = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && isOurs(name));
  if (found.length === 0) throw new Error('no process of pod ' + uid);
  for (const pid of found) process.kill(Number(pid), 'SIGKILL');
`;

interface Victim {
  metadata: { uid: string };
  spec: { nodeName: string };
}

/** E2E_KILL, a command that gets the pod's uid and kills its process, replaces the privileged pod. */
export async function kill({ metadata: { uid }, spec: { nodeName } }: Victim): Promise<void> {
  const command = process.env['E2E_KILL'];
  if (command !== undefined) {
    await run('sh', ['-c', `${command} ${uid}`]);
    return;
  }
  const name = `kill-${uid}`;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      nodeName,
      hostPID: true,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'kill',
          image: setting('E2E_IMAGE'),
          imagePullPolicy: 'IfNotPresent',
          command: ['/nodejs/bin/node', '-e', SCRIPT, uid],
          securityContext: { privileged: true, runAsUser: 0 },
        },
      ],
    },
  };
  const inNamespace = (...args: string[]): Promise<string> => kubectl('-n', NAMESPACE, ...args);
  await apply(JSON.stringify(NAMESPACE_OBJECT));
  try {
    await apply(JSON.stringify(pod));
    const phase = await until(`pod ${name} to end`, async () => {
      const now = await inNamespace('get', 'pod', name, '-o', 'jsonpath={.status.phase}');
      return ['Succeeded', 'Failed'].includes(now) && now;
    });
    if (phase === 'Failed')
      throw new Error(`cannot kill the process of pod ${uid}: ${await inNamespace('logs', name)}`);
  } finally {
    // Nothing privileged stays in a cluster that the tests were lent.
    await kubectl('delete', 'namespace', NAMESPACE);
  }
}
