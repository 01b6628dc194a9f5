/** The calls that switch a server off and on, restart it, make it dormant and change it. */
import { describe, expect, it } from 'vitest';
import type { FurtherAnswer, Session } from '../../../src/provider/types.ts';
import { errorOf, sessionFor, startStub, type Reply } from './stub-provider.ts';

const SERVER = '/beta/vps/servers/abc';

type Send = (session: Session, maySend?: () => boolean) => Promise<FurtherAnswer>;

const CALLS: [string, unknown, Send][] = [
  [`PUT ${SERVER}/power`, { power: 'shutdown' }, (session, may) => session.setPower('abc', 'shutdown', may)],
  [
    `PATCH ${SERVER}`,
    { product: 'VPSX8', specs: { disk_size: 20480 } },
    (session, may) => session.changeServer('abc', { product: 'VPSX8', specs: { disk_size: 20480 } }, may),
  ],
  [`POST ${SERVER}/reboot`, undefined, (session, may) => session.reboot('abc', may)],
  [`PUT ${SERVER}/dormant`, { dormant: true }, (session, may) => session.setDormant('abc', { dormant: true }, may)],
  [
    `PUT ${SERVER}/dormant`,
    { dormant: false, product: 'VPSX4' },
    (session, may) => session.setDormant('abc', { dormant: false, product: 'VPSX4' }, may),
  ],
];

describe.each(CALLS)('%s %j', (route, body, send) => {
  async function sent(reply: Reply) {
    const stub = await startStub();
    stub.on(route, reply);
    const count = (): number => stub.seen.filter(({ method, path }) => `${method} ${path}` === route).length;
    return { session: sessionFor(stub), stub, count };
  }

  it('sends the documented request', async () => {
    const { session, stub } = await sent({ status: 200, body: { message: 'Operation successful' } });
    expect(await send(session)).toBe('accepted');
    const text = stub.seen.at(-1)?.body ?? '';
    expect(text === '' ? undefined : JSON.parse(text)).toEqual(body);
  });

  it.each<[number, unknown]>([
    [200, ''],
    [202, 'OK'],
    [204, ''],
  ])('takes %i with the body %j for a yes: only a read tells what came of it', async (status, answer) => {
    const { session } = await sent({ status, body: answer });
    expect(await send(session)).toBe('accepted');
  });

  it.each([404, 405, 501])('learns from %i that the provider has no such call', async (status) => {
    const { session } = await sent({ status, body: { error: 'There is no such call' } });
    expect(await send(session)).toBe('notOffered');
  });

  it.each([403, 404])('takes %i with that text for a server that does not exist', async (status) => {
    const { session } = await sent({ status, body: { error: 'Server does not exist or access denied' } });
    expect(await errorOf(send(session))).toMatchObject({ code: 'PROVIDER_NOT_FOUND', status });
  });

  it.each<[number, string]>([
    [400, 'PROVIDER_RESPONSE'],
    [403, 'PROVIDER_FORBIDDEN'],
    [429, 'PROVIDER_RATE_LIMITED'],
    [500, 'PROVIDER_RESPONSE'],
  ])('fails on %i with %s and the text of the provider, without an automatic retry', async (status, code) => {
    const { session, count } = await sent({ status, body: { error: 'Server is locked' } });
    const error = await errorOf(send(session));
    expect(error).toMatchObject({ code });
    expect(error.message).toContain('Server is locked');
    expect(count()).toBe(1);
  });

  it('is not sent without the permission of the caller', async () => {
    const { session, count } = await sent({ status: 200 });
    expect(await errorOf(send(session, () => false))).toMatchObject({ code: 'PROVIDER_WITHHELD' });
    expect(count()).toBe(0);
  });
});

it.each([true, false, undefined])('reads from a server whether it is dormant: %s', async (dormant) => {
  const stub = await startStub();
  stub.on(`GET ${SERVER}`, { status: 200, body: { identifier: 'abc', status: 'shut down', dormant } });
  const server = await sessionFor(stub).readServer('abc', 'low');
  expect([server.status, server.isDormant]).toEqual(['shut down', dormant === true ? true : undefined]);
});
