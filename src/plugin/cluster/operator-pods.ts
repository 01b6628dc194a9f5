/** The operator's pods and their logs, read through the API server with the rights of the user. */
import { OPERATOR_LABELS } from '../../api/names.ts';
import { createLineSplitter } from '../../kube/watch.ts';
import type { ClusterView } from './cluster.ts';

export interface OperatorPod {
  name: string;
  container: string;
}

/** Which lines to read, as in the API. */
export interface LogRange {
  previous?: boolean;
  sinceSeconds?: number | undefined;
  sinceTime?: string | undefined;
}

/** The container of the manifests and of the chart; others may have been injected. */
const CONTAINER = 'operator';
/** The operator writes no longer line. */
const MAX_LINE_BYTES = 1024 * 1024;

interface PodView {
  metadata: { name: string };
  spec?: { containers?: { name: string }[] };
}

/** The command that shows where the operator is, also while it has no pods. */
export const findOperator = (where: string): string =>
  `kubectl get deployments${where} -A -l ${OPERATOR_LABELS}   # shows where it is; then pass --operator-namespace`;

/** Rejects with CommandError. */
export async function operatorPods(cluster: ClusterView, namespace: string): Promise<OperatorPod[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const list = (await cluster.ask({ path, query: { labelSelector: OPERATOR_LABELS } })) as { items?: PodView[] };
  return (list.items ?? []).map(({ metadata, spec }) => {
    const names = (spec?.containers ?? []).map(({ name }) => name);
    return { name: metadata.name, container: names.includes(CONTAINER) ? CONTAINER : (names[0] ?? CONTAINER) };
  });
}

/** The lines of the log; with `follow`, until the container ends. Rejects with CommandError. */
export async function* logLines(
  cluster: ClusterView,
  namespace: string,
  { name, container }: OperatorPod,
  { follow, ...range }: LogRange & { follow: boolean },
): AsyncGenerator<string> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
  const split = createLineSplitter(MAX_LINE_BYTES);
  for await (const chunk of cluster.stream({ path, query: { container, follow, ...range } })) yield* split(chunk);
}
