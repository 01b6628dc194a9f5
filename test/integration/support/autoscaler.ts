/** The HorizontalPodAutoscaler of examples/sets, in a test's namespace. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { World } from './world.ts';

interface Hpa {
  spec: {
    scaleTargetRef: object;
    metrics: { type: string; external: { metric: { name: string }; target: object } }[];
  };
  status?: {
    currentReplicas?: number;
    desiredReplicas?: number;
    conditions?: { type: string; status: string; message: string }[];
  };
}

const EXAMPLE = join(import.meta.dirname, '../../../examples/sets/autoscaler.yaml');

interface AutoscalerOptions {
  /** Default: the example's target of 100 for each member. */
  target?: object;
  /** The metric describes an Ingress instead of nothing in the cluster. */
  ofIngress?: boolean;
}

/** Scales from 1 to 3, without the pauses of the example. */
export async function createAutoscaler(world: World, { target: given, ofIngress = false }: AutoscalerOptions = {}) {
  const example = parse(await readFile(EXAMPLE, 'utf8')) as Hpa;
  const spec = {
    ...example.spec,
    minReplicas: 1,
    maxReplicas: 3,
    metrics: example.spec.metrics.map(({ external: { metric, target } }) => {
      const measured = { metric, target: given ?? target };
      const describedObject = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'web' };
      return ofIngress
        ? { type: 'Object', object: { ...measured, describedObject } }
        : { type: 'External', external: measured };
    }),
    behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
  };
  const path = `/apis/autoscaling/v2/namespaces/${world.namespace}/horizontalpodautoscalers`;
  await world.http.call({ method: 'POST', path, body: { ...example, spec } });
  return {
    /** Conditions by type, such as `True: recommended size matches current size`. */
    status: async () => {
      const { status = {} } = (await world.http.call({ path: `${path}/web` })) as Hpa;
      const { currentReplicas, desiredReplicas, conditions = [] } = status;
      const byType = conditions.map(({ type, status, message }) => [type, `${status}: ${message}`]);
      return { currentReplicas, desiredReplicas, conditions: Object.fromEntries(byType) as Record<string, string> };
    },
  };
}
