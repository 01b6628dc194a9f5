/** A create with an unknown outcome that a user resolves: each correct way, and each wrong one. */
import { describe, expect, it } from 'vitest';
import { virtualServer, withAnnotations } from '../../fixtures/virtual-server.ts';
import { attemptOf, CREATE, isEditable, records, sent } from '../support/creates.ts';
import { createWorld, type World } from '../support/world.ts';

/** An object whose only create ended with a broken connection, with or without a server at the provider. */
async function withLostAnswer(made: boolean): Promise<{ world: World; attempt: string; identifier: string }> {
  const world = await createWorld();
  world.simulator.faults.inject({ match: CREATE, action: { kind: 'reset', after: made } });
  await world.create(virtualServer('web'));
  const object = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
  const [created] = world.simulator.ledger.creates();
  return { world, attempt: attemptOf(object) ?? '', identifier: created?.identifier ?? '' };
}

describe('an unknown outcome that a user resolves', () => {
  it('leads to exactly one more create when not-created names the attempt', async () => {
    const { world, attempt } = await withLostAnswer(false);
    await world.annotate('web', { 'not-created': attempt });
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(attemptOf(ready)).not.toBe(attempt);
    await world.visited('web');
    expect(sent(world)).toHaveLength(2);
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });

  it('stays resolved when the annotation is seen again after another lost answer', async () => {
    const { world, attempt } = await withLostAnswer(false);
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'reset' } });
    await world.annotate('web', { 'not-created': attempt });
    const again = await world.waitFor(
      'web',
      (object) => ![undefined, attempt].includes(records(object).mirror.attempt),
    );
    await world.visited('web');
    expect(attemptOf(await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled'))).toBe(attemptOf(again));
    expect(sent(world)).toHaveLength(2);
    expect(await isEditable(world, 'web')).toBe(false);
  });

  it.for(['', 'true', '0123456789abcdef'])('is not resolved by the name "%s" of another attempt', async (value) => {
    const { world, attempt } = await withLostAnswer(false);
    await world.annotate('web', { 'not-created': value });
    await world.visited('web');
    const object = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    expect(attemptOf(object)).toBe(attempt);
    expect(sent(world)).toHaveLength(1);
  });

  it('is resolved by adopting the named server, without another order', async () => {
    const { world, identifier } = await withLostAnswer(true);
    await world.annotate('web', { adopt: identifier });
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(records(ready).annotation).toMatchObject({ mode: 'adopt', identifier });
    expect(records(ready).annotation).toEqual(records(ready).mirror);
    expect(attemptOf(ready)).toBeUndefined();
    await world.visited('web');
    expect(sent(world)).toHaveLength(1);
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels().map((cancel) => cancel.identifier)).toEqual([identifier]);
  });

  it('waits for an adopted server whose task still runs', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'reset', after: true } });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    const [created] = world.simulator.ledger.creates();
    await world.annotate('web', { adopt: created?.identifier ?? '' });
    await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    world.simulator.fleet.completeTask(created?.task ?? 0);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });

  it('parks when the annotation names no server, and acts once it is corrected', async () => {
    const { world, attempt, identifier } = await withLostAnswer(true);
    await world.annotate('web', { adopt: 'no such server' });
    expect(attemptOf(await world.waitForReason('web', 'AdoptInvalid', 'Stalled'))).toBe(attempt);
    await world.annotate('web', { adopt: 'vs-none' });
    expect(attemptOf(await world.waitForReason('web', 'ServerNotVisible', 'Stalled'))).toBe(attempt);
    await world.annotate('web', { adopt: identifier });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });
});

describe('an object that is deleted while the outcome of its create is unknown', () => {
  it('is held until its server is adopted, which is then cancelled', async () => {
    const { world, identifier } = await withLostAnswer(true);
    await world.delete('web');
    await world.visited('web');
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    expect(world.simulator.ledger.cancels()).toEqual([]);
    await world.until(() => world.simulator.aliveServers().every(({ state }) => state === 'running'), 'the server');
    await world.annotate('web', { adopt: identifier });
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(sent(world)).toHaveLength(1);
  });

  it('is released without any call when not-created names the attempt', async () => {
    const { world, attempt } = await withLostAnswer(false);
    await world.delete('web');
    await world.visited('web');
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    const before = world.simulator.ledger.requestCount;
    await world.annotate('web', { 'not-created': attempt });
    await world.waitGone('web');
    expect(world.simulator.ledger.requestCount).toBe(before);
    expect(world.log.some(({ msg }) => String(msg).includes('removed by force'))).toBe(false);
  });

  it('is also held with deletionPolicy Retain, until not-created names the attempt', async () => {
    const { world, attempt } = await withLostAnswer(false);
    await world.patch('web', { spec: { deletionPolicy: 'Retain' } });
    await world.delete('web');
    await world.visited('web');
    expect((await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled')).metadata.finalizers).toHaveLength(1);
    await world.annotate('web', { 'not-created': attempt });
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('is also cancelled when it was adopted before the deletion', async () => {
    const world = await createWorld();
    const server = world.simulator.fleet.addServer('default');
    await world.create(virtualServer('web', withAnnotations({ 'vps-operator.dev/adopt': server.identifier })));
    await world.waitForReason('web', 'Available', 'Ready');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(sent(world)).toEqual([]);
  });
});
