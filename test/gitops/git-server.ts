/** Git repositories over HTTP on this machine, served by Git's own `http-backend`. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';

export interface GitRepository {
  url: string;
  /** Makes these files, by path, the whole content of the branch `main`; resolves with the hash of the commit. */
  commit(files: Record<string, string>): Promise<string>;
}

export interface GitServer {
  create(name: string): Promise<GitRepository>;
  close(): Promise<void>;
}

const IDENTITY = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];

async function git(folder: string, ...args: string[]): Promise<string> {
  return (await promisify(execFile)('git', [...IDENTITY, ...args], { cwd: folder })).stdout.trim();
}

export async function startGitServer(): Promise<GitServer> {
  const root = await mkdtemp(join(tmpdir(), 'vps-operator-git-'));
  const server = createServer((request, response) => {
    answer(root, request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    async create(name) {
      const folder = join(root, name);
      await mkdir(folder);
      await git(folder, 'init', '--quiet', '--initial-branch=main');
      return {
        url: `http://127.0.0.1:${port}/${name}/.git`,
        async commit(files) {
          await git(folder, 'rm', '-r', '--quiet', '--ignore-unmatch', '.');
          for (const [path, text] of Object.entries(files)) {
            await mkdir(dirname(join(folder, path)), { recursive: true });
            await writeFile(join(folder, path), text);
          }
          await git(folder, 'add', '--all');
          await git(folder, 'commit', '--quiet', '--message=Change the servers');
          return git(folder, 'rev-parse', 'HEAD');
        },
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await rm(root, { recursive: true });
    },
  };
}

/** Runs `git http-backend`, a CGI program, for one request. */
async function answer(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '', 'http://127.0.0.1');
  const header = (name: string): string => String(request.headers[name] ?? '');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: header('content-type'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Git does not read the body of every request.
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  const [output] = await Promise.all([buffer(child.stdout), once(child, 'close')]);
  const end = output.indexOf('\r\n\r\n');
  const lines = output.subarray(0, end).toString().split('\r\n');
  for (const line of lines) {
    const [name = '', value = ''] = line.split(': ');
    if (name === 'Status') response.statusCode = Number.parseInt(value);
    else response.setHeader(name, value);
  }
  response.end(output.subarray(end + 4));
}
