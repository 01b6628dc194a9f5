/** The demo's child processes. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
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

it('tells that no command draws anymore before it stops the programs that do not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-children-'));
  const children = createChildren(folder);
  const file = (name: string): string => join(folder, name);
  const has = (name: string): boolean => existsSync(file(name));
  const writes = (name: string): string => `require('node:fs').writeFileSync(${JSON.stringify(file(name))}, '')`;
  const program = `process.once('SIGTERM', () => { ${writes('program-ended')}; process.exit() }); setInterval(() => {}, 1000);`;
  children.start({ name: 'program', args: ['-e', `${program} ${writes('program-runs')}`], log: file('log') });
  void children.run(
    `trap 'touch ${file('command-ended')}; exit' TERM; touch ${file('command-runs')}; while :; do sleep 0.02; done`,
    60_000,
  );
  await vi.waitUntil(() => has('program-runs') && has('command-runs'), { timeout: 60_000 });
  let atQuiet: boolean[] = [];
  await children.stop(() => {
    atQuiet = [has('command-ended'), has('program-ended')];
  });
  expect(atQuiet).toEqual([true, false]);
  expect(has('program-ended')).toBe(true);
  await rm(folder, { recursive: true, force: true });
});
