/** A whole life with the GitOps tools that test/integration/gitops/fields.test.ts omits. */
import { it } from 'vitest';
import { APPLIERS, applyThroughLife, LIFE_MS } from '../integration/gitops/applied-life.ts';

it.each(APPLIERS.slice(1))(
  'applies one manifest with $who through a whole life without a difference or a conflict',
  { timeout: LIFE_MS },
  applyThroughLife,
);
