/** Reads whether a CustomResourceDefinition exists, or is being deleted, and whether an annotation allows that. */
import { ALLOW_DELETION_ANNOTATION } from '../api/names.ts';
import { KubeError } from './error.ts';
import type { KubeHttp } from './http.ts';
import type { DefinitionState } from './types.ts';

/** Requests metadata only, because the schema is large. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

interface PartialDefinition {
  metadata?: { name?: string; deletionTimestamp?: string; annotations?: Record<string, string> };
}

export async function readDefinition(http: KubeHttp, name: string): Promise<DefinitionState> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
  const answer = await http.call({ path, accept: METADATA_ONLY, absent: name });
  if (answer === undefined) return 'missing';
  const { metadata } = (answer ?? {}) as PartialDefinition;
  if (metadata?.name !== name) throw new KubeError('BadResponse', `the answer is not ${name}`);
  if (metadata.deletionTimestamp === undefined) return 'kept';
  return metadata.annotations?.[ALLOW_DELETION_ANNOTATION] === 'true' ? 'deletionAllowed' : 'deleting';
}
