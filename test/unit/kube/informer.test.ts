import { describe, expect, it, onTestFinished } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { createInformer } from '../../../src/kube/informer.ts';
import { stored, storedWith } from '../../gen/virtual-server.ts';

const version = (uid: string, resourceVersion: string): VirtualServer =>
  stored('web', storedWith({ metadata: { uid, resourceVersion } }));
const EARLIER = version('uid-1', '10');
const LATER = version('uid-2', '20');

/** An API server that lists these, then tells these events. */
function apiServer(items: VirtualServer[], events: [type: string, object: VirtualServer][]): KubeHttp {
  async function* lines({ signal }: { signal: AbortSignal }) {
    for (const [type, object] of events) yield Buffer.from(`${JSON.stringify({ type, object })}\n`);
    // The watch stays open.
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  return {
    call: () => Promise.resolve(structuredClone({ metadata: { resourceVersion: '20' }, items })),
    stream: (options) => Promise.resolve(lines(options)),
    serverTime: () => undefined,
    close: () => Promise.resolve(),
  };
}

/** What the handler is told until `last` was told, in order. */
async function told(items: VirtualServer[], events: [string, VirtualServer][], last: string): Promise<string[]> {
  const seen: string[] = [];
  const done = Promise.withResolvers<undefined>();
  const tell = (what: string): void => {
    seen.push(what);
    if (what === last) done.resolve(undefined);
  };
  const informer = createInformer({
    http: apiServer(items, events),
    namespaces: ['default'],
    handler: {
      onUpsert: (_key, { metadata }) => tell(`upsert ${metadata.uid} ${metadata.resourceVersion}`),
      onGone: (_key, { metadata }) => tell(`gone ${metadata.uid}`),
    },
  });
  onTestFinished(() => informer.stop());
  informer.start();
  await done.promise;
  return seen;
}

describe('the informer', () => {
  it('takes nothing that it is told once more of an earlier object for the end of the present one', async () => {
    const events: [string, VirtualServer][] = [
      ['MODIFIED', EARLIER],
      ['DELETED', version('uid-1', '11')],
      ['MODIFIED', version('uid-2', '21')],
    ];
    expect(await told([LATER], events, 'upsert uid-2 21')).toEqual(['upsert uid-2 20', 'upsert uid-2 21']);
  });

  it('ends an object when a later one takes its name', async () => {
    const events: [string, VirtualServer][] = [['ADDED', version('uid-3', '30')]];
    expect(await told([LATER], events, 'upsert uid-3 30')).toEqual([
      'upsert uid-2 20',
      'gone uid-2',
      'upsert uid-3 30',
    ]);
  });
});
