/** actionlint's checks of the workflows of GitHub Actions. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { goProgram } from '../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../tools/go-programs.ts';
import { ROOT } from '../../tools/image-build.ts';

const WORKFLOWS = '.github/workflows';
const BUILD_MS = 900_000;

let actionlint: string;
beforeAll(async () => {
  actionlint = await goProgram(GO_PROGRAMS.actionlint);
}, BUILD_MS);

/** Kinds of the findings in a checkout. Only its own checks: it would also run linters that happen to be installed. */
function findings(checkout: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const args = ['-format', '{{json .}}', '-shellcheck=', '-pyflakes='];
    // actionlint exits with 1 if it finds something; it has failed only if there is no output.
    execFile(actionlint, args, { cwd: checkout }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`actionlint printed nothing: ${stderr}`, { cause: error }));
      else
        resolve(
          (JSON.parse(stdout) as { kind: string; message: string }[]).map((one) => `${one.kind}: ${one.message}`),
        );
    });
  });
}

it('finds nothing in the workflows', async () => {
  expect(await findings(ROOT)).toEqual([]);
});

it('finds nothing in the example', async () => {
  const checkout = await mkdtemp(join(tmpdir(), 'vps-operator-actionlint-'));
  onTestFinished(() => rm(checkout, { recursive: true }));
  await mkdir(join(checkout, '.git'));
  await mkdir(join(checkout, WORKFLOWS), { recursive: true });
  await writeFile(
    join(checkout, WORKFLOWS, 'plan.yaml'),
    await readFile(join(ROOT, 'examples/github/plan.yaml'), 'utf8'),
  );
  expect(await findings(checkout)).toEqual([]);
});

it('reports a real problem', async () => {
  const checkout = await mkdtemp(join(tmpdir(), 'vps-operator-actionlint-'));
  onTestFinished(() => rm(checkout, { recursive: true }));
  await mkdir(join(checkout, '.git'));
  await mkdir(join(checkout, WORKFLOWS), { recursive: true });
  const broken = (await readFile(join(ROOT, WORKFLOWS, 'release.yaml'), 'utf8')).replace('needs: tag', 'needs: tags');
  await writeFile(join(checkout, WORKFLOWS, 'release.yaml'), broken);
  expect(await findings(checkout)).toContainEqual(expect.stringContaining('needs job "tags" which does not exist'));
});
