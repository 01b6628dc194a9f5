/** Serves the site on this machine, as GitHub Pages does. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The file of an address: in a folder, its index.html. */
function fileOf(site: string, base: string, url: string | undefined): string | undefined {
  const { pathname } = new URL(url ?? '/', 'http://localhost');
  if (!pathname.startsWith(base)) return undefined;
  // URL has resolved every `..` in front of decoding; an encoded one stays inside of the site.
  const path = normalize(`/${decodeURIComponent(pathname.slice(base.length))}`);
  return join(site, path.endsWith('/') ? `${path}index.html` : path);
}

/** Resolves when the server listens on 127.0.0.1; port 0 is any free port. */
export async function serveSite(site: string, base: string, port = 0): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    void (async () => {
      try {
        const file = fileOf(site, base, request.url);
        if (file === undefined) throw new Error('not below the base');
        const content = await readFile(file);
        response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(content);
      } catch {
        const content = await readFile(join(site, '404.html'));
        response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' }).end(content);
      }
    })();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}` };
}
