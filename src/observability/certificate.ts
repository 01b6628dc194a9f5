/** The TLS certificate and key in a folder, such as a mounted Secret, read again when they change. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';

export interface KeyPair {
  cert: string;
  key: string;
}

export interface Certificate {
  /** Throws an Error if the files cannot be read, or are no certificate and its key. */
  read(): KeyPair;
  /** The pair if it has changed since it was last returned; reads the files at most once a second. */
  changed(): KeyPair | undefined;
}

const MAX_AGE_MS = 1_000;

export function createCertificate(folder: string, now: () => number): Certificate {
  let last: KeyPair | undefined;
  let readAt = -Infinity;
  const read = (): KeyPair => {
    const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');
    readAt = now();
    const pair = { cert: textOf('tls.crt'), key: textOf('tls.key') };
    createSecureContext(pair);
    last = pair;
    return pair;
  };
  return {
    read,
    changed() {
      if (now() - readAt < MAX_AGE_MS) return undefined;
      const before = last;
      const pair = read();
      return pair.cert === before?.cert && pair.key === before.key ? undefined : pair;
    },
  };
}
