/** How many servers a set allows, written apart from the product. */
import type { VirtualServerSetSpec } from '../../src/api/virtual-server-set.ts';
import { surgeOf } from '../fixtures/set-limits.ts';

export type Limits = Pick<VirtualServerSetSpec, 'replicas'> & VirtualServerSetSpec['strategy']['rollingUpdate'];

export const limitsOf = ({ replicas, strategy }: VirtualServerSetSpec): Limits => ({
  replicas,
  ...strategy.rollingUpdate,
});

/** How many servers may exist. */
export const mostOf = (limits: Limits): number => limits.replicas + surgeOf(limits);
