/** A DNS zone behind external-dns' webhook protocol: external-dns writes its records there over HTTP. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** The part of external-dns' Endpoint that the zone compares. */
export interface DnsRecord {
  dnsName: string;
  recordType: string;
  targets: string[];
}

interface Changes {
  create?: DnsRecord[];
  updateOld?: DnsRecord[];
  updateNew?: DnsRecord[];
  delete?: DnsRecord[];
}

export interface DnsZone {
  url: string;
  /** Name to sorted targets, for one type of record. */
  records(type: string): Record<string, string[]>;
  close(): Promise<void>;
}

const MEDIA_TYPE = 'application/external.dns.webhook+json;version=1';
const keyOf = ({ recordType, dnsName }: DnsRecord): string => `${recordType} ${dnsName}`;

export async function startZone(): Promise<DnsZone> {
  const stored = new Map<string, DnsRecord>();
  const apply = (changes: Changes): void => {
    for (const record of [...(changes.delete ?? []), ...(changes.updateOld ?? [])]) stored.delete(keyOf(record));
    for (const record of [...(changes.create ?? []), ...(changes.updateNew ?? [])]) stored.set(keyOf(record), record);
  };
  const server = createServer((request, response) => {
    const answer = (body: unknown): void => void response.end(JSON.stringify(body));
    const route = `${request.method} ${request.url}`;
    response.setHeader('Content-Type', MEDIA_TYPE);
    // No filter: the zone takes every name.
    if (route === 'GET /') answer({});
    else if (route === 'GET /records') answer([...stored.values()]);
    else if (route === 'POST /adjustendpoints') void json(request).then(answer);
    else if (route === 'POST /records') {
      void json(request).then((changes) => {
        apply(changes as Changes);
        response.writeHead(204).end();
      });
    } else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records: (type) => {
      const ofType = [...stored.values()].filter(({ recordType }) => recordType === type);
      return Object.fromEntries(ofType.map(({ dnsName, targets }) => [dnsName, targets.toSorted()]));
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
