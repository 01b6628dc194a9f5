/** Reads the API key from a Secret, or reports what is wrong with it. */
import type { Missing } from './decision/failure.ts';
import type { ReadSecret } from '../kube/kinds.ts';
import type { ApiKey } from '../provider/types.ts';

export function secretForbidden(namespace: string, name: string, why: string): Missing {
  const message =
    `The operator cannot read Secret ${namespace}/${name}: ${why}. Grant the operator this right, or name another Secret in ` +
    'spec.apiKeySecretRef';
  return { ok: false, reason: 'SecretForbidden', message };
}

/** `keyId` and `secret` of the Secret, without a trailing line break, which editors add. */
export function parseApiKey(read: ReadSecret | undefined, namespace: string, name: string): ApiKey | Missing {
  const where = `Secret ${namespace}/${name}`;
  if (read === undefined) {
    const create = `\`kubectl create secret generic ${name} -n ${namespace} --from-file=keyId --from-file=secret\``;
    return {
      ok: false,
      reason: 'SecretNotFound',
      message:
        `${where}, which should hold the API key, does not exist. If the key is in another Secret, name that Secret in ` +
        `spec.apiKeySecretRef. Otherwise, put the key ID into a file keyId and the secret into a file secret, and run ${create}. The operator retries automatically, within a minute`,
    };
  }
  const { data } = read;
  const [keyId, secret] = ['keyId', 'secret'].map((field) => data[field]?.replace(/\r?\n$/, ''));
  if (keyId !== undefined && keyId !== '' && secret !== undefined && secret !== '') return { keyId, secret };
  const lacking = ['keyId', 'secret'].filter((field) => (data[field] ?? '').trim() === '');
  return {
    ok: false,
    reason: 'SecretInvalid',
    message: `${where} must have the keys "keyId" and "secret"; it lacks ${lacking.map((field) => `"${field}"`).join(' and ')}. Add what is missing; the operator retries automatically, within a minute`,
  };
}
