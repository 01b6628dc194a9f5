/**
 * Test doubles: they run the given calls, answer routine ones, and reject all others.
 */
import type { Secrets } from '../../src/kube/kinds.ts';
import type { ConnectionSecrets } from '../../src/virtual-server/connection-secret.ts';
import type { Pace } from '../../src/virtual-server/fleet/pace.ts';
import type { Kube } from '../../src/virtual-server/kube.ts';
import type { CreateOutcome, OpenOrder, Session } from '../../src/provider/types.ts';
import { Progress } from '../../src/controller/controller.ts';
import type { VisitServices } from '../../src/virtual-server/visit.ts';
import { FakeTimers } from './timers.ts';

const refuse = (call: string) => (): never => {
  throw new Error(`${call} was not expected in this test`);
};

/** For classes, and for objects that hold them: has only the given members; reading another one throws. */
function only<T extends object>(of: string, given: Partial<T>): T {
  return new Proxy(given, {
    get(target, key): unknown {
      // Whatever prints or compares a value asks for symbols.
      if (typeof key === 'symbol' || key in target) return Reflect.get(target, key);
      return refuse(`${of}.${key}`)();
    },
  }) as T;
}

export function fakeKube(calls: Partial<Kube>): Kube {
  return {
    getVirtualServer: refuse('getVirtualServer'),
    getDefinition: refuse('getDefinition'),
    getSetDefinition: refuse('getSetDefinition'),
    patchMetadata: refuse('patchMetadata'),
    writeStatus: refuse('writeStatus'),
    getSecret: refuse('getSecret'),
    serverTime: () => undefined,
    events: { create: (event) => Promise.resolve({ ...event }) },
    ...calls,
  };
}

export function fakeSession(calls: Partial<Session>): Session {
  return {
    account: 'acc',
    ensureToken: () => Promise.resolve(),
    catalog: refuse('catalog'),
    products: refuse('products'),
    openOrder: refuse('openOrder'),
    pollTask: refuse('pollTask'),
    readServer: refuse('readServer'),
    deleteServer: refuse('deleteServer'),
    ...calls,
  };
}

/** For `openOrder`: orders whose outcome `send` returns. */
export const ordersWith = (send: () => Promise<CreateOutcome>): Session['openOrder'] => {
  const order: OpenOrder = { send: (_request, { sending }) => sending().then(send), close: () => undefined };
  return () => Promise.resolve(order);
};

export function fakeSecrets(calls: Partial<Secrets>): Secrets {
  return { get: refuse('get'), create: refuse('create'), patch: refuse('patch'), ...calls };
}

export const fakeConnections = (calls: Partial<ConnectionSecrets>): ConnectionSecrets => only('connections', calls);

export const fakePace = (calls: Partial<Pace>): Pace => only('pace', calls);

/** For visits: each service that a test does not give refuses to be used. */
export const fakeServices = (services: Partial<VisitServices>): VisitServices =>
  only<VisitServices>('services', { progress: new Progress(new FakeTimers()), ...services });
