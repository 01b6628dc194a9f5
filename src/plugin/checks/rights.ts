/** Check of the rights that the commands need, as the page lists them. */
import { CATALOG_PLURAL, GROUP, SERVER_PLURAL, SET_PLURAL } from '../../api/names.ts';
import { fine, unknown, wrong, type CheckFinding } from './checkup.ts';
import type { ClusterView } from '../cluster/cluster.ts';
import { grantOf, type Right } from '../cluster/grants.ts';

/** Without a namespace: in the namespace of the command. */
type Wanted = Omit<Right, 'namespace'> & { namespace?: string };

interface Use {
  /** What the rights are for; after "you may" or "you may not". */
  use: string;
  /** The beginning of the name of a role with the rights. */
  role: string;
  rights: Wanted[];
  /** Without them, no command works. */
  isNeeded?: true;
}

const of = (group: string, verbs: readonly string[], resources: readonly string[]): Wanted[] =>
  resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource })));

/** `secrets`: the names of those with API keys. */
function uses(operatorNamespace: string, secrets: readonly string[]): Use[] {
  return [
    { use: 'read servers', role: 'read-servers', rights: of(GROUP, ['get', 'list'], [SERVER_PLURAL]), isNeeded: true },
    {
      use: 'read sets and catalogs',
      role: 'read-sets-and-catalogs',
      rights: of(GROUP, ['get', 'list'], [SET_PLURAL, CATALOG_PLURAL]),
    },
    { use: 'read Events (status, timeline)', role: 'read-events', rights: of('', ['list'], ['events']) },
    {
      use: 'change servers and sets (pause, resolve, adopt, rollout and others)',
      role: 'change-servers',
      rights: of(GROUP, ['patch'], [SERVER_PLURAL, SET_PLURAL]),
    },
    {
      use: 'order and replace servers (new --apply, replace)',
      role: 'order-servers',
      rights: [...of(GROUP, ['create'], [SERVER_PLURAL, SET_PLURAL]), ...of(GROUP, ['delete'], [SERVER_PLURAL])],
    },
    {
      use: 'store and delete keys (login, logout)',
      role: 'store-keys',
      rights: [
        ...secrets.flatMap((name) => of('', ['get', 'patch'], ['secrets']).map((right) => ({ ...right, name }))),
        // The right for a Secret that the check names separately.
        ...of('', ['create', 'delete'], ['secrets']),
        ...of(GROUP, ['create', 'patch', 'delete'], [CATALOG_PLURAL]),
      ],
    },
    {
      use: "read the operator's log (logs)",
      role: 'read-operator-log',
      rights: [
        { verb: 'list', group: '', resource: 'pods', namespace: operatorNamespace },
        { verb: 'get', group: '', resource: 'pods', subresource: 'log', namespace: operatorNamespace },
      ],
    },
  ];
}

/** Rejects with CommandError. */
export async function checkRights(
  cluster: ClusterView,
  operatorNamespace: string,
  secrets: readonly string[],
): Promise<CheckFinding[]> {
  const user = await userOf(cluster);
  const checked = await Promise.all(
    uses(operatorNamespace, secrets).map(async (use) => {
      const allowed = await Promise.all(use.rights.map((right) => isAllowed(cluster, right)));
      return { ...use, missing: use.rights.filter((_, index) => allowed[index] !== true) };
    }),
  );
  const granted = checked.filter(({ missing }) => missing.length === 0).map(({ use }) => use);
  const refused = checked
    .filter(({ missing }) => missing.length > 0)
    .map(({ use, role, missing, isNeeded }) => {
      const what = `you may not ${use}; missing: ${missing.map(inWords).join(', ')}`;
      const rights = missing.map((right) => ({ ...right, namespace: right.namespace ?? cluster.namespace }));
      const grant = grantOf(user, role, rights);
      return isNeeded ? wrong('rights', what, grant) : unknown('rights', what, grant);
    });
  return granted.length === 0 ? refused : [fine('rights', `you may ${granted.join('; ')}`), ...refused];
}

const inWords = ({ verb, resource, subresource, name, namespace }: Wanted): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;

/** The user as the API server knows it, who may differ from the one in the kubeconfig. */
async function userOf(cluster: ClusterView): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const { status } = (await cluster.ask({ method: 'POST', path, body })) as {
    status?: { userInfo?: { username?: string } };
  };
  return status?.userInfo?.username ?? '';
}

async function isAllowed(cluster: ClusterView, { namespace = cluster.namespace, ...right }: Wanted): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { ...right, namespace } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const { status } = (await cluster.ask({ method: 'POST', path, body })) as { status?: { allowed?: boolean } };
  return status?.allowed === true;
}
