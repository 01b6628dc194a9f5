import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockFolder } from '../../../../src/virtual-server/journal/lock.ts';

it('locks no other folder once its own is removed', async ({ onTestFinished }) => {
  const parent = await mkdtemp(join(tmpdir(), 'vps-operator-lock-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const removed = join(parent, 'removed');
  await mkdir(removed);
  const unlock = await lockFolder(removed);
  await expect(lockFolder(removed)).rejects.toMatchObject({ code: 'InUse' });
  await rm(removed, { recursive: true });
  // A file system gives a new folder the inode of one that is gone.
  const others = Array.from({ length: 20 }, (_, index) => join(parent, `other-${index}`));
  for (const other of others) {
    await mkdir(other);
    await (
      await lockFolder(other)
    )();
  }
  await unlock();
});
