import { describe, expect, it } from 'vitest';
import { counter, histogram, Metrics } from '../../../src/base/metrics.ts';

const FOUND = counter('found_total', 'Found.', 'kind');
const LOST = counter('lost_total', 'Lost.');
const SECONDS = histogram('seconds', 'Seconds.', [1, 10], 'kind');

const linesOf = async ({ registry }: Metrics): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('metrics', () => {
  it('begin at 0, and count', async () => {
    const metrics = new Metrics();
    metrics.begin(FOUND, { kind: 'a' });
    metrics.begin(LOST, {});
    metrics.begin(SECONDS, { kind: 'a' });
    metrics.add(FOUND, { kind: 'b' });
    metrics.observe(SECONDS, { kind: 'a' }, 5);
    expect(await linesOf(metrics)).toEqual([
      'found_total{kind="a"} 0',
      'found_total{kind="b"} 1',
      'lost_total 0',
      'seconds_bucket{le="1",kind="a"} 0',
      'seconds_bucket{le="10",kind="a"} 1',
      'seconds_bucket{le="+Inf",kind="a"} 1',
      'seconds_sum{kind="a"} 5',
      'seconds_count{kind="a"} 1',
    ]);
  });

  it('of two operators in one process have values of their own', async () => {
    const [one, other] = [new Metrics(), new Metrics()];
    one.add(LOST, {});
    other.begin(LOST, {});
    expect(await linesOf(one)).toEqual(['lost_total 1']);
    expect(await linesOf(other)).toEqual(['lost_total 0']);
  });

  it('show exactly the given samples of a gauge', async () => {
    const metrics = new Metrics();
    const gauge = { name: 'size', help: 'Size.', labels: ['kind'] };
    metrics.show(gauge, [{ labels: { kind: 'a' }, value: 1 }]);
    metrics.show(gauge, [{ labels: { kind: 'b' }, value: 2 }]);
    expect(await linesOf(metrics)).toEqual(['size{kind="b"} 2']);
  });

  it('never throw into the operator, and report only the first failure', () => {
    const faults: unknown[] = [];
    const metrics = new Metrics((error) => faults.push(error));
    metrics.observe(SECONDS, { kind: 'a' }, NaN);
    metrics.observe(SECONDS, { kind: 'a' }, Infinity);
    expect(faults).toHaveLength(1);
  });
});
