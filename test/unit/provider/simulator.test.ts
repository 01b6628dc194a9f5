/** The life of a server at the simulated provider, an independent implementation of the same documentation. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/index.ts';
import type { SimulatorOptions } from '../../../src/simulator/index.ts';
import { errorOf, providerFor, order } from './stub-provider.ts';

async function simulated(options: SimulatorOptions = {}) {
  const simulator = await startSimulator(options);
  onTestFinished(() => simulator.close());
  const session = providerFor(simulator).account({ keyId: simulator.keyId, secret: simulator.secret }).session('');
  return { simulator, session };
}

describe('at the simulated provider', () => {
  it.each([{}, { basePrefix: '/some/prefix' }])('a server is created, read and deleted: %j', async (options) => {
    const { session } = await simulated({ ...options, taskDurationMs: 1 });
    const { products, images, diskSizes } = await session.catalog(0);
    const outcome = await order(
      session,
      {},
      {
        product: products[0]?.code ?? '',
        image: images[0]?.name ?? '',
        diskSize: diskSizes.ssd?.[0] ?? 0,
        sshKeys: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFirst me@example.org',
      },
    );
    if (outcome.kind !== 'created') throw new Error(`not created: ${outcome.kind}`);
    const completed = async (): Promise<string> => {
      const state = await session.pollTask(outcome.task);
      return state.state === 'complete' ? state.identifier : completed();
    };
    const identifier = await completed();
    expect(await session.readServer(identifier, 'low')).toMatchObject({ identifier, product: products[0]?.code });
    await session.deleteServer(identifier);
    expect(await errorOf(session.readServer(identifier, 'low'))).toMatchObject({ code: 'PROVIDER_NOT_FOUND' });
    expect(await errorOf(session.deleteServer(identifier))).toMatchObject({ code: 'PROVIDER_NOT_FOUND' });
  });

  it('an order is refused if the provider does not offer what it requests', async () => {
    const { session } = await simulated();
    const outcome = await order(
      session,
      {},
      {
        product: 'none',
        image: 'no/ne',
        diskSize: 1,
        sshKeys: 'ssh-ed25519 AAAA',
      },
    );
    expect(outcome).toMatchObject({ kind: 'refused' });
  });
});
