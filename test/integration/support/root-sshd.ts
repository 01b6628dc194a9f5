/** A real sshd on this machine, for one test: own host key, own configuration, only the loopback addresses. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { freePort } from './sshd.ts';

const SSHD = '/usr/sbin/sshd';
/** Where an sshd of root wants to find an empty folder. */
const PRIVSEP = '/run/sshd';
const WAIT_MS = 10_000;

/** Why there is no sshd for a test; undefined where there is one. The plugin logs in as root, and only root can let it. */
export const noSshd: string | undefined = !existsSync(SSHD)
  ? `there is no ${SSHD} (Debian: apt-get install openssh-server)`
  : process.getuid?.() === 0
    ? undefined
    : 'only root can start an sshd that lets root in';
if (noSshd !== undefined) console.warn(`tests with a real sshd are skipped: ${noSshd}`);

export const hasIPv6Loopback = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

export interface Sshd {
  port: number;
  /** Private key that root may log in with. */
  identityFile: string;
  folder: string;
  /** Ends it, and starts it at the same port with another host key: another machine. */
  replace(): Promise<void>;
}

export async function startSshd(): Promise<Sshd> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-sshd-'));
  const made = await mkdir(PRIVSEP, { recursive: true });
  const identityFile = join(folder, 'identity');
  await makeKey(identityFile);
  await copyFile(`${identityFile}.pub`, join(folder, 'authorized_keys'));
  const port = await freePort();
  let stop = await run(folder, port, 1);
  onTestFinished(async () => {
    await stop();
    await rm(folder, { recursive: true });
    if (made !== undefined) await rm(made, { recursive: true });
  });
  let keys = 1;
  return {
    port,
    identityFile,
    folder,
    async replace() {
      await stop();
      stop = await run(folder, port, ++keys);
    },
  };
}

async function run(folder: string, port: number, key: number): Promise<() => Promise<void>> {
  const hostKey = join(folder, `host-key-${key}`);
  await makeKey(hostKey);
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    ...(hasIPv6Loopback ? [`ListenAddress [::1]:${port}`] : []),
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
    'AuthenticationMethods publickey',
    'PermitRootLogin prohibit-password',
    'StrictModes no',
    'UsePAM no',
    'PidFile none',
  ];
  const file = join(folder, 'sshd_config');
  await writeFile(file, `${config.join('\n')}\n`);
  const child = spawn(SSHD, ['-D', '-e', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'close');
  await listening(port, () => `sshd does not answer: ${said}`);
  return async () => {
    child.kill();
    await ended;
  };
}

async function makeKey(file: string): Promise<void> {
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
}

async function listening(port: number, what: () => string): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const answered = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (answered) return;
    if (Date.now() > deadline) throw new Error(what());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
