/** A namespace whose hosts accept SSH connections and send nothing: a real operator over real sockets. */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { openJournal } from '../../../src/virtual-server/journal/journal.ts';
import { Operator } from '../../../src/operator.ts';
import { createSshProbe } from '../../../src/virtual-server/ssh-check.ts';
import type { ObjectVersion } from '../../../src/kube/resource.ts';
import { fakeKube, fakeSession, ordersWith } from '../../fixtures/doubles.ts';
import { ACCOUNT, CATALOG, SERVER } from '../../fixtures/decision.ts';
import { feedOf } from '../../fixtures/feed.ts';
import { OPERATOR } from '../../fixtures/operator.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const NEW_SERVER = 'srv-new';

/** A host on this machine, with its open connections. */
async function host(answer: (socket: Socket) => void): Promise<{ port: number; open: Set<Socket> }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, open };
}

/** An object in `busy` that holds a server and wants an SSH check. */
function holding(name: string): VirtualServer {
  const identifier = `srv-${name}`;
  const record: ServerRecord = { owner: `uid-of-${name}`, mode: 'create', account: ACCOUNT, identifier };
  return stored(
    name,
    storedWith({
      metadata: {
        namespace: 'busy',
        finalizers: [FINALIZER],
        annotations: { [RECORD_ANNOTATION]: formatRecord(record) },
      },
      spec: { sshCheck: 'Proxy' },
      status: { serverStatus: 'running', identifier, record },
    }),
  );
}

it('silent hosts do not delay the SSH check of a new object in another namespace', async () => {
  const silent = await host(() => undefined);
  const answering = await host((socket) => socket.end('SSH-2.0-x\r\n'));
  const objects = new Map<string, VirtualServer>();
  const feed = feedOf(...Array.from({ length: 96 }, (_, index) => holding(`s${index}`)));
  const put = (object: VirtualServer): VirtualServer => {
    const next = feed.put(object);
    objects.set(`${next.metadata.namespace}/${next.metadata.name}`, next);
    return next;
  };
  const current = ({ namespace, name }: ObjectVersion): VirtualServer => {
    const object = objects.get(`${namespace}/${name}`);
    if (object === undefined) throw new Error(`${namespace}/${name} was not to be written`);
    return object;
  };
  const kube = fakeKube({
    getSecret: () => Promise.resolve({ data: { keyId: 'k', secret: 's' }, resourceVersion: '1' }),
    patchMetadata: (version, { finalizers, annotations }) => {
      const object = current(version);
      const metadata = { ...object.metadata, ...(finalizers && { finalizers }), annotations: annotations ?? {} };
      return Promise.resolve(put({ ...object, metadata: metadata as VirtualServer['metadata'] }));
    },
    writeStatus: (version, status) => Promise.resolve(put({ ...current(version), status })),
  });
  const session = fakeSession({
    account: ACCOUNT,
    catalog: () => Promise.resolve(CATALOG),
    openOrder: ordersWith(() => Promise.resolve({ kind: 'created', task: 7 })),
    pollTask: () => Promise.resolve({ state: 'complete', identifier: NEW_SERVER }),
    readServer: (identifier) => {
      const { port } = identifier === NEW_SERVER ? answering : silent;
      return Promise.resolve({ ...SERVER, identifier, sshProxy: { hostname: '127.0.0.1', port } });
    },
  });
  const operator = new Operator({
    ...OPERATOR,
    maxConcurrentReconciles: 32,
    pollIntervalMs: 10,
    kube,
    servers: feed.informer,
    provider: fakeProvider(() => session),
    journal: await openJournal({ dir: undefined }),
    // No probe of a silent host ends while the test runs.
    probe: createSshProbe({ privateAddresses: true, timeoutMs: 600_000 }),
  });
  await operator.start();
  const busy = () => operator.vitals().loops.virtualserver?.busyForMs.length ?? 0;
  await vi.waitFor(() => expect(silent.open.size).toBeGreaterThan(0), { timeout: 10_000 });
  put(stored('web', storedWith({ metadata: { namespace: 'other' }, spec: { sshCheck: 'Proxy' } })));
  const ready = () => objects.get('other/web')?.status?.conditions?.find(({ type }) => type === 'Ready');
  await vi.waitFor(() => expect(ready()).toMatchObject({ status: 'True' }), { timeout: 10_000 });
  // As many workers as one namespace may have still wait for silent hosts.
  await vi.waitFor(() => expect(busy()).toBe(26), { timeout: 10_000 });
  // A connection that a worker has opened is counted a moment later.
  await vi.waitFor(() => expect(silent.open.size).toBe(13), { timeout: 10_000 });
});
