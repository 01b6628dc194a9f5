/** An OCI registry in memory, with the part of its API that a push and a pull use. */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface OciRegistry {
  /** `localhost:PORT`. */
  host: string;
  /** The manifest that a tag or a digest names, by `REPOSITORY/manifests/REFERENCE`. */
  manifests: Map<string, Buffer>;
  close(): Promise<void>;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  content?: Buffer;
}

/** `refuses`: answers every upload with 403. */
export async function startOciRegistry({ refuses = false } = {}): Promise<OciRegistry> {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, Buffer>();

  function answer(method: string, url: string, body: Buffer): Answer {
    const { pathname, searchParams } = new URL(url, 'http://registry');
    const [, path = '', kind = '', reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(pathname) ?? [];
    if (kind === '') return { status: 200 };
    if (refuses && (method === 'POST' || method === 'PUT')) return { status: 403 };
    if (method === 'POST') return { status: 202, headers: { Location: `/v2/${path}/blobs/uploads/${randomUUID()}` } };
    const isManifest = kind === 'manifests';
    if (method === 'PUT') {
      const digest = digestOf(body);
      if (isManifest) for (const name of [reference, digest]) manifests.set(`${path}/manifests/${name}`, body);
      else if (searchParams.get('digest') === digest) blobs.set(digest, body);
      else return { status: 400 };
      return { status: 201, headers: { 'Docker-Content-Digest': digest, Location: `/v2/${path}/${kind}/${digest}` } };
    }
    const content = isManifest ? manifests.get(`${path}/manifests/${reference}`) : blobs.get(reference);
    if (content === undefined) return { status: 404 };
    const type = isManifest ? 'application/vnd.oci.image.manifest.v1+json' : 'application/octet-stream';
    return { status: 200, headers: { 'Content-Type': type, 'Docker-Content-Digest': digestOf(content) }, content };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const { status, headers, content } = answer(method, url, await buffer(request));
    // After a HEAD, the server sends only the headers.
    response.writeHead(status, { ...headers, 'Content-Length': content?.length ?? 0 }).end(content);
  }

  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `localhost:${(server.address() as AddressInfo).port}`,
    manifests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;
