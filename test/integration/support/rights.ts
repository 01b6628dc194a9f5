/** The operator's rights as comparable sets: those that manifests grant, and those that an audit log shows. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { GROUP, SERVER_PLURAL, SET_PLURAL } from '../../../src/api/names.ts';
import { isOperator, keyOf, OPERATOR_USER, type RbacObject } from '../../../tools/control-plane/operator-identity.ts';

/** One verb on one resource, in one role. */
interface Right {
  /** `ClusterRole <name>` or `Role <namespace>/<name>`. */
  role: string;
  verb: string;
  /** `resource[/subresource][.group]` */
  resource: string;
}

export interface Grant extends Right {
  /** Name of the object that the right is limited to. */
  name?: string;
}

export interface Use extends Right {
  namespace: string;
  name: string | undefined;
  /** `METHOD path`, with `{namespace}` and `{name}`, without the query. */
  request: string;
}

/** Requests of the operator. A request counts once it is authorized, whatever the answer. */
export interface Uses {
  allowed: Use[];
  /** The whole audit line of each refused request. */
  refused: string[];
}

interface AuditLine {
  verb: string;
  requestURI: string;
  user: { username: string };
  objectRef?: { resource: string; subresource?: string; apiGroup?: string; namespace?: string; name?: string };
  annotations?: Record<string, string>;
}

const METHODS: Record<string, string> = { create: 'POST', update: 'PUT', patch: 'PATCH', delete: 'DELETE' };
/** RBAC's reason to allow a request: `<binding>[/<its namespace>]`, and a role there. */
const REASON = /^RBAC: allowed by \w+ "[^"/]+(?:\/([^"]+))?" of (ClusterRole|Role) "([^"]+)" to /;

/** Every verb that these objects grant to the operator, with its role. */
export function grantsOf(objects: RbacObject[]): Grant[] {
  const bound = objects.filter(({ subjects }) => subjects?.some(isOperator));
  return bound.flatMap(({ roleRef, metadata }) => {
    const wanted = roleRef && keyOf(roleRef.kind, { ...metadata, name: roleRef.name });
    const role = objects.find((object) => object.rules !== undefined && keyOf(object.kind, object.metadata) === wanted);
    if (wanted === undefined || role?.rules === undefined) throw new Error(`there is no ${wanted}`);
    return role.rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.flatMap((verb) => {
            const right = { role: wanted, verb, resource: withGroup(resource, group) };
            return resourceNames === undefined ? [right] : resourceNames.map((name) => ({ ...right, name }));
          }),
        ),
      ),
    );
  });
}

/** The operator's requests, from the audit log. */
export async function readUses(auditLog: string): Promise<Uses> {
  const uses: Uses = { allowed: [], refused: [] };
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    if (!line.includes(`"username":"${OPERATOR_USER}"`)) continue;
    const entry = JSON.parse(line) as AuditLine;
    if (entry.user.username !== OPERATOR_USER) continue;
    const use = useOf(entry);
    if (use === undefined) uses.refused.push(line);
    else uses.allowed.push(use, ...checkedWithin(use));
  }
  return uses;
}

/**
 * With the admission plugin OwnerReferencesPermissionEnforcement, the API server checks this right when a member is
 * created, because of its owner's blockOwnerDeletion; the audit log does not show that.
 */
function checkedWithin(use: Use): Use[] {
  const isMember = use.verb === 'create' && use.resource === `${SERVER_PLURAL}.${GROUP}`;
  return isMember ? [{ ...use, verb: 'update', resource: `${SET_PLURAL}/finalizers.${GROUP}` }] : [];
}

function useOf({ verb, requestURI, objectRef, annotations = {} }: AuditLine): Use | undefined {
  const [, bound, kind, role] = REASON.exec(annotations['authorization.k8s.io/reason'] ?? '') ?? [];
  if (annotations['authorization.k8s.io/decision'] !== 'allow' || kind === undefined || role === undefined) {
    return undefined;
  }
  const { resource = requestURI, subresource, apiGroup = '', namespace = '', name } = objectRef ?? {};
  const path = new URL(requestURI, 'https://api').pathname
    .replace(/\/namespaces\/[^/]+/, '/namespaces/{namespace}')
    .replace(`/${resource}/${name}`, `/${resource}/{name}`);
  return {
    role: keyOf(kind, { name: role, ...(bound !== undefined && { namespace: bound }) }),
    verb,
    resource: withGroup(subresource === undefined ? resource : `${resource}/${subresource}`, apiGroup),
    namespace,
    name,
    request: `${METHODS[verb] ?? 'GET'} ${path}`,
  };
}

function withGroup(resource: string, group: string): string {
  return group === '' ? resource : `${resource}.${group}`;
}

/** Whether this grant allows this request. */
export function covers(grant: Grant, use: Use): boolean {
  return rightText(grant) === rightText(use) && (grant.name === undefined || grant.name === use.name);
}

/** What was granted but not used, and what was used but not granted; both as texts. */
export function differences(grants: Grant[], uses: Use[]): { unused: string[]; notGranted: string[] } {
  const unused = grants.filter((grant) => !uses.some((use) => covers(grant, use)));
  const notGranted = uses.filter((use) => !grants.some((grant) => covers(grant, use)));
  const grantText = (grant: Grant): string => [rightText(grant), grant.name ?? []].flat().join(' ');
  return { unused: unused.map(grantText), notGranted: [...new Set(notGranted.map(rightText))] };
}

function rightText({ role, verb, resource }: Right): string {
  return `${role}: ${verb} ${resource}`;
}
