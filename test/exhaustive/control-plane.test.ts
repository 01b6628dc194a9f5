/** What no other test shows of the control plane that the integration tests share: its version, and its end. */
import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';

/** The error code of this promise or of the error's cause. */
async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  const error: unknown = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  return (cause as NodeJS.ErrnoException | undefined)?.code;
}

it('the shared control plane has the version that go.mod pins', async () => {
  const goMod = await readFile(new URL('../../tools/control-plane/go.mod', import.meta.url), 'utf8');
  const pinned = /k8s\.io\/kubernetes v(\d+\.\d+)\./.exec(goMod)?.[1];
  const args = ['--kubeconfig', inject('kubeconfigPath'), 'version', '--output=json'];
  const { stdout } = await promisify(execFile)(inject('kubectl'), args);
  const { serverVersion } = JSON.parse(stdout) as { serverVersion: { gitVersion: string } };
  expect(serverVersion.gitVersion).toMatch(`v${pinned ?? '?'}.`);
});

it.for(['SIGTERM', 'SIGKILL'] as const)(
  'a process that runs a control plane leaves no process and no folder behind after %s',
  async (signal) => {
    const child = execFile(process.execPath, [new URL('../../tools/control-plane/main.ts', import.meta.url).pathname]);
    const line = await new Promise<string>((resolve) => child.stdout?.once('data', (data) => resolve(String(data))));
    const { kubeconfig } = JSON.parse(line) as { kubeconfig: string };
    const server = /server: (\S+)/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? '';
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    expect(await ended).toBe(signal === 'SIGTERM' ? 0 : null);
    await expect.poll(() => codeOf(access(kubeconfig))).toBe('ENOENT');
    await expect.poll(() => codeOf(fetch(`${server}/livez`))).toBe('ECONNREFUSED');
  },
);
