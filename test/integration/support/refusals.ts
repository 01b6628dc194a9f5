/** Admission rules of the real API server that refuse writes of the operator in one namespace. */
import { API_VERSION, GROUP } from '../../../src/api/names.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';
import type { World } from './world.ts';

const BASE = '/apis/admissionregistration.k8s.io/v1';
const ONLY_OPERATOR = {
  name: 'operator',
  expression: "request.userInfo.username.startsWith('system:serviceaccount:')",
};

export interface Refusing {
  /** As in a rule of an admission webhook: `virtualservers` or `virtualservers/status`. */
  resource: string;
  operation: 'CREATE' | 'UPDATE';
  /** A policy that answers 422 or 403, or a webhook whose service does not exist. */
  by: 'Invalid' | 'Forbidden' | 'webhook';
}

/** Begins to refuse; resolves, once that takes effect, with what lifts it again. */
export async function refuse(world: World, { resource, operation, by }: Refusing): Promise<() => Promise<void>> {
  const name = `refuse-${world.namespace}`;
  const resourceRules = [{ apiGroups: [GROUP], apiVersions: ['*'], operations: [operation], resources: [resource] }];
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': world.namespace } };
  const { http } = world;
  const bodies: Record<string, object> =
    by === 'webhook'
      ? {
          validatingwebhookconfigurations: {
            metadata: { name },
            webhooks: [
              {
                name: 'down.example.com',
                clientConfig: { service: { namespace: world.namespace, name: 'absent' }, caBundle: '' },
                rules: resourceRules.map((rule) => ({ ...rule, scope: '*' })),
                namespaceSelector,
                matchConditions: [ONLY_OPERATOR],
                sideEffects: 'None',
                admissionReviewVersions: ['v1'],
                failurePolicy: 'Fail',
              },
            ],
          },
        }
      : {
          validatingadmissionpolicies: {
            metadata: { name },
            spec: {
              failurePolicy: 'Fail',
              matchConstraints: { resourceRules },
              matchConditions: [ONLY_OPERATOR],
              validations: [{ expression: 'false', message: 'no writes here', reason: by }],
            },
          },
          validatingadmissionpolicybindings: {
            metadata: { name },
            spec: { policyName: name, validationActions: ['Deny'], matchResources: { namespaceSelector } },
          },
        };
  for (const [plural, body] of Object.entries(bodies))
    await http.call({ method: 'POST', path: `${BASE}/${plural}`, body });
  await world.until(() => isRefused(world, resource, operation), 'the refusal to take effect');
  return async () => {
    for (const plural of Object.keys(bodies))
      await http.call({ method: 'DELETE', path: `${BASE}/${plural}/${name}`, absent: name });
  };
}

/** What the operator's own write would be answered, without it. */
async function isRefused(world: World, resource: string, operation: Refusing['operation']): Promise<boolean> {
  const [plural = '', part] = resource.split('/');
  const folder = `/apis/${API_VERSION}/namespaces/${world.namespace}/${plural}`;
  const operator = createKubeHttp({ cluster: loadCluster(world.operatorKubeconfigPath) });
  const query = { dryRun: 'All' };
  try {
    if (operation === 'CREATE') {
      const metadata = { name: 'probe' };
      const spec = { product: 'VPSX4', image: 'debian', diskSize: 10240, sshKeys: [KEY] };
      const body = { apiVersion: API_VERSION, kind: 'VirtualServer', metadata, spec };
      await operator.call({ method: 'POST', path: folder, query, body });
      return false;
    }
    const { items } = (await world.http.call({ path: folder })) as { items: { metadata: { name: string } }[] };
    const [first] = items;
    if (first === undefined) throw new Error(`no object of ${plural} to try`);
    const path = `${folder}/${first.metadata.name}`;
    const body = { metadata: { annotations: { probe: 'yes' } } };
    if (part === undefined)
      await operator.call({ method: 'PATCH', path, query, body, contentType: 'application/merge-patch+json' });
    else await operator.call({ method: 'PUT', path: `${path}/${part}`, query, body: await whole(world, path) });
    return false;
  } catch (error) {
    if (error instanceof KubeError && /no writes here|failed calling webhook/.test(error.message)) return true;
    throw error;
  } finally {
    await operator.close();
  }
}

/** An object to write, with its kind, which lists leave out. */
const whole = async ({ http }: World, path: string): Promise<object> => (await http.call({ path })) as object;

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIElDfAVAHqmwhJlbjFzJVlO4WtIkx5MkqjkR3rH9m0aB probe';
