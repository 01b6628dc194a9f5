import { describe, expect, it } from 'vitest';
import { SET_KIND, SET_LABEL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { InformerHandler } from '../../../src/controller/informer.ts';
import { keyOf } from '../../../src/kube/resource.ts';
import { Candidates } from '../../../src/virtual-server-set/candidates.ts';
import { webSet } from '../../fixtures/virtual-server-set.ts';
import { stored } from '../../fixtures/virtual-server.ts';

/** The cache of VirtualServers, beside the set `web` with room for two servers. */
function world() {
  const cache = new Map<string, VirtualServer>();
  const handlers: InformerHandler<VirtualServer>[] = [];
  const set = webSet({ replicas: 1 });
  const candidates = new Candidates({
    servers: { subscribe: (handler) => void handlers.push(handler) },
    newest: (key) => cache.get(key),
    sets: { get: (key) => (key === keyOf(set) ? set : undefined) },
  });
  const tell = (object: VirtualServer): void => {
    const key = keyOf(object);
    const previous = cache.get(key);
    cache.set(key, object);
    for (const handler of handlers) handler.onUpsert(key, object, previous);
  };
  const gone = (object: VirtualServer): void => {
    cache.delete(keyOf(object));
    for (const handler of handlers) handler.onGone(keyOf(object), object);
  };
  const found = (): string[] => candidates.of(set).map(({ metadata }) => metadata.name);
  return { candidates, tell, gone, found };
}

function server(name: string, metadata: Partial<VirtualServer['metadata']> = {}): VirtualServer {
  const object = stored(name);
  return { ...object, metadata: { ...object.metadata, name, uid: `uid-of-${name}`, ...metadata } };
}

const labels = { [SET_LABEL]: 'web' };
const owner = { kind: SET_KIND, name: 'web', uid: 'uid-of-web', controller: true };
const ownerReferences = [owner];

describe('the VirtualServers that concern a set', () => {
  it('are those that it controls, that have its label, or that have a name it could give', () => {
    const { tell, found } = world();
    tell(server('web-7', { ownerReferences }));
    tell(server('blue', { labels }));
    tell(server('web-1'));
    tell(server('web-2'));
    tell(server('db-0', { labels: { [SET_LABEL]: 'db' } }));
    tell(server('web-0', { namespace: 'other' }));
    expect(found()).toEqual(['web-7', 'blue', 'web-1']);
  });

  it('follow changes and deletions', () => {
    const { tell, gone, found } = world();
    tell(server('blue', { labels }));
    tell(server('blue'));
    expect(found()).toEqual([]);
    tell(server('green', { labels }));
    gone(server('green', { labels }));
    expect(found()).toEqual([]);
  });

  it.each([
    ['its controller', server('blue', { ownerReferences })],
    ['its label', server('blue', { labels })],
    ['its name', server('web-12')],
  ])('wake the set by %s', (_by, object) => {
    expect(world().candidates.setsOf(object)).toEqual(['default/web']);
  });

  it.each([
    ['an owner that does not control it', server('blue', { ownerReferences: [{ ...owner, controller: false }] })],
    ['a controller of another kind', server('blue', { ownerReferences: [{ ...owner, kind: 'Other' }] })],
    ['a name with a leading zero', server('web-01')],
    ['a set that does not exist', server('db-0', { labels: { [SET_LABEL]: 'db' } })],
  ])('do not include an object with %s', (_why, object) => {
    expect(world().candidates.setsOf(object)).toEqual([]);
  });
});
