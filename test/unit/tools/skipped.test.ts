import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SKIPPED_FILE, reportSkipped, skippedIn } from '../../../tools/skipped.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-skipped-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

it('collects what a run skips, each once', async () => {
  const file = join(folder, 'skipped');
  expect(await skippedIn(file)).toEqual([]);
  vi.stubEnv(SKIPPED_FILE, file);
  for (const what of ['ssh', 'proxy', 'ssh']) reportSkipped(what, 'no program');
  expect(await skippedIn(file)).toEqual(['proxy: no program', 'ssh: no program']);
});
