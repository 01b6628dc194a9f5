import { expect, it } from 'vitest';
import type { Kube } from '../../../../src/virtual-server/kube.ts';
import { choose } from '../../../../src/virtual-server/visit/choose.ts';
import type { GatherRooms, VisitFacts } from '../../../../src/virtual-server/visit/gather.ts';
import type { Session } from '../../../../src/provider/types.ts';
import { ACCOUNT, KNOWN, SERVER, gathered, webWith } from '../../../gen/decision.ts';
import { FakeTimers } from '../../../gen/timers.ts';

it('reads everything again for each cancellation of a visit', async () => {
  const doomed = webWith(KNOWN, { deleting: true, status: { serverStatus: 'running' } });
  const calls: string[] = [];
  const called = <T>(call: string, value: T): Promise<T> => {
    calls.push(call);
    return Promise.resolve(value);
  };
  const session: Partial<Session> = { account: ACCOUNT, readServer: () => called('server', SERVER) };
  const kube: Partial<Kube> = {
    getVirtualServer: () => called('live', doomed),
    getDefinition: () => called('definition', 'kept' as const),
  };
  const room = { kube, timers: new FakeTimers(), objects: { saw: () => undefined } } as unknown as GatherRooms;
  const into: VisitFacts = { session: session as Session };
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
    const session = { account: ACCOUNT, readServer: () => Promise.resolve(SERVER) } as unknown as Session;
    const into: VisitFacts = { session };
    const kube: Partial<Kube> = { getVirtualServer: () => Promise.resolve(live) };
    const room = { kube, timers: new FakeTimers() } as unknown as GatherRooms;
    const known = () => gathered(into.cancellation && { cancellation: into.cancellation });
    expect(await choose(doomed, into, known, room)).toBeUndefined();
  }
});
