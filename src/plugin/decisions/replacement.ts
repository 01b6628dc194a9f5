/** What `kubectl vps replace` makes of a server and of its replacement: name, manifest, and what forbids a step. Pure. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { currentReason } from '../../api/conditions.ts';
import { GROUP, REPLACES_ANNOTATION, SERVER_KIND } from '../../api/names.ts';
import { isPaused } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isObject } from '../../base/deep-equal.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { orderOf } from '../state/recorded-order.ts';
import { isCurrent, serverReadiness } from '../state/readiness.ts';
import { setArgument, setOf } from '../state/set-members.ts';

/** What the replacement carries about the server that it replaces, so that a second run continues the first. */
const markSchema = z.object({ name: z.string(), uid: z.string(), spec: z.string() });
export type ReplacementMark = z.infer<typeof markSchema>;

export function replacementMark(object: VirtualServer): ReplacementMark | undefined {
  try {
    return markSchema.parse(JSON.parse(object.metadata.annotations?.[REPLACES_ANNOTATION] ?? ''));
  } catch {
    return undefined;
  }
}

/** Equal for equal specs, whatever the order of their fields. */
export function specHash({ spec }: Pick<VirtualServer, 'spec'>): string {
  const sorted = (_key: string, value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  return createHash('sha256').update(JSON.stringify(spec, sorted)).digest('hex').slice(0, 16);
}

/** `web` becomes `web-v2`, and that `web-v3`. A set never gives a name of this form. */
export function nextName(name: string): string {
  const [, base = name, version = '1'] = /^(.*)-v([1-9][0-9]{0,4})$/.exec(name) ?? [];
  return `${base}-v${Number(version) + 1}`;
}

export interface Manifest {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations: Record<string, string> };
  spec: object;
}

interface Described {
  labels?: Record<string, string> | null | undefined;
  annotations?: Record<string, string> | null | undefined;
}

/** The object that replaces `old`, with labels and annotations of `described`, except those that are about one object. */
export function replacementOf(old: VirtualServer, name: string, spec: object, described: Described): Manifest {
  const mark: ReplacementMark = { name: old.metadata.name, uid: old.metadata.uid, spec: specHash(old) };
  return {
    kind: SERVER_KIND,
    metadata: {
      name,
      labels: own(described.labels),
      annotations: { ...own(described.annotations), [REPLACES_ANNOTATION]: JSON.stringify(mark) },
    },
    spec,
  };
}

function own(entries: Record<string, string> | null | undefined): Record<string, string> {
  const isOfOne = (key: string): boolean => key.startsWith(`${GROUP}/`) || key.startsWith('kubectl.kubernetes.io/');
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !isOfOne(key)));
}

export interface Pair {
  /** Undefined if no object has the name. */
  old: VirtualServer | undefined;
  /** What replaces the old object, or replaced an object of this name that is gone; undefined before the order. */
  next: VirtualServer | undefined;
}

/** Throws CommandError if several objects claim to replace the same one. */
export function pairOf(objects: readonly VirtualServer[], name: string): Pair {
  const old = objects.find(({ metadata }) => metadata.name === name);
  const claims = objects.filter((object) => {
    const mark = replacementMark(object);
    return old === undefined ? mark?.name === name : mark?.uid === old.metadata.uid;
  });
  if (old === undefined || claims.length <= 1) {
    const [next] = claims.sort((a, b) => b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp));
    return { old, next };
  }
  const names = claims.map(({ metadata }) => metadata.name).join(' and ');
  throw new CommandError(EXIT.failed, `${names} both replace ${name}: delete all but one of them`);
}

/** Whether the replacement can take over: Ready for its present spec, with nothing left to do, and with an address. */
export function canTakeOver(object: VirtualServer): boolean {
  const { conditions, ipv4 = [], ipv6 = [] } = object.status ?? {};
  const ready = serverReadiness(object);
  return (
    object.metadata.deletionTimestamp === undefined &&
    ready.status === 'True' &&
    currentReason(conditions) === ready.reason &&
    isCurrent(object) &&
    ipv4.length + ipv6.length > 0
  );
}

/** Throws CommandError if the server cannot be replaced, or not yet: before the order and before the deletion. `where`: flags such as ` -n team`. */
export function requireReplaceable(old: VirtualServer, where: string, now: number): void {
  const { name } = old.metadata;
  const set = setOf(old);
  if (set !== undefined) {
    throw new CommandError(EXIT.failed, `${name} is a member of a set, which replaces its members itself`, [
      `kubectl vps rollout restart ${setArgument(set)}${where}   # new servers for all its members`,
    ]);
  }
  if (old.metadata.deletionTimestamp !== undefined) throw new CommandError(EXIT.failed, `${name} is being deleted`);
  const applier = applierOf(old);
  if (applier !== undefined) {
    throw new CommandError(
      EXIT.failed,
      `${applier} applies ${name} and would create it again, with a third server: replace it where ${applier} reads it`,
    );
  }
  requireDeletable(old, where);
  const order = orderOf(old, now);
  if (order.kind === 'none') return;
  const why = order.kind === 'notYet' ? order.why : `the outcome of order ${order.attempt} is unknown`;
  throw new CommandError(EXIT.failed, `not yet: ${why}`, [`kubectl vps status ${name}${where}`]);
}

/** Throws CommandError if the operator would not cancel the server of a deleted object. */
function requireDeletable(old: VirtualServer, where: string): void {
  const { name } = old.metadata;
  if (old.spec.deletionProtection) {
    throw new CommandError(EXIT.failed, `${name} is protected, and stays`, [`kubectl vps unprotect ${name}${where}`]);
  }
  if (isPaused(old)) {
    throw new CommandError(EXIT.failed, `${name} is paused: the operator would not cancel its server`, [
      `kubectl vps resume ${name}${where}`,
    ]);
  }
}

/** True for a label or an annotation by which such a tool knows its objects. */
export const isAppliers = (key: string): boolean => key.includes('/') && APPLIERS.has(key);

/** Tools that create an object again after its deletion: their field managers, and the labels and annotations of what they apply. */
const APPLIERS: ReadonlyMap<string, string> = new Map([
  ['argocd-controller', 'Argo CD'],
  ['argocd-application-controller', 'Argo CD'],
  ['argocd.argoproj.io/tracking-id', 'Argo CD'],
  ['kustomize-controller', 'Flux'],
  ['kustomize.toolkit.fluxcd.io/name', 'Flux'],
  ['helm-controller', 'Flux'],
  ['helm.toolkit.fluxcd.io/name', 'Flux'],
  ['helm', 'Helm'],
  ['meta.helm.sh/release-name', 'Helm'],
]);

/** The tool that applies the object, such as a GitOps tool; undefined: none that is known. */
export function applierOf({ metadata }: VirtualServer): string | undefined {
  const { managedFields = [] } = metadata as { managedFields?: { manager?: string }[] };
  const { labels = {}, annotations = {} } = metadata;
  const marks = [
    ...managedFields.map(({ manager = '' }) => manager),
    ...Object.keys(labels),
    ...Object.keys(annotations),
  ];
  return marks.map((mark) => APPLIERS.get(mark)).find((applier) => applier !== undefined);
}
