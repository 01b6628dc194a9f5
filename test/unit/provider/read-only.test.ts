import { expect, it } from 'vitest';
import { readOnlyProvider } from '../../../src/provider/read-only.ts';
import type { Account, Provider } from '../../../src/provider/types.ts';
import { SERVER } from '../../fixtures/decision.ts';
import { fakeSession } from '../../fixtures/doubles.ts';

it('reads, and sends no order, no change of power and no DELETE', async () => {
  const calls: string[] = [];
  const called = (call: string) => (): Promise<never> => Promise.reject(new Error(`sent: ${calls.push(call)}`));
  const session = fakeSession({
    account: 'account-1',
    readServer: () => Promise.resolve(SERVER),
    openOrder: called('order'),
    setPower: called('power'),
    reboot: called('reboot'),
    setDormant: called('dormant'),
    deleteServer: called('delete'),
  });
  const account = { name: 'account-1', session: () => session } as Partial<Account> as Account;
  const provider: Provider = { account: () => account, close: () => Promise.resolve() };
  const observing = readOnlyProvider(provider).account({ keyId: 'key', secret: 'secret' }).session('default');
  expect(await observing.readServer('srv1', 'high')).toEqual(SERVER);
  await expect(observing.openOrder()).rejects.toThrow('--observe-only');
  await expect(observing.setPower('srv1', 'shutdown')).rejects.toThrow('--observe-only');
  await expect(observing.reboot('srv1')).rejects.toThrow('--observe-only');
  await expect(observing.setDormant('srv1', { dormant: true })).rejects.toThrow('--observe-only');
  await expect(observing.deleteServer('srv1')).rejects.toThrow('--observe-only');
  expect(calls).toEqual([]);
});
