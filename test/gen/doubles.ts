/**
 * Test doubles for the API server and a session: they run the given calls, answer routine ones, and reject all others.
 */
import type { Kube } from '../../src/virtual-server/kube.ts';
import type { Session } from '../../src/provider/types.ts';

const refuse = (call: string) => (): never => {
  throw new Error(`${call} was not expected in this test`);
};

export function fakeKube(calls: Partial<Kube>): Kube {
  return {
    getVirtualServer: refuse('getVirtualServer'),
    getDefinition: refuse('getDefinition'),
    getSetDefinition: refuse('getSetDefinition'),
    patchMetadata: refuse('patchMetadata'),
    writeStatus: refuse('writeStatus'),
    getSecret: refuse('getSecret'),
    serverTime: () => undefined,
    createEvent: () => Promise.resolve(),
    ...calls,
  };
}

export function fakeSession(calls: Partial<Session>): Session {
  return {
    account: 'acc',
    isAccepted: false,
    ensureToken: () => Promise.resolve(),
    catalog: refuse('catalog'),
    products: refuse('products'),
    createServer: refuse('createServer'),
    pollTask: refuse('pollTask'),
    readServer: refuse('readServer'),
    deleteServer: refuse('deleteServer'),
    ...calls,
  };
}
