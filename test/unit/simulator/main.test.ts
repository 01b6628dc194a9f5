import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { afterEach, describe, expect, it } from 'vitest';

import { parseCommandLine } from '../../../src/simulator/command-line.ts';
import { loginRequest } from './client.ts';

const MAIN = new URL('../../../src/simulator/main.ts', import.meta.url).pathname;
const children: ChildProcessByStdio<null, Readable, Readable>[] = [];

function run(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  children.push(child);
  return child;
}

interface Announcement {
  baseUrl: string;
  authUrl: string;
  keyId: string;
  secret: string;
}

async function exitCode(child: ChildProcessByStdio<null, Readable, Readable>): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

async function announced(child: ChildProcessByStdio<null, Readable, Readable>): Promise<Announcement> {
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return JSON.parse(line) as Announcement;
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

describe('the simulator as a process', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'prints one line when it listens, serves, and exits with 0 on %s',
    async (signal) => {
      const child = run(['--port', '0', '--token-lifetime', '2m', '--key-id', 'demo'], {
        VPS_SIMULATOR_SECRET: 'of-env',
      });
      const { baseUrl, authUrl, keyId, secret } = await announced(child);
      expect([keyId, secret]).toEqual(['demo', 'of-env']);
      const login = await fetch(loginRequest(authUrl, { keyId, secret }));
      const { access_token, expires_in } = (await login.json()) as { access_token: string; expires_in: number };
      expect(expires_in).toBe(120);
      const headers = { authorization: `Bearer ${access_token}` };
      expect((await fetch(`${baseUrl}/beta/vps/products`, { headers })).status).toBe(200);
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([0, null]);
    },
  );

  it('prints its flags with --help', async () => {
    const child = run(['--help']);
    const [out, code] = await Promise.all([text(child.stdout), exitCode(child)]);
    expect(code).toBe(0);
    expect(out).toContain('--task-duration');
    expect(out).toContain('mode (global, account)');
    expect(out).toContain('readDenied (403, 404); default 404, with --api public 403');
    expect(out).toContain('identifier, account?, atNextCreate?');
  });

  it('lets the first requests fail that --fault names, and stops cleanly if none came', async () => {
    const child = run(['--fault', 'refused-key=2', '--fault', 'lost-answer']);
    const { authUrl, keyId, secret } = await announced(child);
    const login = async (): Promise<number> => (await fetch(loginRequest(authUrl, { keyId, secret }))).status;
    expect([await login(), await login(), await login()]).toEqual([401, 401, 200]);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('exits with 2 and one line for an unknown flag', async () => {
    const child = run(['--prot', '1']);
    const [error, out, code] = await Promise.all([text(child.stderr), text(child.stdout), exitCode(child)]);
    expect(code).toBe(2);
    expect(error).toMatch(/^simulator: [^\n]*--prot[^\n]*\n$/);
    expect(out).toBe('');
  });

  it('exits with 1 and one line if its port is taken', async () => {
    const { baseUrl } = await announced(run([]));
    const child = run(['--port', new URL(baseUrl).port]);
    const [error, code] = await Promise.all([text(child.stderr), exitCode(child)]);
    expect(code).toBe(1);
    expect(error).toMatch(/^simulator: [^\n]*EADDRINUSE[^\n]*\n$/);
  });

  it('exits with 1 if the port of its panel is taken', async () => {
    const { baseUrl } = await announced(run([]));
    const child = run(['--panel-port', new URL(baseUrl).port]);
    const [error, code] = await Promise.all([text(child.stderr), exitCode(child)]);
    expect(code).toBe(1);
    expect(error).toContain('EADDRINUSE');
  });
});

describe('the command line', () => {
  it('is parsed into options', () => {
    const args = ['--port=8080', '--host=::1', '--task-duration=500ms', '--token-expiry=issue'];
    expect(parseCommandLine([...args, '--public-url=http://sim:80/'], {})).toMatchObject({
      port: 8080,
      host: '::1',
      taskDurationMs: 500,
      tokenExpiry: 'issue',
      origin: 'http://sim',
    });
  });

  it('sets lags, modes and statuses', () => {
    const lags = ['--task-lag=5s', '--server-lag=1m', '--cancel-lag=500ms', '--list-lag=3s', '--cancel-takes=24h'];
    const modes = ['--task-numbering=account', '--identifier-from=end', '--identifier-case=upper-in-server'];
    const options = parseCommandLine([...lags, ...modes, '--addresses=no-macs', '--create-status=201'], {});
    expect(options).toMatchObject({
      lag: { taskMs: 5_000, serverMs: 60_000, cancelMs: 500, listMs: 3_000 },
      cancelTakesMs: 86_400_000,
      taskNumbering: 'account',
      identifierFrom: 'end',
      identifierCase: 'upper-in-server',
      addresses: 'no-macs',
      createAnswer: { status: 201 },
    });
  });

  it('sets the API, and variants as JSON or as words', () => {
    const variants = ['readDenied=404', 'outOfStock=task', 'listsCreating=false', 'taskRememberedMs=null'];
    const args = ['--api=public', ...variants.map((variant) => `--variant=${variant}`), '--variant=readDenied=403'];
    expect(parseCommandLine(args, {})).toMatchObject({
      api: 'public',
      variants: { readDenied: 403, outOfStock: 'task', listsCreating: false, taskRememberedMs: Infinity },
    });
  });

  it.each([
    ['--port', '70000'],
    ['--port', '-1'],
    ['--task-duration', '3'],
    ['--task-duration', '1d'],
    ['--panel-port', 'http'],
    ['--token-lifetime', '500ms'],
    ['--token-expiry', 'never'],
    ['--task-lag', '5'],
    ['--server-lag', 'long'],
    ['--cancel-lag', '-1s'],
    ['--task-numbering', 'local'],
    ['--identifier-from', 'middle'],
    ['--identifier-case', 'lower'],
    ['--addresses', 'some'],
    ['--api', 'private'],
    ['--variant', 'readDenied'],
    ['--variant', 'readDenied=500'],
    ['--variant', 'colour=red'],
    ['--create-status', '204'],
    ['--public-url', 'sim:80'],
    ['--public-url', 'http://sim/path'],
    ['--key-id', 'a:b'],
    ['--fault', 'lost'],
    ['--fault', 'lost-answer=0'],
    ['--fault', 'lost-answer=some'],
  ])('is refused for %s %s, naming the flag', (flag, value) => {
    expect(() => parseCommandLine([`${flag}=${value}`], {})).toThrow(flag);
  });
});
