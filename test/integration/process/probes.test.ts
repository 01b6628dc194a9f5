/** /livez and /readyz of a real operator: at its start, as a standby, without an API server, at its end. */
import { describe, expect, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { recordOf } from '../support/records.ts';
import { CREATE } from '../support/creates.ts';
import { spawnOperator, startDetour } from '../support/process.ts';
import { pageUrl, read, scrape, valueOf } from '../support/scrape.ts';
import { createWorld, type World } from '../support/world.ts';

const PROBES = '--health-probe-bind-address=127.0.0.1:0';
const METRICS = '--metrics-bind-address=127.0.0.1:0';
const OK = { status: 200, body: 'ok\n' };

/** Waits until the page gives this answer. */
async function answers(world: World, url: string, status: number, body: RegExp): Promise<void> {
  let last: unknown;
  await world.until(
    async () => {
      const page = await read(url);
      last = page;
      return page.status === status && body.test(page.body);
    },
    () => `${url} to answer ${status} ${body.source}; it is ${JSON.stringify(last)}`,
  );
}

describe('the probes of an operator', () => {
  it('report alive and not ready until the caches are in sync', async () => {
    const world = await createWorld({ operator: false });
    const detour = await startDetour(world);
    detour.cut();
    const operator = await spawnOperator(world, [PROBES, detour.flag]);
    const readyz = await pageUrl(world, '/readyz');
    const livez = readyz.replace('/readyz', '/livez');
    expect(await read(readyz)).toEqual({ status: 500, body: 'caches: not in sync yet\n' });
    expect(await read(livez)).toEqual(OK);
    detour.restore();
    await answers(world, readyz, 200, /^ok\n$/);

    // An unreachable API server is no reason to restart.
    detour.cut();
    const problem = 'cannot watch the API server; retrying';
    await world.until(() => world.log.filter(({ msg }) => msg === problem).length >= 2, 'the outage to be noticed');
    expect(await read(livez)).toEqual(OK);
    expect(await read(readyz)).toEqual(OK);
    detour.restore();
    expect(await operator.kill('SIGTERM')).toBe(0);
    await expect(read(livez)).rejects.toThrow('fetch failed');
  });

  it('report a standby as ready while it can read the Lease', async () => {
    const world = await createWorld({ operator: false });
    const leading = [
      '--leader-elect',
      `--operator-namespace=${world.namespace}`,
      '--lease-duration=3s',
      METRICS,
      PROBES,
    ];
    await world.startOperator({ flags: leading });
    expect(await read(await pageUrl(world, '/readyz'))).toEqual(OK);
    expect(valueOf(await scrape(await pageUrl(world, '/metrics')), 'leader_election_master_status')).toBe(1);

    const detour = await startDetour(world);
    detour.cut();
    const served = world.log.filter(({ msg }) => msg === 'serving pages').length;
    const second = await world.joinOperator({ flags: [...leading, detour.flag, '--kube-timeout=1s'] });
    await world.until(
      () => world.log.filter(({ msg }) => msg === 'serving pages').length === served + 2,
      'the second operator to serve pages',
    );
    const readyz = await pageUrl(world, '/readyz');
    expect(await read(readyz)).toEqual({
      status: 500,
      body: 'standby: the API server has not answered for the Lease yet\n',
    });
    detour.restore();
    await answers(world, readyz, 200, /^ok\n$/);
    detour.cut();
    await answers(world, readyz, 500, /^standby: the API server has not answered for the Lease for \d+ s\n$/);
    expect(await read(readyz.replace('/readyz', '/livez'))).toEqual(OK);
    detour.restore();
    await answers(world, readyz, 200, /^ok\n$/);
    expect(second.started()).toBe(false);
    expect(valueOf(await scrape(await pageUrl(world, '/metrics')), 'leader_election_master_status')).toBe(0);
  });

  it('report alive and not ready while the operator waits for the answer to its last order', async () => {
    const world = await createWorld({ operator: false, flags: ['--create-timeout=20s'] });
    const operator = await spawnOperator(world, [PROBES]);
    const readyz = await pageUrl(world, '/readyz');
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'delay', ms: 4_000 } });
    await world.create(virtualServer('web'));
    await world.until(() => world.simulator.ledger.requests(CREATE).length > 0, 'the order to be sent');
    operator.terminate();
    await answers(world, readyz, 500, /^stopping: the process is about to end\n$/);
    expect(await read(readyz.replace('/readyz', '/livez'))).toEqual(OK);
    expect(await operator.exited).toBe(0);
    await expect(read(readyz)).rejects.toThrow('fetch failed');
    const object = await world.get('web');
    expect(object && recordOf(object).task).toBeDefined();
  });
});
