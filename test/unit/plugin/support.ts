/** Runs the program of the plugin in this process, against an API server that answers as the test says. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { codeOf } from '../../../src/plugin/terminal/failure.ts';
import { createProgram } from '../../../src/plugin/program/program.ts';
import type { Terminal } from '../../../src/plugin/terminal/terminal.ts';

const PLAIN = { good: String, busy: String, bad: String, dim: String, bold: String };

/** No terminal, with this text on standard input. */
export function terminalOf(input = ''): { terminal: Terminal; out: PassThrough; err: PassThrough } {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const stdin = new PassThrough().end(input);
  return { terminal: { out, err, input: stdin, paint: PLAIN } as unknown as Terminal, out, err };
}

/** Runs `kubectl vps WORDS`; `said`: on standard error. */
export async function runProgram(
  words: readonly string[],
  input = '',
): Promise<{ code: number; said: string; printed: string }> {
  const { terminal, out, err } = terminalOf(input);
  const program = createProgram({ terminal, version: '0', exitWith: () => undefined });
  const code = await program.parseAsync([...words], { from: 'user' }).then(
    () => 0,
    (error: unknown) => codeOf(error, terminal),
  );
  const textOf = (stream: PassThrough): string => String((stream.read() as Buffer | null) ?? '');
  return { code, said: textOf(err), printed: textOf(out) };
}

/** A kubeconfig for an API server that answers so. */
export async function kubeconfig(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'plugin-'));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'config');
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const context = { cluster: 'test', user: 'test' };
  const config = {
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context }],
    'current-context': 'test',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

type Request = Pick<IncomingMessage, 'method' | 'url'>;

/** An API server that answers with these objects, and with 404 where there is none; `requests`: what was asked. */
export async function apiServer(
  answer: (request: Request) => object | undefined,
): Promise<{ file: string; requests: readonly Request[] }> {
  const requests: Request[] = [];
  const file = await kubeconfig(({ method, url }, response) => {
    requests.push({ method, url });
    const found = answer({ method, url });
    const name = new URL(url ?? '', 'http://x').pathname.split('/').at(-1);
    const missing = {
      kind: 'Status',
      status: 'Failure',
      reason: 'NotFound',
      message: 'not found',
      code: 404,
      details: { name },
    };
    response
      .writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(found ?? missing));
  });
  return { file, requests };
}
