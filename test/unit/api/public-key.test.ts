import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { publicKeyProblem, publicKeysIn } from '../../../src/api/public-key.ts';
import {
  CERTIFICATE,
  DSA,
  ED25519,
  fieldsOf,
  lineOf,
  P256,
  P384,
  P521,
  PRIVATE_KEYS,
  RSA,
  RSA_1024,
  SECRET,
  SK_ED25519,
  SK_P256,
} from '../../fixtures/public-keys.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';

const [key = Buffer.alloc(0)] = fieldsOf(ED25519);
const [curve = Buffer.alloc(0), point = Buffer.alloc(0)] = fieldsOf(P256);
const [exponent = Buffer.alloc(0), modulus = Buffer.alloc(0)] = fieldsOf(RSA);
const bare = (line: string): string => line.split(' ').slice(0, 2).join(' ');
const body = (line: string): string => line.split(' ')[1] ?? '';
const changed = (bytes: Buffer, index: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[index] = (copy.at(index) ?? 0) ^ 1;
  return copy;
};
const rsaOf = (bits: number): string => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  return lineOf('ssh-rsa', [
    Buffer.from(e, 'base64url'),
    Buffer.concat([Buffer.alloc(1), Buffer.from(n, 'base64url')]),
  ]);
};

describe('a public key', () => {
  it.each(Object.entries({ SSH_KEY, ED25519, RSA, RSA_1024, P256, P384, P521, SK_ED25519, SK_P256 }))(
    'is one that sshd accepts: %s',
    (_name, line) => {
      expect(publicKeyProblem(line)).toBeUndefined();
      expect(publicKeyProblem(bare(line))).toBeUndefined();
    },
  );

  it.each([
    ['a line end', `${ED25519}\n`],
    ['a line end of Windows', `${ED25519}\r\n`],
    ['several line ends', `${ED25519}\n\r\n\n`],
    ['spaces around it', `  ${ED25519} \t`],
    ['tabs', bare(ED25519).replace(' ', '\t')],
    ['a comment with spaces', `${bare(ED25519)} Zoë’s laptop (work), 東京`],
    ['a comment that begins like a type', `${bare(ED25519)} ssh-key of AAA`],
  ])('may have %s', (_what, text) => {
    expect(publicKeyProblem(text)).toBeUndefined();
  });

  it.each<[what: string, text: string, problem: string]>([
    ['a certificate', CERTIFICATE, 'is a certificate, which sshd does not accept in place of a key'],
    ['a DSA key', DSA, 'is a DSA key (ssh-dss), which OpenSSH no longer accepts'],
    [
      'an unknown type',
      lineOf('ssh-ed448', [Buffer.alloc(57)]),
      'has a type that OpenSSH does not know. It knows ssh-ed25519, ',
    ],
    ['a signature algorithm', `rsa-sha2-512 ${body(RSA)}`, 'the type of the key is ssh-rsa'],
    ['another type than inside', `ssh-rsa ${body(ED25519)}`, 'says ssh-rsa, but contains a key of type ssh-ed25519'],
    [
      'an unknown type inside',
      lineOf(SECRET, [key]).replace(SECRET, 'ssh-rsa'),
      'says ssh-rsa, but contains no such key',
    ],
    ['a placeholder', 'ssh-ed25519 AAAA... me@example.org', 'is not an SSH public key such as'],
    ['a type alone', 'ssh-ed25519', 'is not an SSH public key such as'],
    ['other text', SECRET, 'is not an SSH public key such as'],
    ['nothing', ' \n', 'is not an SSH public key such as'],
    ['no type', body(ED25519), 'lacks its type'],
    ['a key without its end', bare(RSA).slice(0, -8), 'is cut off'],
    ['a type without a key', lineOf('ssh-ed25519', []), 'is cut off'],
    [
      'a line break inside',
      `${ED25519.slice(0, 40)}\n${ED25519.slice(40)}`,
      'is cut off, or has a space or a line break',
    ],
    ['a space inside', `${ED25519.slice(0, 40)} ${ED25519.slice(40)}`, 'is cut off, or has a space or a line break'],
    ['missing padding', bare(P256).replace(/=+$/, ''), 'is cut off'],
    ['bits after its end', bare(P256).replace(/.=$/, (end) => (end === 'k=' ? 'l=' : 'k=')), 'is cut off'],
    ['something after it', lineOf('ssh-ed25519', [key, SECRET]), 'other data follows the end of the key'],
    ['a key of 31 bytes', lineOf('ssh-ed25519', [key.subarray(1)]), 'has 32 bytes, and this one has 31'],
    ['a key of 33 bytes', lineOf('ssh-ed25519', [Buffer.concat([key, key.subarray(0, 1)])]), 'this one has 33'],
    ['another curve', lineOf('ecdsa-sha2-nistp256', ['nistp384', point]), 'another curve than its content'],
    [
      'a point beside the curve',
      lineOf('ecdsa-sha2-nistp256', [curve, changed(point, 9)]),
      'no point of the curve nistp256',
    ],
    ['a short point', lineOf('ecdsa-sha2-nistp256', [curve, point.subarray(0, 64)]), 'no point of the curve nistp256'],
    [
      'a point of another curve',
      lineOf('ecdsa-sha2-nistp256', [curve, fieldsOf(P384)[1] ?? '']),
      'no point of the curve',
    ],
    [
      'a compressed point',
      lineOf('ecdsa-sha2-nistp256', [
        curve,
        Buffer.concat([Buffer.of(2 + ((point.at(-1) ?? 0) & 1)), point.subarray(1, 33)]),
      ]),
      'no point of the curve nistp256',
    ],
    ['a short RSA key', rsaOf(1016), 'is an RSA key of 1016 bits, and OpenSSH requires 1024 to 16384'],
    ['an endless RSA key', lineOf('ssh-rsa', [exponent, Buffer.alloc(2100, 0x7f)]), 'of 16799 bits'],
    ['a negative modulus', lineOf('ssh-rsa', [exponent, modulus.subarray(1)]), 'has other numbers'],
    ['an even modulus', lineOf('ssh-rsa', [exponent, changed(modulus, modulus.length - 1)]), 'has other numbers'],
    ['no modulus', lineOf('ssh-rsa', [exponent, '']), 'has other numbers'],
    ['exponent 1', lineOf('ssh-rsa', [Buffer.of(1), modulus]), 'has other numbers'],
    ['an even exponent', lineOf('ssh-rsa', [Buffer.of(1, 0, 0), modulus]), 'has other numbers'],
    ['a huge exponent', lineOf('ssh-rsa', [modulus, modulus]), 'has other numbers'],
    ['no application', lineOf('sk-ssh-ed25519@openssh.com', [key]), 'is cut off'],
    ['an empty application', lineOf('sk-ssh-ed25519@openssh.com', [key, '']), 'names no application'],
    ['a security key of 31 bytes', lineOf('sk-ssh-ed25519@openssh.com', [key.subarray(1), 'ssh:']), 'this one has 31'],
    ['options', `command="${SECRET}" ${ED25519}`, 'has options or a host name before the type'],
    ['several options', `no-pty,from="10.0.0.0/8" ${ED25519}`, 'has options or a host name before the type'],
    ['a line of known_hosts', `web.example.org ${ED25519}`, 'has options or a host name before the type'],
    ['two keys in two lines', `${ED25519}\n${RSA}`, 'contains more than one key'],
    ['two keys in one line', `${ED25519} ${RSA}`, 'contains more than one key'],
    ['RFC 4716', '---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----', 'has the format of RFC 4716'],
    [
      'SPKI',
      '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----',
      'has the format PEM: convert it with "ssh-keygen -i -m PKCS8',
    ],
    ['PKCS1', '-----BEGIN RSA PUBLIC KEY-----\nMIGJ\n-----END RSA PUBLIC KEY-----', '"ssh-keygen -i -m PEM'],
    [
      'a fingerprint',
      '256 SHA256:fY1OQ2tWzriJbV9f5nBAxg/lHdmrmVGbgetDFqJaZQc me (ED25519)',
      'is the fingerprint of a key',
    ],
    ['an MD5 fingerprint', 'c1:35:4a:eb:36:7c:bc:d3:80:aa:48:b9:ef:df:88:45', 'is the fingerprint of a key'],
    ['another encoding', Buffer.from(ED25519).toString('base64'), 'is encoded in base64'],
    [
      'the file of a private key, encoded',
      Buffer.from(PRIVATE_KEYS.PKCS8 ?? '').toString('base64'),
      'contains a private key',
    ],
    [
      'a private key as its body',
      `ssh-ed25519 ${PRIVATE_KEYS['the content of OpenSSH'] ?? ''}`,
      'contains a private key',
    ],
    [
      'a private key as its comment',
      `${ED25519} ${(PRIVATE_KEYS.PKCS8 ?? '').replaceAll('\n', ' ')}`,
      'contains a private key',
    ],
    ['a private key after it', `${ED25519}\n${PRIVATE_KEYS.OpenSSH ?? ''}`, 'contains a private key'],
    ...Object.entries(PRIVATE_KEYS).map(([name, text]): [string, string, string] => [
      `a private key of format ${name}`,
      text,
      'contains a private key: use the public key, from the file that ends with .pub',
    ]),
  ])('is refused with %s, and not quoted', (_what, text, problem) => {
    const said = publicKeyProblem(text);
    expect(said).toContain(problem);
    expect(said).not.toContain(SECRET);
    // The first words of a body are the name of its type, in base64.
    for (const word of text.split(/\s+/).filter((part) => part.length > 20))
      expect(said).not.toContain(word.slice(-16));
  });

  it('is refused whichever byte of it is missing', () => {
    for (const line of [ED25519, RSA_1024, P256, P521, SK_ED25519, SK_P256]) {
      const bytes = Buffer.from(body(line), 'base64');
      for (let end = 0; end < bytes.length; end++) {
        const cut = `${line.split(' ')[0] ?? ''} ${bytes.subarray(0, end).toString('base64')}`;
        expect(publicKeyProblem(cut), cut).toBeDefined();
      }
    }
  });
});

describe('the public keys in a text', () => {
  it('may have comments, blank lines and any line ends', () => {
    for (const end of ['\n', '\r\n', '\r'])
      expect(publicKeysIn(['# of the team', '', `  ${ED25519}`, `\t# ${SECRET}`, RSA, ''].join(end))).toEqual({
        ok: true,
        value: [ED25519, RSA],
      });
  });

  it.each([
    ['a comment alone', `# ${SECRET}`, 'it contains no SSH public key'],
    ['nothing', '', 'it contains no SSH public key'],
    ['other text after a key', `${ED25519}\n${SECRET}`, 'line 2 is not an SSH public key'],
    ['a certificate', `# mine\n${CERTIFICATE}`, 'line 2 is a certificate'],
    ['a key in two lines', `${ED25519.slice(0, 40)}\n${ED25519.slice(40)}`, 'line 1 is cut off'],
    ['a private key', `${ED25519}\n${PRIVATE_KEYS.OpenSSH ?? ''}`, 'it contains a private key'],
    ['a public key in PEM', '\n-----BEGIN PUBLIC KEY-----\nMCow\n', 'it has the format PEM'],
    [
      'a private key, encoded in base64',
      Buffer.from(PRIVATE_KEYS.PKCS8 ?? '').toString('base64'),
      'it contains a private key',
    ],
  ])('cannot be %s, and the problem does not quote it', (_what, text, problem) => {
    const found = publicKeysIn(text);
    expect(found).toMatchObject({ ok: false, error: expect.stringContaining(problem) as string });
    expect(JSON.stringify(found)).not.toContain(SECRET);
  });
});

it('refuses the placeholder in the example of a Secret', async () => {
  const example = await readFile(new URL('../../../examples/servers/keys-from-secret.yaml', import.meta.url), 'utf8');
  const [secret] = parseAllDocuments(example).map(
    (document) => document.toJS() as { stringData: { authorized_keys: string } },
  );
  expect(publicKeysIn(secret?.stringData.authorized_keys ?? '')).toEqual({
    ok: false,
    error: 'line 1 is not an SSH public key such as "ssh-ed25519 AAAA..."',
  });
});
