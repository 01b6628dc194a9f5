/** An upgrade from versions that wrote format 1: one operator starts on what they left, with an order or a server of each kind. */
import { expect, it } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { phaseOf, type ServerRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { knownRecord } from '../../../src/virtual-server/decision/known-record.ts';
import { ACCOUNT, UID } from '../../fixtures/decision.ts';
import { LEFT, type Left } from '../../fixtures/format-1.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

/** The object with its own uid, account, task and server in place of those of the fixture. */
async function leave(world: World, name: string, left: Left, account: string): Promise<VirtualServer> {
  const { annotations = {}, finalizers = [], deleting = false, spec = {}, status } = left;
  const { [RECORD_ANNOTATION]: record = '', ...others } = annotations;
  const { metadata } = await world.create(virtualServer(name, withSpec(spec), withAnnotations(others)));
  const number = Number(name.replaceAll(/\D/g, ''));
  const own = (text: string): string =>
    text
      .replaceAll(UID, metadata.uid)
      .replaceAll(`"${ACCOUNT}"`, `"${account}"`)
      .replaceAll('"srv1"', `"srv-${name}"`)
      .replaceAll(/"task":7\b/g, `"task":${7000 + number}`);
  await world.patch(name, { metadata: { finalizers, annotations: { [RECORD_ANNOTATION]: own(record) } } });
  if (status !== undefined) await world.patch(name, JSON.parse(own(JSON.stringify({ status }))) as object, '/status');
  if (deleting) await world.delete(name);
  return (await world.get(name)) as VirtualServer;
}

/** What must not get lost. The provider of this world may lead to another question, and more may become known. */
const essential = ({
  attempt,
  task,
  identifier,
  doubt,
  open,
  missingAt,
  expiredAt,
  orphans,
}: ServerRecord): object => ({
  ...(attempt !== undefined && { attempt }),
  ...(task !== undefined && { task }),
  ...(identifier !== undefined && { identifier }),
  ...(doubt && { doubt: expect.anything() as object }),
  ...(open && { open: expect.anything() as object }),
  ...(missingAt !== undefined && { missingAt }),
  ...(expiredAt !== undefined && { expiredAt }),
  ...(orphans && { orphans }),
});

it.for(['stored', 'shown'] as const)(
  'orders nothing twice and cancels nothing, whatever was open (doubts were %s)',
  async (version) => {
    // Nothing of what the provider does not show is proven to be gone during the test.
    const world = await createWorld({ flags: ['--absence-grace=1h'] });
    const { account = '' } = recordOf(await readyServer(world, 'ready'));
    await world.stopOperator();
    const before = new Map<string, VirtualServer>();
    for (const [index, left] of Object.values(LEFT[version]).entries()) {
      const name = `${version}-${index}`;
      before.set(name, await leave(world, name, left, account));
    }
    const asked = world.simulator.ledger.requests({ method: 'POST', route: '/beta/vps/servers' }).length;
    await world.startOperator();

    let ordered = 0;
    for (const [name, object] of before) {
      const own = knownRecord(object) as ServerRecord;
      await world.visited(name);
      // Until then, an earlier process might still be sending the order.
      if (phaseOf(own) === 'claimed') await world.waitForReason(name, 'CreateOutcomeUnknown', 'Stalled');
      const after = knownRecord((await world.get(name)) as VirtualServer) as ServerRecord;
      // An order that was refused, or that has failed, is followed by another one.
      if (phaseOf(own) === 'unordered') ordered += 1;
      else expect(after, name).toMatchObject(essential(own));
    }
    expect(ordered).toBe(3);
    expect(world.simulator.ledger.requests({ method: 'POST', route: '/beta/vps/servers' })).toHaveLength(
      asked + ordered,
    );
    expect(world.simulator.ledger.cancels()).toEqual([]);
  },
);
