/** A real proxy for one test: tinyproxy on a loopback address. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../tools/control-plane/control-plane.ts';
import { reportSkipped } from '../../../tools/skipped.ts';

const TINYPROXY = '/usr/bin/tinyproxy';

export const hasTinyproxy = existsSync(TINYPROXY);
if (!hasTinyproxy) reportSkipped('the tests with a real proxy', `there is no ${TINYPROXY} (package tinyproxy)`);

interface TinyproxyOptions {
  credentials?: { user: string; password: string };
  /** The ports that clients may ask for; by default all. */
  ports?: number[];
}

export interface Tinyproxy {
  readonly port: number;
  /** The requests for tunnels in its log, such as `CONNECT 127.0.0.1:443 HTTP/1.1`. */
  tunnels(): Promise<string[]>;
}

/** Resolves when it answers; it ends with the test. */
export async function startTinyproxy({ credentials, ports = [] }: TinyproxyOptions = {}): Promise<Tinyproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-tinyproxy-'));
  const port = await freePort();
  const log = join(folder, 'log');
  const config = [
    'Listen 127.0.0.1',
    `Port ${port}`,
    `LogFile "${log}"`,
    'LogLevel Connect',
    'Allow 127.0.0.1',
    ...(credentials ? [`BasicAuth ${credentials.user} ${credentials.password}`] : []),
    ...ports.map((allowed) => `ConnectPort ${allowed}`),
  ];
  const file = join(folder, 'tinyproxy.conf');
  await writeFile(file, `${config.join('\n')}\n`);
  const child = spawn(TINYPROXY, ['-d', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await ended;
    await rm(folder, { recursive: true });
  });
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`tinyproxy has exited: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    port,
    async tunnels() {
      const text = await readFile(log, 'utf8');
      return [...text.matchAll(/CONNECT \S+ HTTP\/1\.1/g)].map(([line]) => line);
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', end(true)).once('error', end(false));
  });
}
