/** Reads the files that flags name: a folder of settings, and certificates of CAs. */
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FLAGS } from './flags.ts';
import { FlagError, shown } from './flag-values.ts';

/**
 * The text of each setting in the folder by its name, without surrounding space: files often end with a line break. An
 * unknown file is an error: a misspelled limit would limit nothing. Unlike `envFrom`, the folder cannot set variables that
 * the runtime reads, such as NODE_OPTIONS. Throws a FlagError.
 */
export function readSettings(folder: string, known: readonly string[]): Map<string, string> {
  const { flag, form } = FLAGS.settingsDir;
  try {
    // Kubernetes keeps the versions of a mounted ConfigMap in `..data` and `..TIME`.
    const files = readdirSync(folder).filter((file) => !file.startsWith('..'));
    const unknown = files.find((file) => !known.includes(file));
    if (unknown !== undefined)
      throw new FlagError(`unknown setting ${shown(unknown)} in --${flag} ${shown(folder)}: give ${known.join(', ')}`);
    return new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8').trim()]));
  } catch (error) {
    if (error instanceof FlagError) throw error;
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new FlagError(`--${flag} ${shown(folder)} cannot be read (${code}): give ${form}`);
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** The certificates in PEM. Throws a FlagError that names the flag or variable, the file, and what is wrong with it. */
export function readCertificates(file: string, source: string): string[] {
  const fail = (why: string): never => {
    throw new FlagError(`${source} ${file} cannot be used: ${why}. Give a file with CA certificates in PEM format`);
  };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return fail((error as Error).message);
  }
  const certificates = text.match(CERTIFICATE) ?? fail('it contains no certificate');
  for (const [index, pem] of certificates.entries()) {
    if (!isCertificate(pem)) fail(`certificate ${index + 1} of ${certificates.length} cannot be read`);
  }
  return certificates;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
