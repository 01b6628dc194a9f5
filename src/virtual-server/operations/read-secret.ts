/** Reads a Secret that a field of spec names for an order. */
import { missing, type Missing } from '../../accounts/decision/failure.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { ended } from '../../base/text.ts';
import { isUnreadable, remedyOf } from '../../kube/failing-reads.ts';
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
    if (!isUnreadable(error)) throw error;
    const remedy = remedyOf(error, 'Grant the operator this right, or name another Secret');
    return err(missing('SecretForbidden', `${where} cannot be read: ${ended(error.message)} ${remedy}`));
  }
}
