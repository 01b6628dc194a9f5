import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { parseConfig, readCertificates } from '../../../src/config/config.ts';

const [first = '', second = ''] = rootCertificates;
const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
const file = join(folder, 'ca.pem');
afterAll(() => rmSync(folder, { recursive: true }));

function errorOf(text: string): string {
  writeFileSync(file, text);
  const parsed = parseConfig(['--base-url=https://a', '--auth-url=https://b', `--provider-ca-file=${file}`], {});
  return parsed.kind === 'error' ? parsed.message : 'no error';
}

describe('--provider-ca-file', () => {
  it('may contain several certificates, and text between them', () => {
    writeFileSync(file, `# first\r\n${first}\n\n# second\n${second}`);
    expect(readCertificates(file, '--provider-ca-file')).toEqual([first.trim(), second.trim()]);
  });

  it.each([
    ['', 'it contains no certificate'],
    ['not a certificate', 'it contains no certificate'],
    [first.replaceAll('CERTIFICATE', 'PRIVATE KEY'), 'it contains no certificate'],
    [`${first}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`, 'certificate 2 of 2 cannot be read'],
  ])('gets an error that names flag, file and fault (%#)', (text, why) => {
    const ending = 'Give a file with CA certificates in PEM format';
    expect(errorOf(text)).toBe(`--provider-ca-file ${file} cannot be used: ${why}. ${ending}`);
  });

  it('gets an error that names flag or variable if the file cannot be read', () => {
    const env = { VPS_PROVIDER_CA_FILE: folder };
    expect(parseConfig(['--base-url=https://a', '--auth-url=https://b'], env)).toMatchObject({
      kind: 'error',
      message: expect.stringMatching(/^VPS_PROVIDER_CA_FILE \/.* cannot be used: EISDIR: /) as string,
    });
    expect(() => readCertificates('/does/not/exist', '--provider-ca-file')).toThrow('ENOENT');
  });
});
