import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readPublicKey } from '../../../src/plugin/flags/public-key.ts';
import { specFrom, type SpecFlags } from '../../../src/plugin/flags/spec-flags.ts';
import { CERTIFICATE, DSA, ED25519, PRIVATE_KEYS, RSA, SECRET } from '../../fixtures/public-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'keys-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function fileWith(text: string): string {
  const file = join(folder, 'key');
  writeFileSync(file, text);
  return file;
}

const messageOf = (textOrFile: string): string => {
  try {
    return `taken: ${readPublicKey(textOrFile)}`;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the key of a flag', () => {
  it('is the text, or the only key in a file', () => {
    expect(readPublicKey(`${ED25519}\n`)).toBe(ED25519);
    expect(readPublicKey(fileWith(`# mine\r\n${ED25519}\r\n`))).toBe(ED25519);
  });

  it.each([
    ['a DSA key', DSA, 'the SSH key is a DSA key (ssh-dss)'],
    ['half a key', ED25519.slice(0, 50), 'the SSH key is cut off'],
    ['two keys', `${ED25519}\n${RSA}`, 'the SSH key contains more than one key'],
    ['no file', '/nowhere/id.pub', '"/nowhere/id.pub" is neither an SSH public key nor a readable file'],
    ['a folder', tmpdir(), `${JSON.stringify(tmpdir())} is neither an SSH public key nor a readable file`],
    ['other text in lines', `${SECRET}\n${SECRET}`, 'the SSH key is not an SSH public key'],
  ])('is refused: %s', (_what, text, message) => {
    expect(messageOf(text)).toContain(message);
  });

  it.each([
    ['a certificate', `# mine\n${CERTIFICATE}`, ': line 2 is a certificate'],
    ['several keys', `${ED25519}\n${RSA}\n`, 'contains several SSH public keys: pass each key with its own --ssh-key'],
    ['other text', SECRET, ': line 1 is not an SSH public key'],
    ['nothing', '', ': it contains no SSH public key'],
  ])('is refused in a file with %s', (_what, text, message) => {
    expect(messageOf(fileWith(text))).toContain(message);
  });

  it.each(Object.entries(PRIVATE_KEYS))('is no private key, which is not repeated: %s', (_format, text) => {
    for (const given of [text, text.trim(), text.replaceAll('\n', ' '), fileWith(text)]) {
      const message = messageOf(given);
      expect(message).toContain('contains a private key: use the public key, from the file that ends with .pub');
      expect(message).not.toContain(SECRET);
    }
  });

  it('is not repeated either if it is taken for a reference to a Secret', () => {
    const flags = { sshKey: [], sshKeyFrom: [PRIVATE_KEYS.OpenSSH] } as unknown as SpecFlags;
    expect(() => specFrom(flags)).toThrow('invalid --ssh-key-from: use SECRET/KEY');
  });
});
