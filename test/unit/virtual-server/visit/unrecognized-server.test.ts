import { expect, it } from 'vitest';
import { perform } from '../../../../src/virtual-server/visit/perform.ts';
import { lookAt } from '../../../../src/virtual-server/decision/view.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { ACCOUNT, KNOWN, SERVER, gathered, webWith } from '../../../gen/decision.ts';
import { fakeConnections, fakeRooms, fakeSession } from '../../../gen/doubles.ts';

/**
 * Reads a server for an object with an SSH check and a connection Secret; resolves with what was done with the server.
 */
async function uses(server: Server): Promise<string[]> {
  const done: string[] = [];
  const object = webWith(KNOWN, { spec: { sshCheck: 'Proxy', connectionSecretName: 'web-connection' } });
  const session = fakeSession({ account: ACCOUNT, readServer: () => Promise.resolve(server) });
  const room = fakeRooms({
    probe: () => {
      done.push('probed');
      return Promise.resolve({ ok: true, banner: 'SSH-2.0-OpenSSH_10.0' });
    },
    connections: fakeConnections({
      write: () => {
        done.push('written');
        return Promise.resolve({ state: 'written' });
      },
    }),
  });
  const target = { view: lookAt(object, gathered()), session };
  await perform({ type: 'readServer', record: KNOWN, identifier: 'srv1' }, target, room);
  return done;
}

it('checks SSH and writes the connection Secret for a server that it recognizes', async () => {
  expect(await uses(SERVER)).toEqual(['probed', 'written']);
});

it('does neither for another server with the same identifier', async () => {
  expect(await uses({ ...SERVER, macs: ['00:00:5e:00:53:ff'] })).toEqual([]);
});
