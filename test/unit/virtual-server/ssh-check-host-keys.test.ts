/** Which host keys the probe learns, and what hosts can do to it during the key exchange: real sockets on this machine. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import ssh2 from 'ssh2';
import { createSshProbe } from '../../../src/virtual-server/ssh-check.ts';
import type { KeyType } from '../../../src/virtual-server/decision/key-types.ts';
import { makeHostKey, startSshServer, type SshServer } from '../../fixtures/ssh-server.ts';
import { ok } from '../../../src/base/result.ts';

const patient = createSshProbe({ privateAddresses: true });
const hasty = createSshProbe({ privateAddresses: true, timeoutMs: 500 });
const ask = ({ port }: { port: number }, known: readonly KeyType[] = [], by = patient) =>
  by({ host: '127.0.0.1', port }, 'default', known);
const publicKey = (key: string): string => {
  const parsed = ssh2.utils.parseKey(key);
  if (parsed instanceof Error) throw parsed;
  return parsed.getPublicSSH().toString('base64');
};
const keyOf = async (asked: ReturnType<typeof ask>): Promise<string | undefined> => {
  const probed = await asked;
  return probed.ok ? probed.value.key?.key : undefined;
};

const ED25519 = makeHostKey('ed25519');
const ECDSA = makeHostKey('ecdsa');
const RSA = makeHostKey('rsa');

/** A host that sends a version line and then does what it likes. */
async function rude(answer: (socket: Socket) => void): Promise<SshServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.write('SSH-2.0-rude\r\n');
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, connections: () => open.size, logins: () => 0, use: () => undefined };
}

function replaced(chunk: Buffer, part: Buffer, by: Buffer): Buffer {
  const at = chunk.indexOf(part);
  return at === -1 ? chunk : Buffer.concat([chunk.subarray(0, at), by, chunk.subarray(at + part.length)]);
}

describe('the key of a host', () => {
  it('is the key of the best type if none is known, and the check does not log in', async () => {
    const server = await startSshServer([RSA, ED25519, ECDSA]);
    const probed = await ask(server);
    expect(probed).toMatchObject(ok({ banner: expect.stringContaining('SSH-2.0-ssh2js') as string }));
    expect(probed).toMatchObject(ok({ key: { type: 'ssh-ed25519', key: publicKey(ED25519) } }));
    expect(await keyOf(ask(await startSshServer([RSA, ECDSA])))).toBe(publicKey(ECDSA));
    expect(await keyOf(ask(await startSshServer([RSA])))).toBe(publicKey(RSA));
    // Another machine could answer a second one.
    expect(server.connections()).toBe(1);
    expect(server.logins()).toBe(0);
  });

  it('is asked for on one connection, in the type that is known', async () => {
    const server = await startSshServer([ED25519, ECDSA, RSA]);
    expect(await keyOf(ask(server, ['ssh-rsa']))).toBe(publicKey(RSA));
    expect(await keyOf(ask(server, ['ecdsa-sha2-nistp256', 'ssh-rsa']))).toBe(publicKey(ECDSA));
    expect(server.connections()).toBe(2);
  });

  it('shows a host that no longer has a key of a known type', async () => {
    const server = await startSshServer([RSA]);
    expect(await keyOf(ask(server, ['ssh-ed25519']))).toBe(publicKey(RSA));
  });

  it('is unknown without a common method, and SSH still counts as answering', async () => {
    const server = await startSshServer([ED25519], { kex: ['diffie-hellman-group1-sha1'] });
    expect(await ask(server)).toMatchObject(ok({ noKey: expect.stringMatching(/no matching/) as string }));
  });
});

describe('a host that sends a version line', () => {
  const packet = (length: number): Buffer => {
    const header = Buffer.alloc(6);
    header.writeUInt32BE(length, 0);
    return header;
  };
  it.each<[string, (socket: Socket) => void, RegExp]>([
    ['and nothing more', () => undefined, /did not end within 0.5 s/],
    ['and closes', (socket) => socket.end(), /closes the connection/],
    ['and resets', (socket) => setTimeout(() => socket.resetAndDestroy(), 50), /reset/],
    ['and a second one', (socket) => socket.write('SSH-2.0-again\r\n'), /./],
    ['and garbage', (socket) => socket.write(Buffer.alloc(4096, 0xa5)), /./],
    ['and a packet of 4 GB', (socket) => socket.write(packet(0xffff_ffff)), /./],
    ['and a packet of no length', (socket) => socket.write(packet(0)), /./],
    ['and a packet that never ends', (socket) => socket.write(packet(30_004)), /did not end within/],
    [
      'and ignorable messages without an end',
      (socket) => {
        const ignore = Buffer.concat([packet(28), Buffer.alloc(26)]);
        ignore.writeUInt8(4, 4);
        ignore.writeUInt8(2, 5);
        const many = Buffer.concat(Array<Buffer>(500).fill(ignore));
        const send = (): void => {
          if (socket.destroyed) return;
          socket.write(many);
          setImmediate(send);
        };
        send();
      },
      /./,
    ],
    ['for another protocol', (socket) => socket.write('x'), /./],
  ])('%s answers, and has no key', async (_what, act, why) => {
    const server = await rude(act);
    const probed = await ask(server, [], hasty);
    expect(probed).not.toHaveProperty('value.key');
    expect(probed).toMatchObject(ok({ banner: 'SSH-2.0-rude', noKey: expect.stringMatching(why) as string }));
    expect(JSON.stringify(probed).length).toBeLessThan(300);
  });

  it('and cuts the key exchange anywhere never breaks the probe', async () => {
    const full = await startSshServer([ED25519]);
    for (let cut = 1; cut < 1_400; cut += 97) {
      const relay = createServer((client) => {
        const upstream = connect(full.port, '127.0.0.1');
        let left = cut;
        upstream.on('data', (chunk) => {
          client.write(chunk.subarray(0, left));
          if ((left -= chunk.length) <= 0) client.end();
        });
        client.on('data', (chunk) => upstream.write(chunk)).on('error', () => undefined);
        upstream.on('error', () => undefined);
        client.on('close', () => upstream.destroy());
      });
      await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
      const probed = await ask(relay.address() as AddressInfo, [], hasty);
      expect([undefined, publicKey(ED25519)]).toContain(probed.ok ? probed.value.key?.key : undefined);
      relay.close();
    }
  });

  it('and shows a key that it does not hold has no key', async () => {
    const theirs = await startSshServer([ED25519]);
    const stolen = Buffer.from(publicKey(makeHostKey('ed25519')), 'base64');
    const relay = createServer((client) => {
      const to = connect(theirs.port, '127.0.0.1');
      to.on('data', (chunk) => client.write(replaced(chunk, Buffer.from(publicKey(ED25519), 'base64'), stolen)));
      client.on('data', (chunk) => to.write(chunk)).on('error', () => undefined);
      to.on('error', () => undefined);
      client.on('close', () => to.destroy());
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void relay.close());
    const probed = await ask(relay.address() as AddressInfo);
    expect(probed).not.toHaveProperty('value.key');
    expect(probed).toMatchObject(ok({ noKey: expect.stringContaining('verification failed') as string }));
  });
});
