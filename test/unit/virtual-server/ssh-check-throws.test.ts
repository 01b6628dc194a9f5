/** A library that throws in the middle of a check. */
import { createServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createSshProbe } from '../../../src/virtual-server/ssh-check.ts';
import { ok } from '../../../src/base/result.ts';

vi.mock('ssh2', async () => {
  const { EventEmitter } = await import('node:events');
  class Client extends EventEmitter {
    connect(): never {
      throw new Error('not in this bundle');
    }
  }
  return { default: { Client } };
});

it('an error of the SSH library is a check without a key, and ends no process', async () => {
  const host = createServer((socket) => socket.on('error', () => undefined).write('SSH-2.0-x\r\n'));
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void host.close());
  const { port } = host.address() as AddressInfo;
  expect(await createSshProbe({ privateAddresses: true })({ host: '127.0.0.1', port }, 'default', [])).toEqual(
    ok({ banner: 'SSH-2.0-x', noKey: 'Error: not in this bundle' }),
  );
});
