/** The operator's identity in tests: its ServiceAccount, the RBAC of deploy/manifests, and a token. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { loadCluster } from '../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../src/kube/http.ts';

const OPERATOR_NAME = 'vps-operator';
export const OPERATOR_NAMESPACE = 'vps-operator-system';
/** The user name in the API server. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_NAMESPACE}:${OPERATOR_NAME}`;

export interface PolicyRule {
  apiGroups: string[];
  /** `resource` or `resource/subresource`. */
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

/** An object of rbac.authorization.k8s.io/v1. */
export interface RbacObject extends KubeObject {
  kind: 'ClusterRole' | 'ClusterRoleBinding' | 'Role' | 'RoleBinding';
  rules?: PolicyRule[];
  roleRef?: { kind: 'ClusterRole' | 'Role'; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
}

const MANIFESTS = join(import.meta.dirname, '../../deploy/manifests');
const PLURALS = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
};
/** Longer than any test run. */
const TOKEN_SECONDS = 24 * 3600;
const WAIT_MS = 20_000;

/** The objects of rbac.authorization.k8s.io in a YAML text. */
export function rbacObjects(yaml: string): RbacObject[] {
  return parseAllDocuments(yaml)
    .map((document) => document.toJS() as RbacObject | null)
    .filter((object): object is RbacObject => object !== null && object.kind in PLURALS);
}

/** `folder`: a folder of deploy/manifests. */
async function shippedRbac(folder = 'base'): Promise<RbacObject[]> {
  return rbacObjects(await readFile(join(MANIFESTS, folder, 'rbac.yaml'), 'utf8'));
}

/**
 * Creates the ServiceAccount with these rights, by default the shipped ones. Resolves with the path of its kubeconfig,
 * next to the administrator's, once the rights take effect.
 */
export async function installOperatorIdentity(adminKubeconfigPath: string, rights?: RbacObject[]): Promise<string> {
  const http = createKubeHttp({ cluster: loadCluster(adminKubeconfigPath) });
  try {
    const namespace = { name: OPERATOR_NAMESPACE };
    await apply(http, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: namespace });
    const accounts = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/serviceaccounts`;
    await apply(http, accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: OPERATOR_NAME } });
    await applyRbac(http, rights ?? (await shippedRbac()));
    const { status } = (await http.call({
      method: 'POST',
      path: `${accounts}/${OPERATOR_NAME}/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: TOKEN_SECONDS },
      },
    })) as { status: { token: string } };
    return await writeKubeconfig(adminKubeconfigPath, status.token);
  } finally {
    await http.close();
  }
}

/** Gives the operator access to its Lease in another namespace too, like an installation there. */
export async function permitElection(http: KubeHttp, namespace: string): Promise<void> {
  const inOperatorNamespace = (await shippedRbac()).filter(({ metadata }) => metadata.namespace === OPERATOR_NAMESPACE);
  await applyRbac(http, placed(inOperatorNamespace, namespace));
}

/** Lets the operator write Secrets in one namespace, where no admission policy restricts it. */
export async function permitConnectionSecrets(http: KubeHttp, namespace: string): Promise<void> {
  await applyRbac(http, placed(await shippedRbac('components/connection-secrets/watched'), namespace));
}

/** Lets the operator read ConfigMaps in one namespace. */
export async function permitConfigMaps(http: KubeHttp, namespace: string): Promise<void> {
  await applyRbac(http, placed(await shippedRbac('components/user-data-config-maps/watched'), namespace));
}

export function placed(objects: RbacObject[], namespace: string): RbacObject[] {
  return objects.map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }));
}

/** Resolves when the API server grants all of it to the operator, because the authorizer follows a watch. */
export async function applyRbac(http: KubeHttp, objects: RbacObject[]): Promise<void> {
  for (const object of objects) {
    const { namespace } = object.metadata;
    const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
    await apply(http, `/apis/rbac.authorization.k8s.io/v1${scope}/${PLURALS[object.kind]}`, object);
  }
  const roles = new Map(objects.map((object) => [keyOf(object.kind, object.metadata), object]));
  const deadline = Date.now() + WAIT_MS;
  for (const { subjects = [], roleRef, metadata } of objects) {
    if (roleRef === undefined || !subjects.some(isOperator)) continue;
    const { namespace } = metadata;
    const role = roles.get(keyOf(roleRef.kind, { name: roleRef.name, ...(namespace !== undefined && { namespace }) }));
    for (const rule of role?.rules ?? []) {
      while (!(await isGranted(http, rule, namespace))) {
        if (Date.now() > deadline) throw new Error(`the API server does not grant ${JSON.stringify(rule)}`);
        await sleep(20);
      }
    }
  }
}

export function isOperator({ kind, name, namespace }: { kind: string; name: string; namespace?: string }): boolean {
  return kind === 'ServiceAccount' && name === OPERATOR_NAME && namespace === OPERATOR_NAMESPACE;
}

export function keyOf(kind: string, { namespace, name }: { namespace?: string; name: string }): string {
  return kind.startsWith('Cluster') ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** Checks the first entry of each list: a role takes effect as a whole. */
async function isGranted(http: KubeHttp, rule: PolicyRule, namespace: string | undefined): Promise<boolean> {
  const [resource, subresource] = rule.resources[0]?.split('/') ?? [];
  const resourceAttributes = {
    group: rule.apiGroups[0],
    resource,
    subresource,
    verb: rule.verbs[0],
    name: rule.resourceNames?.[0],
    namespace,
  };
  const answer = (await http.call({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: OPERATOR_USER, resourceAttributes },
    },
  })) as { status: { allowed: boolean } };
  return answer.status.allowed;
}

/** Server-side apply: repeating it changes nothing. */
async function apply(http: KubeHttp, collection: string, object: KubeObject): Promise<void> {
  await http.call({
    method: 'PATCH',
    path: `${collection}/${object.metadata.name}`,
    query: { fieldManager: 'test', force: true },
    body: object,
    contentType: 'application/apply-patch+yaml',
  });
}

async function writeKubeconfig(adminKubeconfigPath: string, token: string): Promise<string> {
  const config = parse(await readFile(adminKubeconfigPath, 'utf8')) as { users: { user: object }[] };
  for (const user of config.users) user.user = { token };
  const path = join(dirname(adminKubeconfigPath), `${OPERATOR_NAME}.kubeconfig`);
  await writeFile(path, stringify(config), { mode: 0o600 });
  return path;
}
