/** What a process that is about to end still has to record. */
import { describe, expect, it } from 'vitest';
import type { ServerRecord } from '../../../../src/api/record.ts';
import { createLogger } from '../../../../src/base/logger.ts';
import { Holders } from '../../../../src/virtual-server/shared/holders.ts';
import { openJournal } from '../../../../src/virtual-server/journal/journal.ts';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';
import { Unrecorded } from '../../../../src/virtual-server/shared/losses.ts';
import { Objects } from '../../../../src/virtual-server/shared/objects.ts';
import { ACCOUNT, ATTEMPTED, TASKED, UID, record, webWith } from '../../../fixtures/decision.ts';

/** The journal has task 7 of order a1; how many objects are restored from it. */
async function restoredWith(own: ServerRecord): Promise<number> {
  const journal = await openJournal({ dir: undefined });
  const attempt = { namespace: 'default', name: 'web', uid: UID, attempt: 'a1', account: ACCOUNT };
  await journal.minted({ ...attempt, mintedAt: '2026-01-01T23:59:00Z' });
  await journal.sending(UID, 'a1');
  await journal.task(UID, 'a1', 7);
  const object = webWith(own);
  const objects = new Objects({ get: () => object }, new Holders(() => ACCOUNT), new ServerQuota(0));
  let restored = 0;
  const unrecorded = new Unrecorded({
    kube: { getVirtualServer: () => Promise.resolve(object) },
    journal,
    log: createLogger({ level: 'fatal' }),
    objects,
    restore: () => Promise.resolve(void (restored += 1)),
  });
  await unrecorded.record();
  return restored;
}

describe('a task that the journal knows', () => {
  it('is restored if the record lacks it', async () => {
    expect(await restoredWith(ATTEMPTED)).toBe(1);
  });

  it.each([
    ['as the task of the order', TASKED],
    ['as an orphan', record({ orphans: [{ attempt: 'a1', task: 7 }] })],
    ['as a failed order', record({ failed: [{ attempt: 'a1', task: 7, identifier: 'srv1' }] })],
  ])('is recorded %s', async (_how, own) => {
    expect(await restoredWith(own)).toBe(0);
  });
});
