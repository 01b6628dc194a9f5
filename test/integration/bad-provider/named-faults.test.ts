/** The named faults of the simulator; docs/reference/simulator.md lists what an object reports. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NAMED_FAULTS, namedFault, type FaultName } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createWorld } from '../support/world.ts';

const page = await readFile(join(import.meta.dirname, '../../../docs/reference/simulator.md'), 'utf8');
const rows = [...page.matchAll(/^\| `([a-z-]+)` \|.*?\| \[(\w+)\]/gm)].map(([, name = '', reason = '']) => ({
  name: name as FaultName,
  reason,
}));
/** The provider has accepted the order, whatever the operator knows of it. */
const CREATED: FaultName[] = ['lost-answer', 'failed-task'];

describe('a named fault', () => {
  it('has a row on the page', () => {
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(NAMED_FAULTS));
  });

  it.concurrent.for(rows)('$name leads to $reason', async ({ name, reason }, { onTestFinished }) => {
    const world = await createWorld({ flags: ['--provider-timeout=700ms'], onTestFinished });
    const fault = world.simulator.faults.inject(namedFault(name, Infinity));
    await world.create(virtualServer('web'));
    await world.waitForReason('web', reason, 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(CREATED.includes(name) ? 1 : 0);
    fault.remove();
  });
});
