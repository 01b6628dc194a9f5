/** Reads an SSH public key that is given as text or as a file. */
import { readFileSync } from 'node:fs';
import { CommandError, EXIT } from './failure.ts';

const KEY = /^(ssh-|ecdsa-|sk-)\S+\s/;

/** A public key as text stays; anything else names a file. A private key must not end up in a manifest. Throws CommandError. */
export function keyOf(textOrFile: string): string {
  if (KEY.test(textOrFile)) return textOrFile.trim();
  let text: string;
  try {
    text = readFileSync(textOrFile, 'utf8').trim();
  } catch {
    throw new CommandError(
      EXIT.usage,
      `${JSON.stringify(textOrFile)} is neither an SSH public key nor a file that can be read`,
    );
  }
  const [key, ...others] = text.split('\n').filter((line) => KEY.test(line));
  if (key === undefined) throw new CommandError(EXIT.usage, `${textOrFile} holds no SSH public key`);
  if (others.length === 0) return key.trim();
  throw new CommandError(EXIT.usage, `${textOrFile} holds several SSH public keys: give each with an --ssh-key`);
}
