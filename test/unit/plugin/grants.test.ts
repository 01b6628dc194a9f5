import { describe, expect, it } from 'vitest';
import { grantFor, grantOf } from '../../../src/plugin/cluster/grants.ts';

describe('what an administrator can grant', () => {
  it('is a role for exactly the refused right', () => {
    const refusal =
      'virtualservers.vps-operator.dev "web" is forbidden: User "jane@example.org" cannot patch resource "virtualservers" in API group "vps-operator.dev" in the namespace "team"';
    expect(grantFor(refusal)).toEqual([
      'an administrator can grant it: ' +
        'kubectl create role patch-virtualservers-web-of-jane@example.org --namespace=team --verb=patch --resource=virtualservers.vps-operator.dev --resource-name=web && ' +
        'kubectl create rolebinding patch-virtualservers-web-of-jane@example.org --namespace=team --role=patch-virtualservers-web-of-jane@example.org --user=jane@example.org',
    ]);
  });

  it('names no object where RBAC cannot, and no namespace where there is none', () => {
    const created =
      'secrets "key" is forbidden: User "system:serviceaccount:ci:bot" cannot create resource "secrets" in API group "" in the namespace "team"';
    expect(grantFor(created)[0]).toMatch(/ --verb=create --resource=secrets && .* --serviceaccount=ci:bot$/);
    const log =
      'pods "operator-1" is forbidden: User "https://issuer#jane" cannot get resource "pods/log" in API group "" in the namespace "vps"';
    expect(grantFor(log)[0]).toContain(
      'create role get-pods-log-operator-1-of---issuer-jane --namespace=vps --verb=get --resource=pods/log --resource-name=operator-1 && ',
    );
    const everywhere =
      'virtualservers.vps-operator.dev is forbidden: User "jane" cannot list resource "virtualservers" in API group "vps-operator.dev" at the cluster scope';
    expect(grantFor(everywhere)[0]).toContain(
      'create clusterrole list-virtualservers-of-jane --verb=list --resource=virtualservers.vps-operator.dev && kubectl create clusterrolebinding list-virtualservers-of-jane --clusterrole=',
    );
    expect(grantFor('admission webhook "x" denied the request')).toEqual([]);
  });

  it('is one role for resources with the same verbs, and another one for others', () => {
    const right = (verb: string, resource: string, more: object = {}) => ({
      verb,
      group: '',
      resource,
      namespace: 'team',
      ...more,
    });
    const named = ['get', 'patch'].map((verb) => right(verb, 'secrets', { name: 'key' }));
    const text = grantOf('jane', 'keys', [
      ...named,
      right('create', 'secrets'),
      right('list', 'pods'),
      right('list', 'events'),
    ]);
    expect([...text.matchAll(/create role (\S+) \S+ (.*?) &&/g)].map(([, name, what]) => [name, what])).toEqual([
      ['keys-of-jane', '--verb=get,patch --resource=secrets --resource-name=key'],
      ['keys-2-of-jane', '--verb=create --resource=secrets'],
      ['keys-3-of-jane', '--verb=list --resource=pods,events'],
    ]);
  });
});
