/** The limits of a set, written apart from the product, from the documentation of Deployments. */

export interface LimitFields {
  replicas?: number | undefined;
  maxSurge?: number | string | undefined;
  maxUnavailable?: number | string | undefined;
}

/** How many members may exist in addition to `replicas`. */
export function surgeOf({ maxSurge = 1, replicas = 0 }: LimitFields): number {
  return typeof maxSurge === 'number' ? maxSurge : Math.ceil(partOf(maxSurge, replicas));
}

/** How many members must stay available. */
export function leastOf(fields: LimitFields): number {
  const { maxUnavailable = 0, replicas = 0 } = fields;
  const exact = typeof maxUnavailable === 'number' ? maxUnavailable : partOf(maxUnavailable, replicas);
  const unavailable = Math.floor(exact);
  return Math.max(0, replicas - (unavailable === 0 && surgeOf(fields) === 0 ? 1 : unavailable));
}

const partOf = (percentage: string, replicas: number): number => (replicas * Number(percentage.slice(0, -1))) / 100;
