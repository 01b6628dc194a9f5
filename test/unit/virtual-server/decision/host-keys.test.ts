/** Which host keys the operator trusts. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../../../src/api/names.ts';
import { BOUNDS } from '../../../../src/api/virtual-server.ts';
import type { Finding } from '../../../../src/controller/conditions.ts';
import {
  hostKeyFinding,
  knownHosts,
  knownKeys,
  pinned,
  typesOf,
} from '../../../../src/virtual-server/decision/host-keys.ts';
import { shownKey } from '../../../../src/virtual-server/shown-key.ts';
import { HOST_KEY, KNOWN, NOW, OTHER_HOST_KEY, SERVER, record, web, webWith } from '../../../fixtures/decision.ts';

const SINCE = { firstSeen: '2026-01-01T00:00:00Z' };
const RSA_KEY = { type: 'ssh-rsa', fingerprint: 'SHA256:r', key: 'AAAAB3' } as const;
const known = [
  { ...HOST_KEY, ...SINCE },
  { ...RSA_KEY, ...SINCE },
];
const answers = (key: typeof HOST_KEY | typeof OTHER_HOST_KEY | typeof RSA_KEY) =>
  ({ ok: true, value: { banner: 'SSH-2.0-x', key } }) as const;
const accepting = (value: string) => web({ annotations: { [ACCEPT_HOST_KEY_ANNOTATION]: value } });

describe('the keys to trust', () => {
  it('are the first one that the server shows', () => {
    expect(pinned(web(), [], answers(HOST_KEY), NOW)).toEqual({
      keys: [{ ...HOST_KEY, firstSeen: '2026-01-02T00:00:00Z' }],
      isNew: true,
      changed: undefined,
    });
  });

  it('stay while the server shows one of them', () => {
    for (const shown of [HOST_KEY, RSA_KEY])
      expect(pinned(web(), known, answers(shown), NOW)).toEqual({ keys: known, isNew: false, changed: undefined });
  });

  it('stay when the server shows another key, of a known type or of a new one', () => {
    const ecdsa = { type: 'ecdsa-sha2-nistp256', fingerprint: 'SHA256:e', key: 'AAAAE2' } as const;
    expect(pinned(web(), known, answers(OTHER_HOST_KEY), NOW)).toEqual({
      keys: known,
      isNew: false,
      changed: OTHER_HOST_KEY,
    });
    const probed = { ok: true, value: { banner: 'x', key: ecdsa } } as const;
    expect(pinned(web(), known, probed, NOW)).toEqual({ keys: known, isNew: false, changed: ecdsa });
  });

  it('are replaced by the key that the annotation names, and only by that key', () => {
    const accepted = pinned(accepting(OTHER_HOST_KEY.fingerprint), known, answers(OTHER_HOST_KEY), NOW);
    expect(accepted).toEqual({
      keys: [{ ...OTHER_HOST_KEY, firstSeen: '2026-01-02T00:00:00Z' }],
      isNew: true,
      changed: undefined,
    });
    for (const value of [HOST_KEY.fingerprint, '', 'true', OTHER_HOST_KEY.key, `${OTHER_HOST_KEY.fingerprint}=`])
      expect(pinned(accepting(value), known, answers(OTHER_HOST_KEY), NOW)).toEqual({
        keys: known,
        isNew: false,
        changed: OTHER_HOST_KEY,
      });
  });

  it('stay, with the last finding, while the server shows no key', () => {
    for (const probed of [
      undefined,
      { ok: false, error: 'no' },
      { ok: true, value: { banner: 'x', noKey: 'no' } },
    ] as const)
      expect(pinned(web(), known, probed, NOW)).toEqual({ keys: known, isNew: false, changed: 'unknown' });
    expect(pinned(web(), [], undefined, NOW)).toEqual({ keys: [], isNew: false, changed: undefined });
  });
});

describe('the keys in a status', () => {
  const status = { identifier: 'srv1', macs: SERVER.macs, ipv6: SERVER.ipv6, sshHostKeys: known };

  it('belong to the server of the record', () => {
    expect(knownKeys(webWith(KNOWN, { status }), KNOWN, SERVER)).toEqual(known);
  });

  it('do not belong to a server with another identifier or other hardware', () => {
    const object = webWith(KNOWN, { status });
    expect(knownKeys(object, { ...KNOWN, identifier: 'srv2' }, SERVER)).toEqual([]);
    const macs = ['00:00:5e:00:53:ff'];
    expect(knownKeys(object, { ...KNOWN, fingerprint: { macs } }, { ...SERVER, macs })).toEqual([]);
  });

  it('need no mirror of the record, which an operator that only observes does not write', () => {
    expect(knownKeys(web({ status }), record({ identifier: 'srv1' }), SERVER)).toEqual(known);
  });

  it('stay when the server gets an additional network card', () => {
    const macs = [...SERVER.macs, '00:00:5e:00:53:02'];
    expect(knownKeys(webWith(KNOWN, { status }), { ...KNOWN, fingerprint: { macs } }, { ...SERVER, macs })).toEqual(
      known,
    );
    const renumbered = { ...KNOWN, fingerprint: { ipv6: ['2001:db8::ffff'] } };
    expect(knownKeys(webWith(KNOWN, { status }), renumbered, SERVER)).toEqual(known);
  });

  it('stay while the server shows no network card, although record and status hold different ones', () => {
    const macs = ['02:01:00:00:00:06', '02:02:00:00:00:06'];
    const object = webWith(KNOWN, { status: { ...status, macs } });
    expect(knownKeys(object, KNOWN, { ...SERVER, macs: [], ipv6: ['2001:db8::7'] })).toEqual(known);
  });

  it.each([8, 16])('stay when the server gets %i network cards, of which status and record hold a part', (count) => {
    const added = Array.from({ length: count }, (_, index) => `00:00:00:00:00:${(index + 16).toString(16)}`);
    const macs = [...added, ...SERVER.macs];
    const next = { ...status, macs: macs.slice(0, BOUNDS.addresses) };
    expect(knownKeys(webWith(KNOWN, { status: next }), KNOWN, { ...SERVER, macs })).toEqual(known);
    // Back to the one card that the record holds.
    expect(knownKeys(webWith(KNOWN, { status: { ...status, macs } }), KNOWN, SERVER)).toEqual(known);
  });

  it('have types for the next check, except those that only a newer version knows', () => {
    expect(typesOf([...known, { type: 'ssh-mldsa', fingerprint: '', key: '', ...SINCE }])).toEqual([
      'ssh-ed25519',
      'ssh-rsa',
    ]);
  });
});

describe('a key from the wire', () => {
  const blob = Buffer.from(HOST_KEY.key, 'base64');

  it('has the fingerprint that ssh-keygen prints', () => {
    const said = execFileSync('ssh-keygen', ['-lf', '-'], { input: `ssh-ed25519 ${HOST_KEY.key}\n` }).toString();
    expect(said.split(' ')[1]).toBe(shownKey(blob)?.fingerprint);
    expect(shownKey(blob)).toMatchObject({ type: 'ssh-ed25519', key: HOST_KEY.key });
  });

  it('is ignored if its type is unknown, or if it is too long or too short', () => {
    const of = (type: string, length: number): Buffer => {
      const head = Buffer.alloc(4 + type.length);
      head.writeUInt32BE(type.length);
      head.write(type, 4);
      return Buffer.concat([head, Buffer.alloc(length)]);
    };
    expect(shownKey(of('ssh-rsa', 500))?.type).toBe('ssh-rsa');
    expect(shownKey(of('ssh-rsa', BOUNDS.hostKey))).toBeUndefined();
    expect(shownKey(of('ssh-dss', 500))).toBeUndefined();
    expect(shownKey(of('ssh-ed25519 x\nevil', 32))).toBeUndefined();
    for (const length of [0, 3, 4]) expect(shownKey(Buffer.alloc(length, 0xff))).toBeUndefined();
  });
});

describe('known_hosts', () => {
  it('has a line for each way and key, and none for text that is not a host', () => {
    const ways = {
      sshProxy: { hostname: 'Proxy.example.com', port: 20001 },
      ipv6: ['2001:DB8::1'],
      ipv4: ['192.0.2.1'],
    };
    expect(knownHosts(ways, known)).toBe(
      [
        `[proxy.example.com]:20001 ssh-ed25519 ${HOST_KEY.key}`,
        `[proxy.example.com]:20001 ssh-rsa AAAAB3`,
        `2001:db8::1 ssh-ed25519 ${HOST_KEY.key}`,
        '2001:db8::1 ssh-rsa AAAAB3',
        `192.0.2.1 ssh-ed25519 ${HOST_KEY.key}`,
        '192.0.2.1 ssh-rsa AAAAB3',
        '',
      ].join('\n'),
    );
    const evil = { sshProxy: { hostname: '*', port: 22 }, ipv6: ['* ssh-rsa AAAA', '2001:db8::1\n*'], ipv4: ['*'] };
    expect(knownHosts(evil, known)).toBeUndefined();
    expect(knownHosts(ways, [])).toBeUndefined();
  });
});

it('the finding names both fingerprints, and the new one as its subject', () => {
  const finding = hostKeyFinding({ keys: known, isNew: false, changed: OTHER_HOST_KEY });
  expect(finding).toMatchObject({ reason: 'HostKeyChanged', subject: OTHER_HOST_KEY.fingerprint });
  const { message } = finding as Finding;
  expect(message).toContain(HOST_KEY.fingerprint);
  expect(message).toContain(OTHER_HOST_KEY.fingerprint);
});
