/** What the API server would say to a merge patch; changes nothing. */
import { KubeError } from '../../../src/kube/error.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';

/** Undefined if it would accept the patch. */
export async function refusalOfPatch(http: KubeHttp, path: string, body: object): Promise<KubeError | undefined> {
  try {
    const contentType = 'application/merge-patch+json';
    await http.call({ method: 'PATCH', path, query: { dryRun: 'All' }, contentType, body });
    return undefined;
  } catch (error) {
    if (error instanceof KubeError) return error;
    throw error;
  }
}
