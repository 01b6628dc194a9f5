/** Resources that several test files share and not every run needs: started on first request, stopped with the run. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A running resource, and the facts that a file needs: plain data. */
export interface Running {
  facts: object;
  stop: () => Promise<void>;
}

export interface Broker {
  /** `<url>/<name>` answers with the facts. */
  url: string;
  stop(): Promise<void>;
}

export async function openBroker(starts: Record<string, () => Promise<Running>>): Promise<Broker> {
  const running = new Map<string, Promise<Running>>();
  const get = (name: string): Promise<Running> => {
    const there = running.get(name) ?? (starts[name] ?? (() => Promise.reject(new Error(`there is no ${name}`))))();
    running.set(name, there);
    return there;
  };
  const server = createServer(({ url = '' }, response) => {
    get(url.slice(1)).then(
      ({ facts }) => response.end(JSON.stringify(facts)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      for (const there of running.values()) await there.then(({ stop }) => stop()).catch(() => undefined);
    },
  };
}

/** The facts of a resource that the broker at `url` starts. Rejects with the reason if it cannot be started. */
export async function ask<T>(url: string, name: string): Promise<T> {
  const response = await fetch(`${url}/${name}`);
  if (!response.ok) throw new Error(`${name}: ${await response.text()}`);
  return (await response.json()) as T;
}
