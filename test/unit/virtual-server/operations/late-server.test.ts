/** A server that appears under the identifier of a failed order, and that is not the one of that order. */
import { describe, expect, it } from 'vitest';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ResponseError } from '../../../../src/provider/error.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { Holders, holdingOf } from '../../../../src/virtual-server/shared/holders.ts';
import { ACCOUNT, KNOWN, NOW, SERVER, UID, record, web, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Answers, type Given, type Visited } from '../../../fixtures/visits.ts';

const said = 'Out of stock';
const failed = { attempt: 'a0', task: 7, identifier: 'srv1', said, account: ACCOUNT };
const withFailed = (product?: string): ServerRecord => record({ failed: [{ ...failed, ...(product && { product }) }] });
const answers: Answers = { server: SERVER, order: { kind: 'created', task: 8 }, task: { state: 'pending' } };
const OTHERS_BY_HAND = { ...SERVER, product: 'VPSX64', name: 'shop-by-hand' };
const OWN_NAME = `default/web (${UID.slice(0, 8)})`;
const MISSING = '2026-01-01T23:00:00Z';

const held = ({ object }: Visited): ServerRecord | undefined => object && knownRecord(object);
const doomed = (own: ServerRecord): VirtualServer => webWith(own, { deleting: true });

describe('a server of another product than the failed order', () => {
  it('is not held, keeps no order from being sent, and is no orphan', async () => {
    const visited = await visit(webWith(withFailed('VPSX4')), { answers: { ...answers, server: OTHERS_BY_HAND } });
    expect(visited.requests).toHaveLength(1);
    expect(held(visited)).not.toHaveProperty('identifier');
    expect(held(visited)).not.toHaveProperty('orphans');
    expect((await visit(doomed(withFailed('VPSX4')), { answers: { server: OTHERS_BY_HAND } })).object).toBeUndefined();
  });

  it.each([
    { what: 'it has the name of the order', product: 'VPSX4', server: { ...OTHERS_BY_HAND, name: OWN_NAME } },
    { what: 'the product of the order is not known', product: undefined, server: OTHERS_BY_HAND },
    {
      what: 'it shows the product in other letters',
      product: 'VPSX4',
      server: { ...OTHERS_BY_HAND, product: 'vpsx4' },
    },
    { what: 'it shows no product', product: 'VPSX4', server: { ...OTHERS_BY_HAND, product: undefined } },
  ])('is held if $what', async ({ product, server }) => {
    const visited = await visit(webWith(withFailed(product)), { answers: { ...answers, server } });
    expect(held(visited)).toMatchObject({ identifier: 'srv1', attempt: 'a0' });
    expect(visited.requests).toEqual([]);
  });

  it('is told by the product of the order, not of a later spec', async () => {
    const ordered = await visit(web(), { answers });
    const own = held(ordered);
    expect(own).toMatchObject({ ordered: { product: 'VPSX4' } });
    // The spec asks for another product by the time at which the order fails.
    let last = ordered;
    for (let minute = 1; minute < 90 && held(last)?.failed === undefined; minute++) {
      const object = last.object ?? web();
      const later = { ...object, spec: { ...object.spec, product: 'VPSX8' } };
      const task = minute === 1 ? { state: 'pending', identifier: 'srv1' } : new ResponseError(500, said, { said });
      last = await visit(later, {
        memo: last.memo,
        now: NOW + minute * 60_000,
        listsCreating: true,
        listsServers: true,
        answers: { task, server: DENIED, servers: ['srv9'] } as Answers,
      });
    }
    expect(held(last)?.failed).toMatchObject([{ identifier: 'srv1', product: 'VPSX4' }]);
    const late = await visit(last.object ?? web(), {
      now: NOW + 10 * 3_600_000,
      answers: { server: SERVER, task: { state: 'complete', identifier: 'srv1' } },
    });
    expect(held(late)).toMatchObject({ identifier: 'srv1', ordered: { product: 'VPSX4' } });
  });
});

describe('the server of another object, which counts as missing there', () => {
  const theirs = { ...KNOWN, owner: 'uid-of-other', attempt: 'b0', task: 9, missingAt: MISSING } as ServerRecord;
  const holdersWith = (own: ServerRecord, accountOf = (): string | undefined => ACCOUNT): Holders => {
    const all = new Holders(accountOf);
    const object = webWith(own);
    const metadata = { ...object.metadata, name: 'other', uid: 'uid-of-other' };
    all.set('uid-of-other', holdingOf({ ...object, metadata }, own));
    return all;
  };
  const bare = { ...SERVER, macs: [], ipv6: [] };
  const stranger = { ...SERVER, macs: ['00:00:5e:00:53:77'], ipv6: ['2001:db8::77'] };

  it.each([
    { what: 'with its addresses', server: SERVER },
    { what: 'without addresses', server: bare },
  ])('is not held when the provider shows it again $what, and is no orphan', async ({ server }) => {
    const given: Given = { answers: { ...answers, server }, holders: holdersWith(theirs) };
    const visited = await visit(webWith(withFailed()), given);
    expect(held(visited)).not.toHaveProperty('identifier');
    expect(held(visited)).not.toHaveProperty('orphans');
    expect((await visit(doomed(withFailed()), given)).object).toBeUndefined();
  });

  it('is no reason to overlook another server with its identifier', async () => {
    const given: Given = { answers: { ...answers, server: stranger }, holders: holdersWith(theirs) };
    expect(held(await visit(webWith(withFailed()), given))).toMatchObject({ identifier: 'srv1' });
  });

  it('may be another one once that object is gone', async () => {
    const holders = holdersWith(theirs);
    holders.forget('uid-of-other');
    expect(held(await visit(webWith(withFailed()), { answers, holders }))).toMatchObject({ identifier: 'srv1' });
  });

  it('keeps the object from the next order, if nothing confirms the record of the other one', async () => {
    const visited = await visit(webWith(withFailed()), { answers, holders: holdersWith(theirs, () => undefined) });
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited).reason).toBe('IdentityUnproven');
    expect(held(visited)).not.toHaveProperty('identifier');
  });
});
