/** What becomes of the CustomResourceDefinition of VirtualServers, before a server is cancelled. */
import { KubeError } from '../../kube/error.ts';
import type { DefinitionState } from '../../kube/types.ts';
import type { Kube } from '../kube.ts';

/** Read it after the object: the API server marks the definition for deletion before it deletes any object. */
export async function definitionOf(kube: Pick<Kube, 'getDefinition'>): Promise<DefinitionState | 'forbidden'> {
  try {
    return await kube.getDefinition();
  } catch (error) {
    if (error instanceof KubeError && error.code === 'Forbidden') return 'forbidden';
    throw error;
  }
}
