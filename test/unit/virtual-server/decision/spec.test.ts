import { describe, expect, it } from 'vitest';
import { specProblem } from '../../../../src/virtual-server/decision/spec.ts';
import { CATALOG, web } from '../../../gen/decision.ts';

const { spec } = web();

describe('specProblem', () => {
  it.each([
    { reason: 'everything is offered', changes: {}, problem: undefined },
    {
      reason: 'a typo in the product',
      changes: { product: 'VPS-2GB' },
      problem: 'spec.product "VPS-2GB" is not offered; nearest valid values: vps-2gb, vps-1gb',
    },
    {
      reason: 'a wrong image',
      changes: { image: 'debian-12/minimal' },
      problem: 'spec.image "debian-12/minimal" is not offered; nearest valid values: debian-13.qcow2/minimal',
    },
    {
      reason: 'a size between two',
      changes: { diskSize: 22 },
      problem: 'spec.diskSize 22 is not offered; nearest valid values: 20, 10, 40',
    },
  ])('names the field and the nearest valid values: $reason', ({ changes, problem }) => {
    expect(specProblem({ ...spec, ...changes }, CATALOG)).toBe(problem);
  });

  it('names every field that is wrong', () => {
    const problem = specProblem({ ...spec, product: 'x', image: 'y/z', diskSize: 1 }, CATALOG);
    expect(problem?.split('; ').filter((part) => part.startsWith('spec.'))).toHaveLength(3);
  });

  it('shows only a few of many values, each cut', () => {
    const products = Array.from({ length: 50 }, (_, index) => ({ code: `${index}${'p'.repeat(500)}` }));
    const problem = specProblem(spec, { ...CATALOG, products }) ?? '';
    expect(problem).toContain('and 45 more');
    expect(problem.length).toBeLessThan(500);
  });

  it('reports that the provider offers nothing', () => {
    expect(specProblem(spec, { ...CATALOG, diskSizes: {} })).toBe(
      "spec.diskSize 20 is not offered: the provider's list is empty",
    );
  });
});
