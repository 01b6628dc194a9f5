/** Reads the file of --provider-ca-file: certificates of CAs that the provider's certificate may be signed by. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { FlagError } from './flag-error.ts';

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
