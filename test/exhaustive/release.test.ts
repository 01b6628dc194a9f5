/** Rebuilding a release reproduces the files with the published checksums. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CHECKSUMS, writeRelease } from '../../tools/release/files.ts';

const OPTIONS = { node: '24.21.0', digest: `sha256:${'0123456789abcdef'.repeat(4)}` };

it('is identical when it is built again', { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-release-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const sums: string[] = [];
  for (const name of ['first', 'second']) {
    await writeRelease(join(folder, name), OPTIONS);
    sums.push(await readFile(join(folder, name, CHECKSUMS), 'utf8'));
  }
  expect(sums[1]).toBe(sums[0]);
});
