/** Which object holds a server before and after a hand-over, and that no cancellation meets one. */
import { describe, expect, it } from 'vitest';
import { FINALIZER, HAND_OVER_ANNOTATION, RECORD_ANNOTATION } from '../../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { HandOvers } from '../../../../src/virtual-server/shared/hand-overs.ts';
import { Holders } from '../../../../src/virtual-server/shared/holders.ts';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';
import { Objects } from '../../../../src/virtual-server/shared/objects.ts';
import { ACCOUNT, KNOWN } from '../../../fixtures/decision.ts';
import { stored, storedWith } from '../../../fixtures/virtual-server.ts';

const TAKEN = { name: 'old', uid: 'uid-of-old', identifier: 'srv1' };
const at = (name: string, resourceVersion: string, own?: ServerRecord, target?: string): VirtualServer =>
  stored(
    name,
    storedWith({
      metadata: {
        resourceVersion,
        finalizers: [FINALIZER],
        ...(name === 'old' && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
        annotations: {
          ...(own && { [RECORD_ANNOTATION]: formatRecord(own) }),
          ...(target !== undefined && { [HAND_OVER_ANNOTATION]: target }),
        },
      },
    }),
  );
const OLD = at('old', '5', { ...KNOWN, owner: 'uid-of-old' }, 'new');
const FREE = at('new', '6');
const TAKER = at('new', '7', { ...KNOWN, owner: 'uid-of-new', mode: 'adopt', takenFrom: TAKEN });

function world(quota = new ServerQuota(1)) {
  const holders = new Holders(() => ACCOUNT);
  const objects = new Objects({ get: (key) => (key === 'default/old' ? OLD : undefined) }, holders, quota);
  const holdersOf = () => holders.others('uid-of-asker').withServer('srv1', { account: ACCOUNT });
  return { objects, quota, holdersOf };
}

describe('a hand-over', () => {
  it('has one holder at each moment, whichever object the process sees first', () => {
    for (const order of [
      [OLD, FREE, TAKER],
      [TAKER, OLD],
    ]) {
      const { objects, holdersOf } = world();
      for (const object of order) objects.saw(object);
      expect(holdersOf()).toEqual(['default/new']);
      expect(objects.handOvers.of(OLD).takenBy).toBe('new');
    }
    const { objects, holdersOf } = world();
    for (const object of [OLD, FREE]) objects.saw(object);
    expect(holdersOf()).toEqual(['default/old']);
    expect(objects.handOvers.of(OLD).takenBy).toBeUndefined();
  });

  it('is not forgotten when the answer to an earlier write arrives after the version that begins it', () => {
    const { objects } = world();
    objects.told(OLD, undefined);
    objects.saw(at('old', '4', { ...KNOWN, owner: 'uid-of-old' }));
    expect(objects.handOvers.of(FREE).givers).toEqual([{ name: 'old', isEnding: true }]);
  });

  it('does not take a second place in the quota', () => {
    const { objects, quota } = world();
    for (const object of [OLD, FREE, TAKER]) objects.saw(object);
    expect(quota.reserve('default', 'uid-of-new', TAKER.spec)).not.toHaveProperty('full');
    expect(quota.reserve('default', 'uid-of-third', TAKER.spec)).toHaveProperty('full');
  });

  it('counts what the server costs before the object that has taken it over has read it', () => {
    const { product, diskSize } = TAKER.spec;
    const shown = { serverStatus: 'running', product, specs: { diskSize }, price: 12, record: KNOWN };
    const read: VirtualServer = { ...OLD, status: shown };
    const taker = { ...KNOWN, owner: 'uid-of-new', mode: 'adopt' as const, takenFrom: TAKEN };
    const priced = at('new', '7', { ...taker, price: { identifier: 'srv1', amount: 12, product, diskSize } });
    for (const order of [[read, FREE, TAKER], [TAKER, read], [priced]]) {
      const { objects, quota } = world(new ServerQuota(0, { usual: 20, namespaces: {} }));
      for (const object of order) objects.saw(object);
      const asked = () => quota.reserve('default', 'uid-of-third', TAKER.spec);
      expect(asked()).toEqual({ full: 'price', maximum: 20, sum: 12, price: 12 });
      objects.gone(read);
      expect(asked()).toEqual({ full: 'price', maximum: 20, sum: 12, price: 12 });
    }
  });

  it('does not use the price of a cheaper server for the server that was taken over', () => {
    const { product, diskSize } = TAKER.spec;
    const shown = { serverStatus: 'running', product, specs: { diskSize }, record: KNOWN };
    const read: VirtualServer = { ...OLD, status: { ...shown, price: 12 } };
    const own: ServerRecord = { ...KNOWN, owner: 'uid-of-cheap', identifier: 'srv2' };
    const cheap: VirtualServer = {
      ...at('cheap', '4', own),
      status: { ...shown, identifier: 'srv2', price: 5, record: own },
    };
    const { objects, quota } = world(new ServerQuota(0, { usual: 25, namespaces: {} }));
    for (const object of [cheap, read, FREE, TAKER]) objects.saw(object);
    expect(quota.reserve('default', 'uid-of-third', TAKER.spec)).toEqual({
      full: 'price',
      maximum: 25,
      sum: 17,
      price: 12,
    });
  });

  it('ends with the object that holds the server', () => {
    const { objects } = world();
    for (const object of [OLD, TAKER]) objects.saw(object);
    objects.gone(TAKER);
    expect(objects.handOvers.of(OLD).takenBy).toBeUndefined();
  });

  it.each<[string, (objects: Objects) => void]>([
    ['is gone', (objects) => objects.gone(TAKER)],
    ['has lost its record', (objects) => objects.saw(at('new', '8'))],
  ])('leaves the server to the first object again if the other one %s', (_what, happens) => {
    const { objects, quota, holdersOf } = world();
    for (const object of [OLD, TAKER]) objects.saw(object);
    happens(objects);
    expect(holdersOf()).toEqual(['default/old']);
    expect(quota.reserve('default', 'uid-of-third', TAKER.spec)).toHaveProperty('full');
  });

  it('finds an object that is to get a server but is missing or being deleted, or holds another one', () => {
    const takerAs = (taker: VirtualServer | undefined) =>
      new Objects(
        { get: (key) => (key === 'default/new' ? taker : undefined) },
        new Holders(() => ACCOUNT),
        new ServerQuota(0),
      ).takerOf(OLD);
    expect(takerAs(undefined)).toBe('missing');
    const deletionTimestamp = '2026-01-02T00:00:00Z';
    expect(takerAs({ ...FREE, metadata: { ...FREE.metadata, deletionTimestamp } })).toBe('missing');
    expect(takerAs(FREE)).toBeUndefined();
    expect(takerAs(TAKER)).toBeUndefined();
    expect(takerAs(at('new', '7', { ...KNOWN, owner: 'uid-of-new', identifier: 'srv2' }))).toBe('holding');
  });

  it('concerns both objects', () => {
    const { objects } = world();
    objects.saw(OLD);
    expect(objects.handOvers.of(FREE).givers).toEqual([{ name: 'old', isEnding: true }]);
    expect(objects.handOvers.concernedBy(OLD, undefined)).toEqual(['default/new']);
    expect(objects.handOvers.concernedBy(TAKER, { ...KNOWN, takenFrom: TAKEN })).toEqual(['default/old']);
    const elsewhere = { ...FREE, metadata: { ...FREE.metadata, namespace: 'other' } };
    expect(objects.handOvers.of(elsewhere).givers).toEqual([]);
  });

  it('does not concern an object that names itself, which would follow each of its own writes with a visit', () => {
    const itself = at('new', '8', undefined, 'new');
    expect(new HandOvers().concernedBy(itself, { ...KNOWN, takenFrom: { ...TAKEN, name: 'new' } })).toEqual([]);
  });

  it('shows the other object a new record, mark or spec, and no condition, which both would answer with one', () => {
    const { handOvers } = world().objects;
    const told = { ...OLD, status: { serverStatus: 'running', record: KNOWN } };
    const metadata = { ...OLD.metadata, resourceVersion: '9' };
    expect(handOvers.isSame(told, { ...told, metadata, status: { conditions: [], record: KNOWN } })).toBe(true);
    for (const after of [
      { ...told, status: { ...told.status, record: { ...KNOWN, identifier: 'srv2' } } },
      { ...told, metadata: { ...metadata, annotations: {} } },
      { ...told, metadata: { ...metadata, finalizers: [] } },
      { ...told, spec: { ...told.spec, deletionProtection: true } },
    ])
      expect(handOvers.isSame(told, after)).toBe(false);
  });
});

describe('a cancellation and a hand-over of one server', () => {
  it('exclude each other until the visit ends', () => {
    const handOvers = new HandOvers();
    const [first, second] = [{}, {}];
    const held = handOvers.begin('uid', first);
    expect(handOvers.begin('uid', second)).toBeUndefined();
    expect(handOvers.begin('uid', first)).toBeDefined();
    held?.release();
    expect(handOvers.begin('uid', second)).toBeDefined();
  });

  it('are kept apart while the record of the taker may be on its way', () => {
    const handOvers = new HandOvers();
    handOvers.tries('uid', 1_000);
    expect(handOvers.wasTriedWithin(500, 'uid', 1_499)).toBe(true);
    expect(handOvers.wasTriedWithin(500, 'other', 1_499)).toBe(false);
    expect(handOvers.wasTriedWithin(500, 'uid', 1_500)).toBe(false);
    handOvers.tries('uid', 2_000);
    handOvers.forget('uid');
    expect(handOvers.wasTriedWithin(500, 'uid', 2_001)).toBe(false);
  });
});
