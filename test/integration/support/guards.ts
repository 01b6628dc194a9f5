/** A control plane with the guards of deploy/manifests, and kubectl users with different rights. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { startControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { installOperatorIdentity } from '../../../tools/control-plane/operator-identity.ts';
import { GROUP, SET_KIND } from '../../../src/api/names.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import type { Running } from './broker.ts';

export const ADMISSION = join(import.meta.dirname, '../../../deploy/manifests/base/admission.yaml');
export const BREAK_GLASS = ['--as=break-glass', '--as-group=vps-operator.dev:break-glass'];

export interface Answer {
  ok: boolean;
  /** Standard output, or standard error if kubectl failed. */
  text: string;
}

/** kubectl as one user. `input` is its standard input; it never rejects. */
export type Kubectl = (args: string[], input?: unknown) => Promise<Answer>;

/** Facts about the guarded control plane that every file can get. */
export interface GuardedPaths {
  /** Kubeconfig of a member of system:masters. */
  kubeconfigPath: string;
  operatorKubeconfigPath: string;
  kubectl: string;
  /** Kubeconfigs of other users. */
  people: Record<'carol' | 'erin' | 'ivan', string>;
}

export interface Guarded extends GuardedPaths {
  /** kubectl's default namespace. */
  namespace: string;
  /** A member of system:masters. */
  root: Kubectl;
  /** Bound to cluster-admin by RBAC. */
  admin: Kubectl;
  /** The cluster-admin, with the impersonation that docs/reference/guards.md shows. */
  breakGlass: Kubectl;
  /** May edit VirtualServers in every namespace, with the shipped role. */
  editor: Kubectl;
  /** May also write the status, as with a careless role. */
  intruder: Kubectl;
  /** The operator's identity with all RBAC rights, so only the guards restrict it. */
  operator: Kubectl;
  /** The operator's own token, with the shipped rights. */
  token: Kubectl;
  /** Applies YAML as root. */
  apply: (yaml: string) => Promise<string>;
  /** Repeats the command, usually a dry run, until the answer matches: policies take effect through a watch. */
  until: (who: Kubectl, args: string[], holds: (answer: Answer) => boolean) => Promise<void>;
}

const WAIT_MS = 60_000;
const OPERATOR = 'system:serviceaccount:vps-operator-system:vps-operator';
const ROLES = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: status-writer }
rules: [{ apiGroups: [vps-operator.dev], resources: [virtualservers/status], verbs: ['*'] }]
---
${[
  ['admin', 'cluster-admin', 'carol'],
  ['edit', 'vps-operator-edit', 'erin'],
  ['view', 'vps-operator-view', 'erin'],
  ['intruder-edit', 'vps-operator-edit', 'ivan'],
  ['intruder-view', 'vps-operator-view', 'ivan'],
  ['intruder-status', 'status-writer', 'ivan'],
]
  .map(([name, role, user]) => binding(`test-${name}`, role ?? '', user ?? ''))
  .join('---\n')}`;

export async function startGuarded(): Promise<Running & { facts: GuardedPaths }> {
  const controlPlane = await startControlPlane({ controllerManager: true });
  const { kubeconfigPath, kubectl } = controlPlane;
  const [carol, erin, ivan] = await Promise.all([
    controlPlane.addUser({ name: 'carol' }),
    controlPlane.addUser({ name: 'erin' }),
    controlPlane.addUser({ name: 'ivan' }),
  ]);
  const operatorKubeconfigPath = await installOperatorIdentity(kubeconfigPath);
  const facts = { kubeconfigPath, operatorKubeconfigPath, kubectl, people: { carol, erin, ivan } };
  const guarded = guardedIn(facts, 'default');
  await guarded.apply(ROLES);
  await succeed(guarded.root, ['apply', '--server-side', `--filename=${ADMISSION}`]);
  await waitUntilInForce(guarded);
  return { facts, stop: () => controlPlane.stop() };
}

export function guardedIn(paths: GuardedPaths, namespace: string): Guarded {
  const { kubeconfigPath, people } = paths;
  const as =
    (kubeconfig: string, ...always: string[]): Kubectl =>
    (args, input) =>
      kubectl(paths.kubectl, ['--kubeconfig', kubeconfig, '--namespace', namespace, ...always, ...args], input);
  const root = as(kubeconfigPath);
  return {
    ...paths,
    namespace,
    root,
    admin: as(people.carol),
    breakGlass: as(people.carol, ...BREAK_GLASS),
    editor: as(people.erin),
    intruder: as(people.ivan),
    token: as(paths.operatorKubeconfigPath),
    operator: as(kubeconfigPath, `--as=${OPERATOR}`, '--as-group=system:masters'),
    apply: (yaml) => succeed(root, ['apply', '--server-side', '--filename=-'], yaml),
    until: async (who, args, holds) => {
      const deadline = Date.now() + WAIT_MS;
      for (;;) {
        const answer = await who(args);
        if (holds(answer)) return;
        if (Date.now() > deadline) throw new Error(`kubectl ${args.join(' ')} still says ${answer.text}`);
      }
    },
  };
}

/** Waits until each guard has refused a dry run, and the users' rights are effective. */
async function waitUntilInForce({
  root,
  admin,
  editor,
  intruder,
  breakGlass,
  token,
  apply,
  until,
}: Guarded): Promise<void> {
  const { spec, ...probe } = virtualServer('probe', withSpec({ deletionProtection: true }));
  await apply(stringify({ ...probe, spec }));
  await apply(stringify({ ...probe, kind: SET_KIND, spec: { replicas: 0, template: { spec } } }));
  const denied = ({ text }: Answer): boolean => text.includes('denied request');
  const dry = '--dry-run=server';
  const patch = (body: object): string[] => [
    'patch',
    'vps',
    'probe',
    '--type=merge',
    `--patch=${JSON.stringify(body)}`,
  ];
  const status = [...patch({ status: { name: 'x' } }), '--subresource=status', dry];
  await until(root, ['delete', 'vps', 'probe', dry], denied);
  await until(root, status, denied);
  await until(root, ['delete', 'vpsset', 'probe', dry], denied);
  await until(root, ['delete', 'crd', 'virtualservers.vps-operator.dev', dry], denied);
  await until(root, [...patch({ metadata: { annotations: { [`${GROUP}/mistyped`]: '' } } }), dry], denied);
  await until(root, [...patch({ spec: { product: 'a b' } }), dry, '--warnings-as-errors'], ({ ok }) => !ok);
  await until(admin, status, denied);
  await until(intruder, status, denied);
  await until(editor, [...patch({ metadata: { labels: { a: 'b' } } }), dry], ({ ok }) => ok);
  await until(breakGlass, status, ({ ok }) => ok);
  await succeed(root, patch({ spec: { deletionProtection: false } }));
  await until(token, ['delete', 'vps', 'probe', dry], denied);
  await succeed(root, ['delete', 'vps', 'probe']);
  await succeed(root, ['delete', 'vpsset', 'probe', '--cascade=orphan']);
}

/** A file of policies, built by kustomize with a kustomization that names it admission.yaml. */
export async function kustomized({ kubectl: program }: Guarded, file: string, kustomization: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-guards-'));
  try {
    await copyFile(file, join(folder, 'admission.yaml'));
    await writeFile(join(folder, 'kustomization.yaml'), kustomization);
    return (await promisify(execFile)(program, ['kustomize', folder])).stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Policy {
  metadata: { name: string; generation: number };
  status?: { observedGeneration?: number; typeChecking?: { expressionWarnings?: unknown[] } };
}

/** Each policy of the cluster with its type checker warnings, once all are checked. */
export async function typeWarnings({ root, until }: Guarded): Promise<[name: string, warnings: unknown][]> {
  const args = ['get', 'validatingadmissionpolicies', '--output=json'];
  const read = (text: string): Policy[] => (JSON.parse(text) as { items: Policy[] }).items;
  const isSeen = ({ metadata, status }: Policy): boolean => status?.observedGeneration === metadata.generation;
  await until(root, args, ({ text }) => read(text).every(isSeen));
  const policies = read(await succeed(root, args));
  return policies.map(({ metadata, status }) => [metadata.name, status?.typeChecking?.expressionWarnings]);
}

/** Fails with kubectl's output if the command fails. */
export async function succeed(who: Kubectl, args: string[], input?: unknown): Promise<string> {
  const { ok, text } = await who(args, input);
  if (!ok) throw new Error(`kubectl ${args.join(' ')}: ${text}`);
  return text;
}

/** The API server's message for a rejected command; fails if it was accepted. */
export async function refusal(who: Kubectl, args: string[], input?: unknown): Promise<string> {
  const { ok, text } = await who(args, input);
  if (ok) throw new Error(`kubectl ${args.join(' ')} was not refused: ${text}`);
  return text;
}

function kubectl(path: string, args: string[], input: unknown): Promise<Answer> {
  return new Promise((resolve) => {
    const child = execFile(path, args, { maxBuffer: 1 << 26, timeout: WAIT_MS }, (error, stdout, stderr) =>
      resolve(error === null ? { ok: true, text: stdout.trim() } : { ok: false, text: stderr.trim() || error.message }),
    );
    child.stdin?.end(input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input));
  });
}

function binding(name: string, role: string, user: string): string {
  return stringify({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });
}
