/** A whole life beside the tools that test/integration/gitops/fields.test.ts leaves out. */
import { it } from 'vitest';
import { APPLIERS, applyThroughLife, LIFE_MS } from '../integration/gitops/applied-life.ts';

it.each(APPLIERS.slice(1))(
  'one manifest is applied by $who through a whole life without a difference or a conflict',
  { timeout: LIFE_MS },
  applyThroughLife,
);
