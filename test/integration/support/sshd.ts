/** A real SSH server on 127.0.0.1, with a key and a configuration of its own, as a child process. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SSHD = '/usr/sbin/sshd';
/** Where the system's sshd wants it, when it is started by root. */
const PRIVILEGE_SEPARATION_DIR = '/run/sshd';

export const hasSshd = existsSync(SSHD);

export interface Sshd {
  port: number;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** Resolves when nothing listens any more. */
  stop(): Promise<void>;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
}

/** Not yet started. */
export async function createSshd(): Promise<Sshd> {
  const dir = await mkdtemp(join(tmpdir(), 'vps-operator-sshd-'));
  const key = join(dir, 'host-key');
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  if (process.getuid?.() === 0) await mkdir(PRIVILEGE_SEPARATION_DIR, { recursive: true });
  const port = await freePort();
  const config = join(dir, 'sshd_config');
  await writeFile(config, `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${key}\nPidFile none\nUsePAM no\n`);
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill();
    await ended;
    child = undefined;
  };
  return {
    port,
    stop,
    async start() {
      const started = spawn(SSHD, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
      child = started;
      let log = '';
      started.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
      while (!(await answers(port))) {
        if (started.exitCode !== null) throw new Error(`sshd has ended: ${log}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async remove() {
      await stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A port of 127.0.0.1 that nothing listens on at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
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
