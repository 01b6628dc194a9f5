/** The commands that grant a user exactly the rights that are missing. Pure. */
import { quoted } from '../../base/text.ts';

export interface Right {
  verb: string;
  group: string;
  resource: string;
  subresource?: string | undefined;
  /** The only object that it is about. */
  name?: string | undefined;
  /** Undefined for the whole cluster. */
  namespace: string | undefined;
}

const ACCOUNTS = 'system:serviceaccount:';
/** RBAC can limit only these to an object: for the others, the API server knows no name when it decides. */
const NAMED_VERBS = ['get', 'update', 'patch', 'delete'];

/** `purpose`: the beginning of the names of the roles. */
export function grantOf(user: string, purpose: string, rights: readonly Right[]): string {
  const roles = rolesOf(rights);
  const commands = roles.map(([first, ...others], index) => {
    const verbs = [...new Set([first, ...others].map(({ verb }) => verb))];
    const resources = [...new Set([first, ...others].map(resourceOf))];
    const { namespace } = first;
    const kind = namespace === undefined ? 'clusterrole' : 'role';
    const where = namespace === undefined ? '' : ` --namespace=${quoted(namespace)}`;
    const only = nameIn(first);
    const named = only === undefined ? '' : ` --resource-name=${quoted(only)}`;
    const own = `${purpose}${index === 0 ? '' : `-${index + 1}`}-of-${user.split(':').at(-1)}`.replaceAll(
      /[^\w.@-]/g,
      '-',
    );
    const subject = user.startsWith(ACCOUNTS)
      ? `--serviceaccount=${quoted(user.slice(ACCOUNTS.length))}`
      : `--user=${quoted(user)}`;
    return [
      `kubectl create ${kind} ${own}${where} --verb=${verbs.join(',')} --resource=${resources.join(',')}${named}`,
      `kubectl create ${kind}binding ${own}${where} --${kind}=${own} ${subject}`,
    ].join(' && ');
  });
  return `an administrator can grant it: ${commands.join(' && ')}`;
}

/** How an administrator grants what the API server has refused; nothing for a text of another form. */
export function grantFor(refusal: string): string[] {
  const [, user = '', verb = '', path = '', group = ''] = REFUSAL.exec(refusal) ?? [];
  if (verb === '') return [];
  const [resource = '', subresource] = path.split('/');
  const [, name] = /^\S+ "([^"]+)" is forbidden: /.exec(refusal) ?? [];
  const [, namespace] = /in the namespace "([^"]+)"/.exec(refusal) ?? [];
  const right = { verb, group, resource, subresource, name, namespace };
  const only = nameIn(right);
  return [grantOf(user, [verb, resource, subresource, only].filter(Boolean).join('-'), [right])];
}

export const REFUSAL = /User "([^"]+)" cannot (\w+) resource "([\w/]+)" in API group "([^"]*)"/;

const nameIn = ({ verb, name }: Right): string | undefined => (NAMED_VERBS.includes(verb) ? name : undefined);

const resourceOf = ({ group, resource, subresource }: Right): string =>
  `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;

type Rights = [Right, ...Right[]];

/** A role gives each of its verbs on each of its resources, so the resources of one role have the same verbs. */
function rolesOf(rights: readonly Right[]): Rights[] {
  const byResource = grouped(
    rights.map((right): Rights => [right]),
    ([right]) => [right.namespace, nameIn(right), resourceOf(right)],
  );
  return grouped(byResource, (all) => [all[0].namespace, nameIn(all[0]), all.map(({ verb }) => verb)]);
}

function grouped(lists: readonly Rights[], keyOf: (list: Rights) => unknown): Rights[] {
  const found = new Map<string, Rights>();
  for (const list of lists) {
    const key = JSON.stringify(keyOf(list));
    const before = found.get(key);
    found.set(key, before === undefined ? [...list] : [...before, ...list]);
  }
  return [...found.values()];
}
