/** What the API server would store of a manifest that it cannot be asked about, by the schemas of the CRDs. Pure. */
import { CATALOG_KIND, SERVER_KIND, SET_KIND } from '../../api/names.ts';
import { catalogSpecSchema } from '../../api/server-catalog.ts';
import { specSchema } from '../../api/virtual-server.ts';
import { setSpecSchema } from '../../api/virtual-server-set.ts';
import { timestamp } from '../../base/duration.ts';
import type { Applied, Tried } from '../cluster/cluster.ts';

const SCHEMAS = { [SERVER_KIND]: specSchema, [SET_KIND]: setSpecSchema, [CATALOG_KIND]: catalogSpecSchema };

/** True if the API server refused the manifest only because its namespace does not exist. */
export function lacksNamespace({ before, refusal }: Tried, namespace: string): boolean {
  return before === undefined && refusal === `namespaces "${namespace}" not found`;
}

/** A new object with the defaults of its schema; `now`: ms since the epoch. */
export function described(manifest: Applied, namespace: string, now: number): Tried {
  const { kind, metadata } = manifest;
  const parsed = SCHEMAS[kind as keyof typeof SCHEMAS].safeParse(manifest.spec);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { before: undefined, refusal: `${['spec', ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? ''}` };
  }
  const { name, labels, annotations } = metadata;
  const given = { labels: labels ?? {}, annotations: annotations ?? {} };
  const made = { uid: `planned-${namespace}-${name}`, generation: 1, creationTimestamp: timestamp(now) };
  const { apiVersion } = manifest;
  return {
    before: undefined,
    after: { apiVersion, kind, metadata: { name, namespace, ...given, ...made }, spec: parsed.data },
  };
}
