/** Numbers of the provider that a double cannot hold. */
import { expect, it } from 'vitest';
import { sessionFor, startStub } from './stub-provider.ts';

const LONG = '9007199254740993';

it('polls a task beyond 2^53 by all of its digits, and takes the identifier that it names as a number', async () => {
  const stub = await startStub();
  stub.on(`GET /beta/queue/vps/${LONG}`, { status: 303, body: `{"identifier":${LONG}}` });
  expect(await sessionFor(stub).pollTask(LONG)).toEqual({ state: 'complete', identifier: LONG });
  stub.on('GET /beta/queue/vps/7', { status: 200, body: `{"identifier":12345678901234567,"status":"Installing"}` });
  expect(await sessionFor(stub).pollTask(7)).toMatchObject({ state: 'pending', identifier: '12345678901234567' });
});

it('reads a server whose identifier is a number', async () => {
  const stub = await startStub();
  const body = `{"identifier":${LONG},"price":8.5,"specs":{"ram":9007199254740993}}`;
  stub.on(`GET /beta/vps/servers/${LONG}`, { status: 200, body });
  expect(await sessionFor(stub).readServer(LONG, 'high')).toMatchObject({ identifier: LONG, price: 8.5 });
  // Its neighbor is the same number for a double.
  stub.on('GET /beta/vps/servers/9007199254740992', { status: 200, body });
  await expect(sessionFor(stub).readServer('9007199254740992', 'high')).rejects.toThrow('another server');
  stub.on('GET /beta/vps/servers/7', { status: 200, body: '{"identifier":7}' });
  expect(await sessionFor(stub).readServer('7', 'high')).toMatchObject({ identifier: '7' });
});

it('lists servers whose identifiers are numbers', async () => {
  const stub = await startStub();
  const body = `[{"identifier":${LONG}},${LONG.replace(/.$/, '5')},7]`;
  stub.on('GET /beta/vps/servers', { status: 200, body });
  expect([...((await sessionFor(stub).servers()) ?? [])]).toEqual([LONG, '9007199254740995', '7']);
});
