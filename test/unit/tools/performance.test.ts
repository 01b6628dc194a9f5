import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { performancePages } from '../../../tools/performance/main.ts';
import { withFigures } from '../../../tools/performance/page.ts';
import { figuresOf, parseResults } from '../../../tools/performance/results.ts';

const run = (peer: string, n: number, readySeconds: number, more: object = {}): object => ({
  ...{ peer, n, at: '2026-11-23T00:00:00.000Z', readySeconds, goneSeconds: 1 },
  ...more,
});
const parsed = (...runs: object[]): ReturnType<typeof parseResults> => parseResults(JSON.stringify(runs));

describe('the figures of benchmarks', () => {
  it('are medians over the runs of one program with as many servers', () => {
    const results = parsed(run('product', 100, 3), run('limit', 100, 1), run('product', 100, 2), run('product', 10, 9));
    expect(figuresOf(results)).toMatchObject([
      { peer: 'product', n: 10, readySeconds: 9, runs: 1 },
      { peer: 'product', n: 100, readySeconds: 2.5, runs: 2 },
      { peer: 'limit', n: 100, readySeconds: 1, runs: 1 },
    ]);
  });

  it('count for each server what was measured in all, with what the operator completes while all are Ready', () => {
    const cpu = (apiserver: number, etcd: number): object => ({ cpu: { apiserver, etcd } });
    const phases = [
      { name: 'ready', ...cpu(3, 1) },
      { name: 'idle', ...cpu(1, 1) },
      { name: 'singles', ...cpu(100, 100) },
      { name: 'gone', ...cpu(1, 1) },
    ];
    const [figures] = figuresOf(
      parsed(run('product', 100, 1, { operatorCpu: { ready: 1, idle: 0.1, gone: 0.5 }, phases })),
    );
    expect(figures).toMatchObject({ cpuMsPerServer: 16, controlPlaneMsPerServer: 80 });
  });

  it('name the field of a result that is wrong', () => {
    expect(() => parseResults('[{"peer":"product"}]')).toThrow(/at \[0\]\.n\b/);
  });
});

describe('the performance page', () => {
  it('shows the figures that were taken over last, with a plot of them', async () => {
    const pages = await performancePages();
    expect(pages.size).toBe(3);
    for (const [path, content] of pages) expect(await readFile(path, 'utf8'), path).toBe(content);
  });

  it('has a table for each number of servers with a column for each program, and a dash for what was not measured', () => {
    const page =
      'before\n<!-- figures: `npm run performance` writes this part -->\nold\n<!-- end of figures -->\nafter';
    const figures = figuresOf(parsed(run('limit', 1000, 5.55), run('product', 1000, 20, { peakRssMb: 133 })));
    const text = withFigures(page, figures);
    expect(text).toContain('| 1,000 servers | vps-operator | bare writes |');
    expect(text).toContain('| peak memory (MB) | 133 | - |');
    expect(text).not.toContain('old');
    expect(() => withFigures('nothing', figures)).toThrow('the page needs');
  });
});
