import { distance } from 'fastest-levenshtein';
import { describe, expect, it, vi } from 'vitest';
import { specProblem } from '../../../../src/virtual-server/decision/spec.ts';
import { CATALOG, web } from '../../../fixtures/decision.ts';
import { PRIVATE_KEYS, SECRET } from '../../../fixtures/public-keys.ts';

vi.mock(import('fastest-levenshtein'), { spy: true });

const { spec } = web();

describe('specProblem', () => {
  it.each([
    { reason: 'everything is offered', changes: {}, problem: undefined },
    {
      reason: 'a typo in the product',
      changes: { product: 'vpsx8' },
      problem: 'spec.product "vpsx8" is not offered; nearest valid values: VPSX8, VPSX4',
    },
    {
      reason: 'a wrong image',
      changes: { image: 'debian-12/minimal' },
      problem: 'spec.image "debian-12/minimal" is not offered; nearest valid values: cloudinit-debian-trixie.raw.gz',
    },
    {
      reason: 'a size between two',
      changes: { diskSize: 11264 },
      problem: 'spec.diskSize 11264 is not offered; nearest valid values: 10240, 5120, 20480',
    },
    {
      reason: 'a disk type that is not listed',
      changes: { diskType: 'hd' },
      problem: 'spec.diskType "hd" is not offered; nearest valid values: ssd',
    },
  ])('names the field and the nearest valid values: $reason', ({ changes, problem }) => {
    expect(specProblem({ ...spec, ...changes }, CATALOG)).toBe(problem);
  });

  it.each([
    ['many names', 150_000, (index: number): string => `VPSX${100_000 + index}`],
    ['long names', 50, (index: number): string => 'p'.repeat(100_000 + index)],
  ])('compares few letters of %s, because that blocks the process', (_, length, code) => {
    const products = Array.from({ length }, (_, index) => ({ code: code(index) }));
    vi.mocked(distance).mockClear();
    expect(specProblem(spec, { ...CATALOG, products })).toContain(` and ${length - 5} more`);
    const compared = vi.mocked(distance).mock.calls.map(([, candidate]) => candidate.length);
    expect(compared.reduce((sum, letters) => sum + letters, 0)).toBeLessThanOrEqual(2_000 * 12);
  });

  it.each(['product', 'image'] as const)('quotes no private key that was pasted as the %s', (field) => {
    for (const text of Object.values(PRIVATE_KEYS)) {
      const problem = specProblem({ ...spec, [field]: text }, CATALOG);
      expect(problem).toContain(`spec.${field} (${text.length} characters) is not offered`);
      expect(problem).not.toContain(SECRET);
    }
  });

  it('calls values the nearest only if it has compared all', () => {
    const products = Array.from({ length: 3_000 }, (_, index) => ({ code: `VPSX${1_000 + index}` }));
    expect(specProblem(spec, { ...CATALOG, products })).toContain('is not offered; some valid values: VPSX');
  });

  it('compares the disk size with the sizes of the disk type', () => {
    const catalog = { ...CATALOG, diskSizes: { ssd: [10240], hdd: [40960] } };
    expect(specProblem({ ...spec, diskType: 'hdd', diskSize: 40960 }, catalog)).toBeUndefined();
    expect(specProblem({ ...spec, diskType: 'hdd', diskSize: 10240 }, catalog)).toBe(
      'spec.diskSize 10240 is not offered; nearest valid values: 40960',
    );
    expect(specProblem({ ...spec, diskType: 'constructor' }, catalog)).toContain('nearest valid values: ssd, hdd');
  });

  it('offers no disk that is smaller than the one that is to change', () => {
    const lists = { ...CATALOG, diskSizes: { ssd: [5120, 10240, 20480, 40960] } };
    const larger = { ...spec, diskSize: 30000 };
    expect(specProblem(larger, lists)).toContain('nearest valid values: 20480, 40960, 10240, 5120');
    expect(specProblem(larger, { ...lists, hasDisk: 20480 })).toBe(
      'spec.diskSize 30000 is not offered; nearest valid values: 20480, 40960',
    );
    expect(specProblem({ ...spec, diskSize: 90000 }, { ...lists, hasDisk: 81920 })).toBe(
      'spec.diskSize 90000 is not offered; the provider offers no size from 81920 on, and a disk can only get larger',
    );
  });

  it('compares the zone with the zones, if the provider lists them', () => {
    const zones = [{ code: 'uk' }, { code: 'lon' }, { code: 'cam' }];
    const inZone = { ...spec, zone: 'lno' };
    expect(specProblem({ ...inZone, zone: 'uk' }, { ...CATALOG, zones })).toBeUndefined();
    expect(specProblem(inZone, CATALOG)).toBeUndefined();
    expect(specProblem(inZone, { ...CATALOG, zones })).toBe(
      'spec.zone "lno" is not offered; nearest valid values: lon, cam, uk',
    );
  });

  it('reports that the provider offers nothing', () => {
    expect(specProblem(spec, { ...CATALOG, diskSizes: {} })).toBe(
      "spec.diskSize 10240 is not offered: the provider's list is empty",
    );
  });
});
