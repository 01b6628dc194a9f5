import { expect, it } from 'vitest';
import { choose } from '../../../../src/virtual-server/visit/choose.ts';
import type { VisitFacts } from '../../../../src/virtual-server/visit/gather.ts';
import { ACCOUNT, KNOWN, SERVER, gathered, webWith } from '../../../gen/decision.ts';
import { fakeKube, fakeRooms, fakeSession } from '../../../gen/doubles.ts';
import { FakeTimers } from '../../../gen/timers.ts';

it('reads everything again for each cancellation of a visit', async () => {
  const doomed = webWith(KNOWN, { deleting: true, status: { serverStatus: 'running' } });
  const calls: string[] = [];
  const called = <T>(call: string, value: T): Promise<T> => {
    calls.push(call);
    return Promise.resolve(value);
  };
  const session = fakeSession({ account: ACCOUNT, readServer: () => called('server', SERVER) });
  const kube = fakeKube({
    getVirtualServer: () => called('live', doomed),
    getDefinition: () => called('definition', 'kept' as const),
  });
  const room = fakeRooms({ kube, timers: new FakeTimers(), objects: { saw: () => undefined } });
  const into: VisitFacts = { session };
  const again = async (): Promise<string | undefined> => {
    const known = () => gathered(into.cancellation && { cancellation: into.cancellation });
    return (await choose(doomed, into, known, room))?.action.type;
  };
  expect([await again(), await again()]).toEqual(['deleteServer', 'deleteServer']);
  expect(calls).toEqual(['server', 'live', 'definition', 'server', 'live', 'definition']);
});

it('ends if the object is gone, or if another one has its name', async () => {
  const doomed = webWith(KNOWN, { deleting: true, status: { serverStatus: 'running' } });
  const namesake = { ...doomed, metadata: { ...doomed.metadata, uid: 'another' } };
  for (const live of [undefined, namesake]) {
    const session = fakeSession({ account: ACCOUNT, readServer: () => Promise.resolve(SERVER) });
    const into: VisitFacts = { session };
    const kube = fakeKube({ getVirtualServer: () => Promise.resolve(live) });
    const room = fakeRooms({ kube, timers: new FakeTimers() });
    const known = () => gathered(into.cancellation && { cancellation: into.cancellation });
    expect(await choose(doomed, into, known, room)).toBeUndefined();
  }
});
