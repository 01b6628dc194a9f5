/** The CustomResourceDefinition of VirtualServers, as far as a cancellation depends on it. */
import { ALLOW_DELETION_ANNOTATION, DEFINITION } from '../api/names.ts';
import { KubeError } from './error.ts';
import type { KubeHttp } from './http.ts';
import type { DefinitionState } from './types.ts';

/** Without the schema, which is large. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

interface PartialDefinition {
  metadata?: { name?: string; deletionTimestamp?: string; annotations?: Record<string, string> };
}

export async function readDefinition(http: KubeHttp): Promise<DefinitionState> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${DEFINITION}`;
  const { metadata } = ((await http.call({ path, accept: METADATA_ONLY })) ?? {}) as PartialDefinition;
  if (metadata?.name !== DEFINITION) throw new KubeError('BadResponse', `the answer is not ${DEFINITION}`);
  if (metadata.deletionTimestamp === undefined) return 'kept';
  return metadata.annotations?.[ALLOW_DELETION_ANNOTATION] === 'true' ? 'deletionAllowed' : 'deleting';
}
