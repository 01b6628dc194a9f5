/** Reads an SSH public key from text or from a file, and names one as ssh does. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CommandError, EXIT } from './failure.ts';

const KEY = /^(ssh-|ecdsa-|sk-)\S+\s/;

/** Returns a public key unchanged, and reads anything else as a file. Throws CommandError, also for a private key. */
export function keyOf(textOrFile: string): string {
  if (KEY.test(textOrFile)) return textOrFile.trim();
  let text: string;
  try {
    text = readFileSync(textOrFile, 'utf8').trim();
  } catch {
    throw new CommandError(
      EXIT.usage,
      `${JSON.stringify(textOrFile)} is neither an SSH public key nor a readable file`,
    );
  }
  const [key, ...others] = text.split('\n').filter((line) => KEY.test(line));
  if (key === undefined) throw new CommandError(EXIT.usage, `${textOrFile} contains no SSH public key`);
  if (others.length === 0) return key.trim();
  throw new CommandError(
    EXIT.usage,
    `${textOrFile} contains several SSH public keys: pass each key with its own --ssh-key`,
  );
}

/** The fingerprint and the comment, as `ssh-keygen -l` prints them. */
export function fingerprint(key: string): string {
  const [, data = '', ...comment] = key.trim().split(/\s+/);
  const hash = createHash('sha256').update(Buffer.from(data, 'base64')).digest('base64').replace(/=+$/, '');
  return [`SHA256:${hash}`, ...comment].join(' ');
}
