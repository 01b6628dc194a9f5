import { describe, expect, it } from 'vitest';
import { ON_CHANGE } from '../../../../src/virtual-server/decision/next.ts';
import { reasonPage } from '../../../../src/api/documentation.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { released } from '../../../../src/virtual-server/operations/release.ts';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { HELD, facts, memo, record, webWith } from '../../../fixtures/decision.ts';

type Why = Exclude<Parameters<typeof released>[1]['why'], 'handedOver'>;

const release = (why: Why, of: ServerRecord, held?: Memo) =>
  released(viewOf(webWith(of, { deleting: true }), facts(held && { memo: held })), {
    type: 'release',
    why,
    record: of,
  });

const requested = { state: 'requested', identifier: 'srv1' } as const;
const cancelled = 'Normal ServerCancelled: Server srv1 was cancelled';

describe('a release', () => {
  it.each<{ what: string; why: Why; of?: ServerRecord; held?: Memo; events: string[] }>([
    { what: 'an object for which nothing was created', why: 'nothingCreated', of: record(), events: [] },
    { what: "another object's record", why: 'foreign', events: [] },
    { what: 'a cancelled server', why: 'cancelled', events: [cancelled] },
    {
      what: 'a server that is gone after a DELETE whose answer was lost',
      why: 'gone',
      held: memo({ end: requested }),
      events: [cancelled],
    },
    {
      what: 'a server that is gone',
      why: 'gone',
      events: [
        'Warning ServerGone: Server srv1 no longer exists at the provider, and this process did not cancel it. ' +
          "If you did not cancel it elsewhere, look for it in the provider's control panel. " +
          `See ${reasonPage('ServerGone')}`,
      ],
    },
    {
      what: 'a server that is kept',
      why: 'retained',
      events: [
        'Warning RetainedServer: Server srv1 keeps running and costs money, because spec.deletionPolicy is Retain. ' +
          "To cancel the server, use the provider's control panel. To let the operator manage it again, create an object " +
          `that adopts it. See ${reasonPage('RetainedServer')}`,
      ],
    },
  ])('removes record and finalizer, and tells the end of $what', ({ why, of = HELD, held, events }) => {
    const next = release(why, of, held);
    expect(next).toMatchObject({ record: null, when: ON_CHANGE });
    expect(next).not.toHaveProperty('status');
    expect(next.events.map(({ type, reason, note }) => `${type} ${reason}: ${note}`)).toEqual(events);
  });

  it('names orphans that are left behind with a server that is kept', () => {
    const next = release('retained', { ...HELD, orphans: [{ task: 3 }, { attempt: 'a0' }] });
    expect(next.events[0]?.note).toContain('from task 3, order a0');
  });
});
