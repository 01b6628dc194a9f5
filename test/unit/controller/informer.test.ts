import { describe, expect, it, onTestFinished } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { createInformer } from '../../../src/controller/informer.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const version = (uid: string, resourceVersion: string, product = 'VPSX4'): VirtualServer =>
  stored('web', storedWith({ metadata: { uid, resourceVersion }, spec: { product } }));

interface Answers {
  /** The lists: version and existing objects. The last one repeats. */
  lists: [resourceVersion: string, ...items: VirtualServer[]][];
  /** The events of each watch before it ends; the last watch stays open. */
  watches: [type: string, object: object][][];
  /** The version that the API server reports before a watch resumes where another one ended. */
  now?: string;
}

/** An API server with these responses. */
function apiServer({ lists, watches, now = '20' }: Answers): KubeHttp {
  const left = { lists: [...lists], watches: [...watches] };
  async function* lines({ signal }: { signal: AbortSignal }) {
    for (const [type, object] of left.watches.shift() ?? []) yield Buffer.from(`${JSON.stringify({ type, object })}\n`);
    if (left.watches.length > 0) return;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  return {
    call: ({ query }) => {
      if (query?.['includeObject'] === 'None') return Promise.resolve({ metadata: { resourceVersion: now }, rows: [] });
      const [resourceVersion, ...items] = (left.lists.length > 1 ? left.lists.shift() : left.lists[0]) ?? ['1'];
      return Promise.resolve(structuredClone({ metadata: { resourceVersion }, items }));
    },
    stream: (options) => Promise.resolve(lines(options)),
    serverTime: () => undefined,
    close: () => Promise.resolve(),
  };
}

/** The handler calls up to and including `last`, in order. */
async function told(answers: Answers, last: string): Promise<string[]> {
  const seen: string[] = [];
  const done = Promise.withResolvers<undefined>();
  const tell = (what: string): void => {
    seen.push(what);
    if (what === last) done.resolve(undefined);
  };
  const informer = createInformer(VIRTUAL_SERVERS, {
    http: apiServer(answers),
    namespaces: ['default'],
    backoff: { baseMs: 1, maxMs: 1 },
  });
  informer.subscribe({
    onUpsert: (_key, { metadata, spec }) => tell(`upsert ${metadata.uid} ${metadata.resourceVersion} ${spec.product}`),
    onGone: (_key, { metadata }) => tell(`gone ${metadata.uid}`),
    onList: () => {
      tell('lists');
      return (resourceVersion) => tell(`listed ${resourceVersion}`);
    },
  });
  onTestFinished(() => informer.stop());
  informer.start();
  await done.promise;
  return seen;
}

describe('the informer', () => {
  it('reports an object as gone when a new object takes its name', async () => {
    const answers: Answers = {
      lists: [['20', version('uid-2', '20')]],
      watches: [[['ADDED', version('uid-3', '30')]]],
    };
    expect(await told(answers, 'upsert uid-3 30 VPSX4')).toEqual([
      'lists',
      'listed 20',
      'upsert uid-2 20 VPSX4',
      'gone uid-2',
      'upsert uid-3 30 VPSX4',
    ]);
  });

  it.each<[what: string, rest: Partial<Answers>]>([
    ['a bookmark', { watches: [[['BOOKMARK', { metadata: { resourceVersion: '9' } }]], []] }],
    ['an event', { watches: [[['DELETED', version('uid-1', '11')]], []] }],
    ['the API server, before the next watch,', { watches: [[], []], now: '9' }],
  ])('lists again when %s shows a version older than its own, and trusts the list', async (_, rest) => {
    const answers: Answers = {
      lists: [
        ['20', version('uid-2', '20')],
        ['9', version('uid-1', '8')],
      ],
      watches: [],
      ...rest,
    };
    const seen = await told(answers, 'upsert uid-1 8 VPSX4');
    expect(seen.slice(0, 3)).toEqual(['lists', 'listed 20', 'upsert uid-2 20 VPSX4']);
    expect(seen.slice(-4)).toEqual(['lists', 'listed 9', 'gone uid-2', 'upsert uid-1 8 VPSX4']);
  });

  it('detects different contents in a version that reappears', async () => {
    const answers: Answers = {
      lists: [
        ['20', version('uid-1', '20', 'VPSX4')],
        ['20', version('uid-1', '20', 'VPSX8')],
      ],
      watches: [[['BOOKMARK', { metadata: { resourceVersion: '19' } }]], []],
    };
    const seen = await told(answers, 'upsert uid-1 20 VPSX8');
    expect(seen.filter((what) => what.startsWith('upsert'))).toEqual([
      'upsert uid-1 20 VPSX4',
      'upsert uid-1 20 VPSX8',
    ]);
  });
});
