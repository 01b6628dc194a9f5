import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { describe, expect, it } from 'vitest';
import { parsePublicKeys } from '../../../../src/virtual-server/operations/ssh-keys.ts';

/** A body as ssh-keygen writes it: the name of the type with its length, then the key. */
function body(type: string, key = 'xyzzy'): string {
  const name = Buffer.from(type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(name.length);
  return Buffer.concat([length, name, Buffer.from(key)]).toString('base64');
}

const line = (type: string, comment = ''): string => `${type} ${body(type)}${comment}`;
const ED = line('ssh-ed25519', ' me@example.org');
const RSA = line('ssh-rsa');

describe('the public keys in a text', () => {
  it.each([
    'ssh-ed25519',
    'ssh-rsa',
    'ecdsa-sha2-nistp256',
    'sk-ssh-ed25519@openssh.com',
    'ssh-ed25519-cert-v01@openssh.com',
  ])('may be of type %s', (type) => {
    expect(parsePublicKeys(line(type, ' a comment'))).toEqual({ ok: true, keys: [line(type, ' a comment')] });
  });

  it('may have comments, blank lines and any line ends', () => {
    expect(parsePublicKeys(`# s3cr3t\r\n\n  ${ED}\r\n\t# of the team\n${RSA}\n`)).toEqual({
      ok: true,
      keys: [ED, RSA],
    });
  });

  it.each([
    { what: 'a comment alone', text: '# s3cr3t', problem: 'it holds no SSH public key' },
    { what: 'nothing', text: '', problem: 'it holds no SSH public key' },
    { what: 'other text', text: 's3cr3t', problem: 'line 1 is not' },
    { what: 'other text after a key', text: `${ED}\ns3cr3t`, problem: 'line 2 is not' },
    { what: 'a type alone', text: 'ssh-ed25519', problem: 'line 1 is not' },
    { what: 'a type before other text', text: 'ssh-s3cr3t abcdef', problem: 'line 1 is not' },
    { what: 'a body without a length', text: 'ssh-ed25519 s3cr3t', problem: 'line 1 is not' },
    { what: 'a body that only starts like one', text: 'ssh-ed25519 AAAAs3cr3t', problem: 'line 1 is not' },
    { what: 'the body of another type', text: `ssh-s3cr3t ${body('ssh-rsa')}`, problem: 'line 1 is not' },
    { what: 'a type without a key', text: `ssh-rsa ${body('ssh-rsa', '')}`, problem: 'line 1 is not' },
    { what: 'options', text: `command="s3cr3t" ${ED}`, problem: 'line 1 is not' },
    { what: 'a type with options in it', text: `ssh-"s3cr3t ${ED}`, problem: 'line 1 is not' },
    { what: 'a private key', text: `${ED}\n-----BEGIN OPENSSH PRIVATE KEY-----\ns3cr3t`, problem: 'a private key' },
  ])('cannot be $what, and the problem does not quote it', ({ text, problem }) => {
    const parsed = parsePublicKeys(text);
    expect(parsed).toMatchObject({ ok: false, problem: expect.stringContaining(problem) as string });
    expect(JSON.stringify(parsed)).not.toContain('s3cr3t');
  });
});

it('refuses the placeholder in the example of a Secret', async () => {
  const example = await readFile(
    new URL('../../../../examples/servers/keys-from-secret.yaml', import.meta.url),
    'utf8',
  );
  const [secret] = parseAllDocuments(example).map(
    (document) => document.toJS() as { stringData: { authorized_keys: string } },
  );
  expect(parsePublicKeys(secret?.stringData.authorized_keys ?? '')).toEqual({
    ok: false,
    problem: 'line 1 is not an SSH public key such as "ssh-ed25519 AAAA..."',
  });
});
