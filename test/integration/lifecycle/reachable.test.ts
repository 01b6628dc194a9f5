/** spec.sshCheck: Ready requires that an SSH server answers. The SSH host is the simulator's proxy address. */
import { expect, it } from 'vitest';
import { readyServer } from '../support/records.ts';
import { hasSshd, startSshd } from '../support/sshd.ts';
import { condition, createWorld } from '../support/world.ts';

it.skipIf(!hasSshd)('sshCheck follows a real sshd without help, and edits of the field', async () => {
  const sshd = await startSshd();
  const world = await createWorld({ flags: ['--resync-interval=1s'] });
  const { status } = await readyServer(world, 'web');
  const ssh_proxy = { hostname: '127.0.0.1', port: sshd.port };
  world.simulator.fleet.updateServer(status?.identifier ?? '', { ssh_proxy });
  await world.patch('web', { spec: { sshCheck: 'Proxy' } });
  const ready = await world.waitForReason('web', 'Reachable', 'Reachable');
  expect(condition(ready, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
  expect(condition(ready, 'Reachable')?.message).toMatch(
    new RegExp(`^An SSH server answers at 127\\.0\\.0\\.1:${sshd.port}: SSH-2\\.0-OpenSSH`),
  );
  await sshd.stop();
  const gone = await world.waitForReason('web', 'Unreachable', 'Ready');
  expect(condition(gone, 'Reachable')).toMatchObject({ status: 'False', reason: 'Unreachable' });
  expect(condition(gone, 'Ready')?.message).toContain(`127.0.0.1:${sshd.port}: connection refused`);
  expect(condition(gone, 'Stalled')).toBeUndefined();
  await sshd.start();
  await world.waitForReason('web', 'Available', 'Ready');
  const told = async (): Promise<string[]> => (await world.events('web')).map(({ reason }) => reason);
  await expect.poll(told).toContain('Unreachable');

  // No SSH server answers there: the address is reserved for documentation, or this machine has no IPv6.
  await world.patch('web', { spec: { sshCheck: 'Direct' } });
  const direct = await world.waitForReason('web', 'Unreachable', 'Ready');
  expect(condition(direct, 'Reachable')?.message).toMatch(/\[2001:db8:[0-9a-f:]+\]:22: /);
  await world.patch('web', { spec: { sshCheck: 'None' } });
  const none = await world.waitForReason('web', 'Available', 'Ready');
  expect(condition(none, 'Reachable')).toBeUndefined();
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.ledger.cancels()).toEqual([]);
});
