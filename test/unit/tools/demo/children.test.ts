/** The demo's child processes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createChildren } from '../../../../tools/demo/children.ts';

it('starts nothing after the stop, when the folder may be gone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-children-'));
  const children = createChildren(folder);
  await children.stop();
  // The watchdog may already be removing it.
  await rm(folder, { recursive: true, force: true });
  const { failed } = children.start({ name: 'late', args: ['--version'], log: join(folder, 'late.log') });
  expect(await Promise.race([failed, turn('nothing')])).toBe('nothing');
});
