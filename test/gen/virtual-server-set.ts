/** VirtualServerSets for tests, and members in any state, as the API server stores them. */
import type { ReadyReason } from '../../src/api/conditions.ts';
import { API_VERSION, FINALIZER, MEMBER_TEMPLATE_ANNOTATION, SET_KIND, SET_LABEL } from '../../src/api/names.ts';
import type { VirtualServer, VirtualServerSpec } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet, VirtualServerSetSpec } from '../../src/api/virtual-server-set.ts';
import { withVerdict } from '../../src/controller/conditions.ts';
import { manifestOf } from '../../src/virtual-server-set/decision/template.ts';
import { stored } from './virtual-server.ts';

export const NOW = Date.UTC(2026, 0, 2);

/** What a test may say of a set; everything else has the value of the schema's default. */
export interface SetShape extends Partial<Omit<VirtualServerSetSpec, 'template' | 'strategy'>> {
  spec?: Partial<VirtualServerSpec>;
  labels?: Record<string, string>;
  type?: 'RollingUpdate' | 'OnDelete';
  maxSurge?: number | string;
  maxUnavailable?: number | string;
}

/** The set `web` in the namespace `default`. */
export function webSet(shape: SetShape = {}, previous?: VirtualServerSet): VirtualServerSet {
  const { spec, labels, type = 'RollingUpdate', maxSurge = 1, maxUnavailable = 0, ...rest } = shape;
  return {
    apiVersion: API_VERSION,
    kind: SET_KIND,
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'uid-of-set',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...previous?.metadata,
      generation: (previous?.metadata.generation ?? 0) + 1,
    },
    spec: {
      replicas: 3,
      minReadySeconds: 0,
      scaleDown: { order: 'Newest' },
      paused: false,
      progressDeadlineSeconds: 3600,
      ...rest,
      template: { ...(labels && { metadata: { labels } }), spec: { ...stored('template').spec, ...spec } },
      strategy: { type, rollingUpdate: { maxSurge, maxUnavailable } },
    },
    ...(previous?.status && { status: previous.status }),
  };
}

export interface MemberShape {
  reason?: ReadyReason;
  message?: string;
  /** How long the member has been in this state. */
  forSeconds?: number;
  ageSeconds?: number;
  deleting?: boolean;
  /** What differs from the present template; an order's fields differed in the template that it was created from. */
  spec?: Partial<VirtualServerSpec>;
  /** What differs from the template that the member was created from, because a policy or you changed it. */
  changed?: Partial<VirtualServerSpec>;
  annotations?: Record<string, string>;
  price?: number;
  /** Orders that the record has lost. */
  orphans?: number;
  /** Whether its record names an order. Default: every member does that is not Pending. */
  ordered?: boolean;
}

/** The member of the set with this number. */
export function member(set: VirtualServerSet, ordinal: number, shape: MemberShape = {}): VirtualServer {
  const { reason = 'Available', message = `It is ${reason}`, forSeconds = 0, ageSeconds = 3600, price } = shape;
  const { template } = set.spec;
  const { deletionPolicy, deletionProtection } = template.spec;
  const earlier = { ...template, spec: { ...template.spec, ...shape.spec, deletionPolicy, deletionProtection } };
  const { metadata, spec } = manifestOf({ ...set, spec: { ...set.spec, template: earlier } }, ordinal);
  const { controller, kind, name, uid } = metadata.ownerReferences[0] ?? {};
  const base = stored(metadata.name);
  const since = NOW - forSeconds * 1000;
  const { ordered = reason !== 'Pending', orphans = 0 } = shape;
  const lost = Array.from({ length: orphans }, (_, index) => ({ attempt: `lost${index}` }));
  return {
    ...base,
    metadata: {
      ...base.metadata,
      creationTimestamp: new Date(NOW - ageSeconds * 1000).toISOString(),
      labels: { [SET_LABEL]: metadata.labels[SET_LABEL] ?? '' },
      annotations: {
        [MEMBER_TEMPLATE_ANNOTATION]: metadata.annotations[MEMBER_TEMPLATE_ANNOTATION] ?? '',
        ...shape.annotations,
      },
      ownerReferences: [{ kind: kind ?? '', name: name ?? '', uid: uid ?? '', controller: controller === true }],
      ...(ordered && { finalizers: [FINALIZER] }),
      ...(shape.deleting === true && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
    },
    spec: { ...spec, ...shape.spec, ...shape.changed },
    status: {
      observedGeneration: 1,
      ...(ordered && { record: { owner: base.metadata.uid, mode: 'create', attempt: 'a1' } }),
      ...(orphans > 0 && {
        record: { owner: base.metadata.uid, mode: 'create', attempt: 'a1', orphans: lost },
      }),
      ...(price !== undefined && { serverStatus: 'running', price }),
      conditions: withVerdict([], { reason, message }, 1, since),
    },
  };
}
