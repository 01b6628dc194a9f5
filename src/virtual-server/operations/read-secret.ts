/** Reads a Secret that a field of spec names for an order. */
import { missing, type Missing } from '../../accounts/decision/failure.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { KubeError } from '../../kube/error.ts';
import type { ReadSecret } from '../../kube/kinds.ts';
import type { Kube } from '../kube.ts';

/** Undefined if there is no such Secret. `where`: the Secret, and the field that names it. */
export async function readSecret(
  kube: Pick<Kube, 'getSecret'>,
  { namespace, name, where }: { namespace: string; name: string; where: string },
): Promise<Result<ReadSecret | undefined, Missing>> {
  try {
    return ok(await kube.getSecret(namespace, name));
  } catch (error) {
    if (!(error instanceof KubeError && error.code === 'Forbidden')) throw error;
    return err(
      missing(
        'SecretForbidden',
        `${where} cannot be read: ${error.message}. Grant the operator this right, or name another Secret`,
      ),
    );
  }
}
