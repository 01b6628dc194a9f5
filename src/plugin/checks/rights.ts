/** Check of the rights that the commands need, as the page lists them. */
import { CATALOG_PLURAL, GROUP, SERVER_PLURAL, SET_PLURAL } from '../../api/names.ts';
import { fine, unknown, wrong, type CheckFinding } from '../checkup.ts';
import type { ClusterView } from '../cluster.ts';

interface Right {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  /** Default: the namespace of the command. */
  namespace?: string;
}

interface Use {
  /** What the rights are for; after "you may" or "you may not". */
  use: string;
  rights: Right[];
  /** Without them, no command works. */
  isNeeded?: true;
}

const of = (group: string, verbs: readonly string[], resources: readonly string[]): Right[] =>
  resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource })));

function uses(operatorNamespace: string): Use[] {
  return [
    { use: 'read servers', rights: of(GROUP, ['get', 'list'], [SERVER_PLURAL]), isNeeded: true },
    { use: 'read sets and catalogs', rights: of(GROUP, ['get', 'list'], [SET_PLURAL, CATALOG_PLURAL]) },
    { use: 'read Events (status, timeline)', rights: of('', ['list'], ['events']) },
    {
      use: 'change servers and sets (pause, resolve, adopt, rollout and others)',
      rights: of(GROUP, ['patch'], [SERVER_PLURAL, SET_PLURAL]),
    },
    {
      use: 'order and replace servers (new --apply, replace)',
      rights: [...of(GROUP, ['create'], [SERVER_PLURAL, SET_PLURAL]), ...of(GROUP, ['delete'], [SERVER_PLURAL])],
    },
    {
      use: 'store and delete keys (login, logout)',
      rights: [
        ...of('', ['get', 'create', 'patch', 'delete'], ['secrets']),
        ...of(GROUP, ['create', 'patch', 'delete'], [CATALOG_PLURAL]),
      ],
    },
    {
      use: "read the operator's log (logs)",
      rights: [
        { verb: 'list', group: '', resource: 'pods', namespace: operatorNamespace },
        { verb: 'get', group: '', resource: 'pods', subresource: 'log', namespace: operatorNamespace },
      ],
    },
  ];
}

/** Rejects with CommandError. */
export async function checkRights(cluster: ClusterView, operatorNamespace: string): Promise<CheckFinding[]> {
  const checked = await Promise.all(
    uses(operatorNamespace).map(async (use) => {
      const allowed = await Promise.all(use.rights.map((right) => isAllowed(cluster, right)));
      return { ...use, missing: use.rights.filter((_, index) => allowed[index] !== true) };
    }),
  );
  const granted = checked.filter(({ missing }) => missing.length === 0).map(({ use }) => use);
  const refused = checked
    .filter(({ missing }) => missing.length > 0)
    .map(({ use, missing, isNeeded }) => {
      const what = `you may not ${use}; missing: ${missing.map(inWords).join(', ')}`;
      return isNeeded ? wrong('rights', what) : unknown('rights', what);
    });
  return granted.length === 0 ? refused : [fine('rights', `you may ${granted.join('; ')}`), ...refused];
}

const inWords = ({ verb, resource, subresource, namespace }: Right): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${namespace === undefined ? '' : ` in ${namespace}`}`;

async function isAllowed(cluster: ClusterView, { namespace = cluster.namespace, ...right }: Right): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { ...right, namespace } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const { status } = (await cluster.ask({ method: 'POST', path, body })) as { status?: { allowed?: boolean } };
  return status?.allowed === true;
}
