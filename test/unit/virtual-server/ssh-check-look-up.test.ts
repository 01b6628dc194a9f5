/** Looks up names with real name servers on this machine that answer, do not know the name, or are silent. */
import { createSocket } from 'node:dgram';
import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLookUp } from '../../../src/virtual-server/look-up.ts';
import { createSshProbe } from '../../../src/virtual-server/ssh-check.ts';

const A = 1;
/** The name of the question, type A, class IN, one minute, four bytes. */
const ANSWER = Buffer.from([0xc0, 0x0c, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);

/** A header and one question, without the OPT record that may follow it. */
function question(query: Buffer): { text: Buffer; type: number } {
  let at = 12;
  while (query[at] !== 0) at += (query[at] ?? 0) + 1;
  const end = at + 5;
  return { text: Buffer.from(query.subarray(0, end)), type: query.readUInt16BE(at + 1) };
}

const FAILED = 0x8182;

function reply(query: Buffer, known: boolean, flags = known ? 0x8180 : 0x8183): Buffer {
  const { text, type } = question(query);
  const has = known && type === A;
  text.writeUInt16BE(flags, 2);
  text.writeUInt16BE(has ? 1 : 0, 6);
  text.writeUInt16BE(0, 10);
  return has ? Buffer.concat([text, ANSWER]) : text;
}

/** Address of a name server. */
async function nameServer(answer: (query: Buffer) => Buffer | undefined): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const text = answer(query);
    if (text !== undefined) socket.send(text, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

function ask(server: string, hostname: string, all = true): Promise<string | LookupAddress[]> {
  return new Promise((resolve, reject) => {
    createLookUp([server])(hostname, { all }, (error, address) => (error === null ? resolve(address) : reject(error)));
  });
}

describe('looking up a name', () => {
  it('returns the addresses that the name server knows, all or the first', async () => {
    const server = await nameServer((query) => reply(query, true));
    expect(await ask(server, 'ssh.example.org')).toEqual([{ address: '192.0.2.7', family: 4 }]);
    expect(await ask(server, 'ssh.example.org', false)).toBe('192.0.2.7');
  });

  it('does not fall back if the name server reports a failure', async () => {
    const server = await nameServer((query) => reply(query, false, FAILED));
    await expect(ask(server, 'localhost')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('does not delay other look-ups of the process while the name server is silent', async () => {
    const server = await nameServer(() => undefined);
    let over = 0;
    const silent = Array.from({ length: 20 }, () =>
      ask(server, 'ssh.example.org').catch((error: unknown) => {
        over += 1;
        return error;
      }),
    );
    await systemLookup('localhost');
    expect(over).toBe(0);
    for (const error of await Promise.all(silent)) expect(error).toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('is used by the probe', async () => {
    const lookup = createLookUp([await nameServer(() => undefined)]);
    const probe = createSshProbe({ privateAddresses: true, lookup, timeoutMs: 60_000 });
    const answer = await probe({ host: 'ssh.example.org', port: 22 }, 'default', []);
    expect(answer).toEqual({ ok: false, error: 'DNS lookup failed: no answer' });
  });
});
