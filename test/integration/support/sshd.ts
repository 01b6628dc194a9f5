/** A real sshd on this machine for one test: separate host keys and configuration, loopback addresses only. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../tools/control-plane/control-plane.ts';
import { reportSkipped } from '../../../tools/skipped.ts';

const SSHD = '/usr/sbin/sshd';
/** An empty folder that root's sshd requires; it is not removed, because other sshds may use it. */
const PRIVSEP = '/run/sshd';
const isRoot = process.getuid?.() === 0;

export const hasSshd = existsSync(SSHD);
/** Whether an sshd that lets root log in can run, as the plugin logs in as root. */
export const hasRootSshd = hasSshd && isRoot;
if (!hasRootSshd) {
  const why = hasSshd ? 'only root can start one that lets root in' : `there is no ${SSHD} (package openssh-server)`;
  reportSkipped('the tests with a real sshd', why);
}

export const hasIPv6Loopback = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);
if (!hasIPv6Loopback) reportSkipped('the tests over IPv6', 'this machine has no address ::1');

export interface Sshd {
  port: number;
  /** Private key for root's login. */
  identityFile: string;
  folder: string;
  /** Restarts it on the same port. Resolves when it answers. */
  start(): Promise<void>;
  /** Resolves when nothing listens on the port. */
  stop(): Promise<void>;
  /** Restarts it on the same port with other host keys, like another machine. */
  replace(): Promise<void>;
  /** The fingerprint of its host key, as ssh-keygen prints it. */
  fingerprint(type?: KeyType): Promise<string>;
}

type KeyType = 'ed25519' | 'ecdsa' | 'rsa';

/** Resolves when it answers; it ends with the test. `types`: of its host keys. */
export async function startSshd(types: readonly KeyType[] = ['ed25519']): Promise<Sshd> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-sshd-'));
  if (isRoot) await mkdir(PRIVSEP, { recursive: true });
  const identityFile = join(folder, 'identity');
  await makeKey(identityFile);
  await copyFile(`${identityFile}.pub`, join(folder, 'authorized_keys'));
  const port = await freePort();
  let end: (() => Promise<void>) | undefined;
  const stop = async (): Promise<void> => {
    await end?.();
    end = undefined;
  };
  const start = async (): Promise<void> => {
    end = await run(folder, port, types);
  };
  onTestFinished(async () => {
    await stop();
    await rm(folder, { recursive: true });
  });
  const hostKey = (type: KeyType): string => join(folder, `host-key-${type}`);
  const makeHostKeys = async (): Promise<void> => {
    for (const type of types) {
      await rm(hostKey(type), { force: true });
      await makeKey(hostKey(type), type);
    }
  };
  await makeHostKeys();
  await start();
  return {
    port,
    identityFile,
    folder,
    start,
    stop,
    async replace() {
      await stop();
      await makeHostKeys();
      await start();
    },
    async fingerprint(type = 'ed25519') {
      const { stdout } = await promisify(execFile)('ssh-keygen', ['-lf', `${hostKey(type)}.pub`]);
      return stdout.split(' ')[1] ?? '';
    },
  };
}

/** Resolves with a function that ends it. */
async function run(folder: string, port: number, types: readonly KeyType[]): Promise<() => Promise<void>> {
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    ...(hasIPv6Loopback ? [`ListenAddress [::1]:${port}`] : []),
    ...types.map((type) => `HostKey ${join(folder, `host-key-${type}`)}`),
    `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
    'AuthenticationMethods publickey',
    'PermitRootLogin prohibit-password',
    'Subsystem sftp internal-sftp',
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
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`sshd has exited: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return async () => {
    child.kill();
    await ended;
  };
}

async function makeKey(file: string, type: KeyType = 'ed25519'): Promise<void> {
  await promisify(execFile)('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', file]);
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', end(true)).once('error', end(false)).once('end', end(false));
  });
}
