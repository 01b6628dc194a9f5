/** Whether a 404 for a task or a server proves anything. */
import { describe, expect, it } from 'vitest';
import { ACCEPT_SERVER_ANNOTATION } from '../../../../src/api/names.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { PagedList } from '../../../../src/provider/paged-list.ts';
import { pollTask } from '../../../../src/virtual-server/operations/reads.ts';
import { ACCOUNT, ELSEWHERE, OTHER_KEY, PRICED, SERVER, TASKED, webWith } from '../../../fixtures/decision.ts';
import { fakeSession } from '../../../fixtures/doubles.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const look = (given: Given = {}): Promise<Visited> =>
  visit(webWith(PRICED, { status: { serverStatus: 'running' } }), {
    ...given,
    answers: { server: DENIED, ...given.answers },
  });

/** `accepts`: your annotation that the task is the one of the order, under another key. */
const follow = (given: Given = {}, accepts?: string): Promise<Visited> =>
  visit(webWith(TASKED, { annotations: accepts === undefined ? {} : { [ACCEPT_SERVER_ANNOTATION]: accepts } }), {
    ...given,
    answers: { task: DENIED, ...given.answers },
  });

function expectNoProof(visited: Visited): void {
  expect(visited.memo.evidence.denials).toBeUndefined();
  expect(shownBy(visited).reason).toBe('ServerNotVisible');
  expect(visited.isSuspect).toBe(true);
}

describe('a 404', () => {
  it('for a server is checked by a second read, after the list of products', async () => {
    const visited = await look();
    expect(visited.calls).toEqual(['read', 'products', 'read', 'write', 'write']);
    expect(visited.memo.evidence.denials).toMatchObject({ of: 'server srv1', counted: 1 });
    expect(visited.isSuspect).toBe(false);
  });

  it('for a task is checked by a second poll, after the list of products', async () => {
    const visited = await follow();
    expect(visited.calls).toEqual(['poll', 'products', 'poll', 'write']);
    expect(visited.memo.evidence.denials).toMatchObject({ of: 'task 7', counted: 1 });
    expect(shownBy(visited).reason).toBe('Creating');
    expect(visited.isSuspect).toBe(true);
  });

  it.each([
    { why: 'the list of products is empty', products: [] },
    { why: 'the list of products is answered with 404', products: new ResponseError(404, 'no such path') },
  ])('does not count if $why', async ({ products }) => {
    const looked = await look({ answers: { products } });
    expectNoProof(looked);
    expect(looked.calls).toEqual(['read', 'products', 'write', 'write']);
    const followed = await follow({ answers: { products } });
    expectNoProof(followed);
    expect(followed.calls).toEqual(['poll', 'products', 'write', 'write']);
  });

  it.each([OTHER_KEY, ELSEWHERE])('does not count under another account (%s)', async (account) => {
    const looked = await look({ account });
    expectNoProof(looked);
    expect(looked.calls).toEqual(['read', 'write', 'write']);
    const followed = await follow({ account }, `task-7@${account}`);
    expectNoProof(followed);
    expect(followed.calls).toEqual(['poll', 'write', 'write']);
    const session = fakeSession({ account, pollTask: () => Promise.reject(DENIED) });
    expect(await pollTask(7, ACCOUNT, session)).toMatchObject({ type: 'taskNotFound', counts: false });
  });

  it('does not count if the provider cannot be asked for its lists', async () => {
    for (const visited of [
      await look({ answers: { products: new ResponseError(503, 'down') } }),
      await follow({ answers: { products: new ResponseError(503, 'down') } }),
    ]) {
      expect(visited.memo.evidence.denials).toBeUndefined();
      expect(visited.memo.failures).toBe(1);
      expect(shownBy(visited).reason).toBe('ProviderUnavailable');
    }
  });

  it('reports the rights of the key if the provider forbids reading its lists', async () => {
    const forbidden = new ResponseError(403, 'Not authorised', { code: 'PROVIDER_FORBIDDEN' });
    for (const answers of [{ products: forbidden }, { servers: forbidden }]) {
      const visited = await look({ answers });
      expect(visited.memo.evidence.denials).toBeUndefined();
      expect(shownBy(visited).reason).toBe('PermissionDenied');
    }
  });

  it('does not count while the list of servers has the server', async () => {
    const visited = await look({ answers: { servers: ['srv0', 'srv1'] } });
    expect(visited.calls).toEqual(['read', 'products', 'servers', 'write', 'write']);
    expectNoProof(visited);
    expect(shownBy(visited).message).toContain("the provider's list of servers still has it");
  });

  it('counts if the list of servers does not have the server either', async () => {
    const visited = await look({ answers: { servers: ['srv0'] } });
    expect(visited.calls).toEqual(['read', 'products', 'servers', 'read', 'write', 'write']);
    expect(visited.memo.evidence.denials).toMatchObject({ of: 'server srv1', counted: 1, unlisted: 'yes' });
  });

  const failing = new ResponseError(500, 'down');
  it('does not count if the list of servers fails that the provider has shown before', async () => {
    const visited = await look({ listsServers: true, answers: { servers: failing } });
    expect(visited.memo.evidence.denials).toBeUndefined();
    expect(visited.memo.failures).toBe(1);
  });

  it.each([failing, new ResponseError(400, 'bad request'), new ProviderError('PROVIDER_PROTOCOL', 'not JSON')])(
    'counts as without a list if the provider never had one: %o',
    async (servers) => {
      const visited = await look({ answers: { servers } });
      expect(visited.memo.evidence.denials).toMatchObject({ counted: 1, unlisted: 'no' });
    },
  );

  it('does not count as a 403 if the list of servers fails, whatever is known of it', async () => {
    const denied = new ResponseError(403, 'Server does not exist', { code: 'PROVIDER_NOT_FOUND' });
    const visited = await look({ answers: { server: denied, servers: failing } });
    expect(visited.memo.evidence.denials).toBeUndefined();
  });

  describe('while the list of servers is longer than the one page that is read', () => {
    const page = (...identifiers: string[]): PagedList => new PagedList(new Set(identifiers), []);
    const forbidden = new ResponseError(403, 'Server does not exist', { code: 'PROVIDER_NOT_FOUND' });
    const given = { listsServers: true } as const;

    it.each([{ server: DENIED }, { server: forbidden }])(
      'does not count if the page has the server: %o',
      async (answers) => {
        const visited = await look({ ...given, answers: { ...answers, servers: page('srv0', 'srv1') } });
        expectNoProof(visited);
        expect(shownBy(visited).message).toContain("the provider's list of servers still has it");
      },
    );

    it.each([{}, given])('counts as without a list if the page lacks the server: %o', async (known) => {
      const visited = await look({ ...known, answers: { servers: page('srv0') } });
      expect(visited.memo.evidence.denials).toMatchObject({ of: 'server srv1', counted: 1, unlisted: 'no' });
    });

    it('does not count as a 403 if the page lacks the server', async () => {
      const visited = await look({ answers: { server: forbidden, servers: page('srv0') } });
      expect(visited.memo.evidence.denials).toBeUndefined();
      expect(shownBy(visited)).toMatchObject({ reason: 'ProviderProtocolError' });
    });
  });

  it('needs no fewer others while the list of servers is empty', async () => {
    const visited = await look({ answers: { servers: [] } });
    expect(visited.memo.evidence.denials).toMatchObject({ unlisted: 'perhaps' });
  });

  it('for a task leads to its server if that is known, also if the key has no right to the task', async () => {
    const forbidden = new ResponseError(403, 'Not authorised', { code: 'PROVIDER_FORBIDDEN' });
    const held = { ...TASKED, identifier: 'srv1' };
    const visited = await visit(webWith(held), { answers: { task: forbidden, server: SERVER } });
    expect(shownBy(visited).reason).toBe('Available');
  });

  it('counts as a fault if the second answer shows the server', async () => {
    const visited = await look({ answers: { server: [DENIED, SERVER] } });
    expect(visited.calls).toEqual(['read', 'products', 'read', 'write']);
    expect(shownBy(visited).reason).toBe('Available');
    expect(visited.memo.evidence.denials).toBeUndefined();
  });
});
