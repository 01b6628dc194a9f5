/** What the record tells about requests that change a server: from before the first is sent until none can still have an effect. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { mayBeChanging } from '../../../../src/api/ordered-fields.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { REQUESTS_MS } from '../../../../src/virtual-server/decision/change-requests.ts';
import { KNOWN, NOW, SERVER, TIMING, webWith } from '../../../fixtures/decision.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const MINUTE = 60_000;
/** When a resync shows that nothing more comes of a request (minutes). */
const OVER = (REQUESTS_MS + 2 * TIMING.resyncMs) / MINUTE;
const SIZE = { diskSize: 20480, changePolicy: 'Online' } as const;
const LOST = new ProviderError('PROVIDER_TIMEOUT', 'Changing the server failed: no answer');
const REFUSED = new ResponseError(400, 'Changing the server failed: the provider answered 400: No room');

const wanting = (spec: object = SIZE): VirtualServer => webWith(KNOWN, { status: { serverStatus: 'running' }, spec });
const visited = (object: VirtualServer, given: Given = {}): Promise<Visited> =>
  visit(object, { ...given, answers: { server: SERVER, changed: 'accepted', ...given.answers } });

function shown({ object }: Visited): VirtualServer {
  if (object === undefined) throw new Error('the object is gone');
  return object;
}
const isOpen = (next: Visited): boolean => mayBeChanging(shown(next));
const later = (minutes: number, before: Visited, given: Given = {}): Promise<Visited> =>
  visited(shown(before), { memo: before.memo, now: NOW + minutes * MINUTE, ...given });
const saying = (before: Visited, spec: object): Visited => {
  const object = shown(before);
  const metadata = { ...object.metadata, generation: object.metadata.generation + 1 };
  return { ...before, object: { ...object, metadata, spec: { ...object.spec, ...spec } } };
};

describe('that a change may be under way', () => {
  it('is noted before the request is sent', async () => {
    const next = await visited(wanting(), { dies: 'change', fails: true });
    expect(next.changes).toEqual([{ specs: { disk_size: 20480 } }]);
    expect(isOpen(next)).toBe(true);
  });

  it('is not noted if nothing is sent: the price limit leaves no room', async () => {
    const next = await visited(wanting(), { maxPrice: 2000, taken: 2, price: 1000 });
    expect([next.changes, isOpen(next)]).toEqual([[], false]);
  });

  it.each<[string, Given['answers']]>([
    ['refuses it', { changed: REFUSED }],
    ['has no such call', { changed: 'notOffered' }],
  ])('ends if the provider %s', async (_what, answers) => {
    const next = await visited(wanting(), { answers: answers ?? {} });
    expect([next.changes.length, isOpen(next)]).toEqual([1, false]);
  });

  it('lasts until reads show the change that was accepted', async () => {
    const next = await visited(wanting());
    expect(isOpen(next)).toBe(true);
    const done = await later(1, next, { answers: { server: { ...SERVER, specs: { diskSize: 20480 } } } });
    expect(isOpen(done)).toBe(false);
  });

  it('lasts until a request without an answer can have no effect, counted from the last one', async () => {
    let next = await visited(wanting(), { answers: { changed: LOST } });
    let minutes = 0;
    for (; minutes < OVER; minutes += 1) {
      next = await later(minutes, next, { answers: { changed: LOST } });
      if (next.changes.length > 0) expect(isOpen(next)).toBe(true);
    }
    const resent = await later(minutes + 60, next, { answers: { changed: LOST } });
    expect([resent.changes.length, isOpen(resent)]).toEqual([1, true]);
    const stopped = await later(minutes + 61, saying(resent, { changePolicy: 'Never' }));
    expect([stopped.changes, isOpen(stopped)]).toEqual([[], true]);
    const over = await later(minutes + 61 + OVER, stopped);
    expect([over.changes, isOpen(over)]).toEqual([[], false]);
  });

  it('does not end by the refusal of a later request', async () => {
    const lost = await visited(wanting(), { answers: { changed: LOST } });
    const refused = await later(2, lost, { answers: { changed: REFUSED } });
    expect([refused.changes.length, isOpen(refused)]).toEqual([1, true]);
    expect(isOpen(await later(2 + OVER, refused))).toBe(false);
  });

  it('is not noted if the provider turns the request away for now, or an edit comes before it', async () => {
    const busy = await visited(wanting(), { answers: { changed: new ResponseError(409, 'busy') } });
    expect([busy.changes.length, isOpen(busy)]).toEqual([1, false]);
    let [isNext, isDone] = [false, false];
    const beforeWrite = (stored: VirtualServer): VirtualServer => {
      if (!isNext || isDone) return stored;
      isDone = true;
      return shown(saying({ ...busy, object: stored }, { diskSize: 10240 }));
    };
    const onCall = (call: string): void => {
      isNext ||= call === 'live';
    };
    const edited = await visited(wanting(), { beforeWrite, onCall, fails: true });
    expect([isDone, edited.changes, isOpen(edited)]).toEqual([true, [], false]);
  });

  it('lasts although the policy lets spec go back before the request has an answer', async () => {
    const lost = await visited(wanting({ product: 'VPSX8', changePolicy: 'Online' }), { answers: { changed: LOST } });
    const back = await later(1, saying(lost, { product: 'VPSX4' }));
    expect([back.changes, isOpen(back)]).toEqual([[], true]);
    expect(isOpen(await later(1 + OVER, back))).toBe(false);
  });

  it('ends although the server ignores a later shutdown', async () => {
    let next = await visited(wanting(), { answers: { changed: LOST } });
    const server = { ...SERVER, tablet: true };
    next = saying(next, { changePolicy: 'AllowStop', advanced: { tablet: false } });
    for (let minute = 2; minute < 2 * OVER; minute += 2)
      next = await later(minute, next, { answers: { server, power: 'accepted' } });
    expect([next.changes, isOpen(next)]).toEqual([[], false]);
  });

  it('ends by the read that shows the name, while a resize of someone else waits for a restart', async () => {
    const waits = { ...SERVER, name: 'old', specs: { ...SERVER.specs, ram: 1024 }, resize: { ram: 8192 } };
    const name = { serverName: 'new', changePolicy: 'Online' } as const;
    const sent = await visited(wanting(name), { answers: { server: waits } });
    expect([sent.changes, isOpen(sent)]).toEqual([[{ name: 'new' }], true]);
    const made = await later(60, sent, { answers: { server: { ...waits, name: 'new' } } });
    expect(isOpen(made)).toBe(false);
  });

  it('does not end by a change to something else', async () => {
    const lost = await visited(wanting(), { answers: { changed: LOST } });
    const other = await later(2, saying(lost, { product: 'VPSX8' }), { answers: { changed: REFUSED } });
    expect([other.changes.length, isOpen(other)]).toEqual([1, true]);
  });
});
