/** What only shows in a bundle: packages that look for files or native parts beside them. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { bundleModule } from '../../../tools/bundle.ts';
import { makeHostKey, startSshServer } from '../../fixtures/ssh-server.ts';

it('the SSH check learns host keys in a bundle, with each kind of cipher', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-bundle-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'ssh-check.mjs');
  await bundleModule('src/virtual-server/ssh-check.ts', file);
  // In a process of Node: vitest gives modules more names than Node does.
  const program = join(folder, 'main.mjs');
  await writeFile(
    program,
    `import { createSshProbe } from './ssh-check.mjs';
     const target = { host: '127.0.0.1', port: Number(process.argv[2]) };
     console.log(JSON.stringify(await createSshProbe({ privateAddresses: true })(target, 'default', [])));`,
  );
  for (const cipher of ['chacha20-poly1305@openssh.com', 'aes128-gcm@openssh.com', 'aes256-ctr'] as const) {
    const { port } = await startSshServer([makeHostKey('ed25519')], { cipher: [cipher] });
    const { stdout } = await promisify(execFile)(process.execPath, [program, String(port)]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, value: { key: { type: 'ssh-ed25519' } } });
  }
});
