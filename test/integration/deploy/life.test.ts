/**
 * An installation on a real API server: orders and cancels, an upgrade, and its removal. test/exhaustive has other ways
 * to remove it.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { INSTALL, useInstallation } from './installation.ts';
import { SYSTEM } from './pod.ts';

const here = useInstallation();

it('runs no code that a key of the ConfigMap asks Node for, and says which keys there may be', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-ran-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const code = `import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '');`;
  const options = `--import=data:text/javascript,${encodeURIComponent(code)}`;
  const execute = promisify(execFile);
  await execute(process.execPath, ['--eval', ''], { env: { NODE_OPTIONS: options } });
  expect(await readdir(folder), 'what the variable does').toEqual(['ran']);
  await rm(join(folder, 'ran'));

  const data = JSON.stringify({ data: { NODE_OPTIONS: options } });
  await here.kubectl('patch', 'cm', 'vps-operator-config', '-n', SYSTEM, '--type=merge', `--patch=${data}`);
  const pod = await here.pod();
  expect(await pod.ended).toBe(2);
  expect(pod.stderr.join('\n')).toMatch(/^unknown setting "NODE_OPTIONS" in --settings-dir .*: give VPS_BASE_URL, /);
  expect(await readdir(folder)).toEqual([]);
});

it('continues the work of an old pod in a new one, and orders nothing twice', async () => {
  const old = await here.pod();
  await old.saying('became the leader');
  await here.applyServer('web');
  await expect.poll(async () => (await here.list())[0]?.status?.record?.task).toBeDefined();
  await here.install();
  const young = await here.pod();
  await old.stopWell();
  await young.saying('became the leader');
  await here.ready('web');
  expect(here.simulator.ledger.creates()).toHaveLength(1);
  await here.kubectl('delete', 'vps', 'web', '-n', here.namespace, '--timeout=2m');
});

it('leaves servers, objects and CRD alone when install.yaml is deleted, twice, and manages them again afterwards', () =>
  here.removeTwice(INSTALL));
