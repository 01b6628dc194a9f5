/** Reads an SSH public key from text or from a file, and names one as ssh does. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { NO_PUBLIC_KEY, publicKeyProblem, publicKeysIn } from '../../api/public-key.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';

/** Other text is not repeated: it may be a private key. */
const FILE_NAME = /^.{1,255}$/;

/** The public key in a text or in a file. Throws CommandError for anything else, without a word of a private key. */
export function readPublicKey(textOrFile: string): string {
  const problem = publicKeyProblem(textOrFile);
  if (problem === undefined) return textOrFile.trim();
  const text = FILE_NAME.test(textOrFile) ? contentOf(textOrFile) : undefined;
  if (text === undefined) {
    const isName = problem === NO_PUBLIC_KEY && FILE_NAME.test(textOrFile);
    const what = isName ? `${JSON.stringify(textOrFile)} is neither an SSH public key nor a readable file` : undefined;
    throw new CommandError(EXIT.usage, what ?? `the SSH key ${problem}`);
  }
  const found = publicKeysIn(text);
  if (!found.ok) throw new CommandError(EXIT.usage, `${textOrFile}: ${found.error}`);
  const [key = '', ...others] = found.value;
  if (others.length === 0) return key;
  throw new CommandError(
    EXIT.usage,
    `${textOrFile} contains several SSH public keys: pass each key with its own --ssh-key`,
  );
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** The fingerprint and the comment, as `ssh-keygen -l` prints them. */
export function fingerprint(key: string): string {
  const [, data = '', ...comment] = key.trim().split(/\s+/);
  const hash = createHash('sha256').update(Buffer.from(data, 'base64')).digest('base64').replace(/=+$/, '');
  return [`SHA256:${hash}`, ...comment].join(' ');
}
