/**
 * Reads SSH public keys as sshd reads authorized_keys: with a key that sshd ignores, you could not log in to the server that
 * you pay for. A problem never quotes the text, which may be a private key. Pure.
 */
import { ECDH } from 'node:crypto';
import { err, ok, type Result } from '../base/result.ts';

/** One key with any line ends around it, for the API server, which checks only the form. */
export const KEY_FORM =
  '^[ \\t\\r\\n]*(ssh-|ecdsa-|sk-)[^ \\t\\r\\n]+[ \\t]+[A-Za-z0-9+/=]+([ \\t][^\\r\\n]*)?[ \\t\\r\\n]*$';
/** In PEM, in PuTTY's format, or the base64 of OpenSSH's format alone. */
export const PRIVATE_KEY = 'PRIVATE KEY|PuTTY-User-Key-File|b3BlbnNzaC1rZXktdjEA';

const IS_PRIVATE =
  'contains a private key: use the public key, from the file that ends with .pub, and replace the key pair if others may have ' +
  'seen the private key';
/** Of text that is nothing like a key. */
export const NO_PUBLIC_KEY = 'is not an SSH public key such as "ssh-ed25519 AAAA..."';
const IS_CUT = 'is cut off, or has a space or a line break inside the key';
const IS_SEVERAL = 'contains more than one key: list each one separately';
const CREATE = 'create a new one with "ssh-keygen -t ed25519"';

const OTHER_FORMATS: readonly (readonly [format: RegExp, problem: string])[] = [
  [new RegExp(PRIVATE_KEY), IS_PRIVATE],
  [/^---- ?BEGIN SSH2 PUBLIC KEY/, 'has the format of RFC 4716: convert it with "ssh-keygen -i -f FILE"'],
  [/^-----BEGIN PUBLIC KEY/, 'has the format PEM: convert it with "ssh-keygen -i -m PKCS8 -f FILE"'],
  [/^-----BEGIN RSA PUBLIC KEY/, 'has the format PEM: convert it with "ssh-keygen -i -m PEM -f FILE"'],
  [/^(\d+ )?(SHA256:|MD5:|([0-9a-f]{2}:){15})/i, 'is the fingerprint of a key: use the key itself'],
  [/^AAAA[A-Za-z0-9+/=]+$/, 'lacks its type, such as "ssh-ed25519", before "AAAA..."'],
];

/** Where a key begins that is not the first word of the text. */
const ANOTHER_KEY = /[\s,](?:ssh|ecdsa|sk)-\S+[ \t]+AAAA/;

/** How many fields (RFC 4251, 5) follow the type in a key, and what is wrong with them. */
interface Kind {
  fields: number;
  problem: (...fields: Buffer[]) => string | undefined;
}

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['ssh-ed25519', { fields: 1, problem: ed25519 }],
  ['ssh-rsa', { fields: 2, problem: rsa }],
  ['ecdsa-sha2-nistp256', { fields: 2, problem: ecdsa('nistp256', 'prime256v1') }],
  ['ecdsa-sha2-nistp384', { fields: 2, problem: ecdsa('nistp384', 'secp384r1') }],
  ['ecdsa-sha2-nistp521', { fields: 2, problem: ecdsa('nistp521', 'secp521r1') }],
  ['sk-ssh-ed25519@openssh.com', { fields: 2, problem: withApplication(ed25519) }],
  ['sk-ecdsa-sha2-nistp256@openssh.com', { fields: 3, problem: withApplication(ecdsa('nistp256', 'prime256v1')) }],
]);

/** Which keys of spec.sshKeys sshd would not accept; undefined if it accepts all of them. */
export function keysProblem({ sshKeys = [] }: { sshKeys?: readonly string[] | undefined }): string | undefined {
  const problems = sshKeys.flatMap((key, index) => {
    const problem = publicKeyProblem(key);
    return problem === undefined ? [] : [`spec.sshKeys[${index}] ${problem}`];
  });
  return problems.length === 0 ? undefined : problems.join('; ');
}

/** Why sshd would not accept this key, as the predicate of a sentence about it; undefined if it would. */
export function publicKeyProblem(text: string): string | undefined {
  const line = text.trim();
  const format = otherFormat(line);
  if (format !== undefined) return format;
  if (/[\r\n]/.test(line) && /^(?:ssh|ecdsa|sk)-/.test(line)) return ANOTHER_KEY.test(line) ? IS_SEVERAL : IS_CUT;
  const [type = '', body = '', ...comment] = line.split(/[ \t]+/);
  const kind = KINDS.get(type);
  if (kind === undefined) return typeProblem(type, line);
  if (!/^AAAA[A-Za-z0-9+/]+=*$/.test(body)) return NO_PUBLIC_KEY;
  const blob = Buffer.from(body, 'base64');
  // Like sshd: with all of its padding, and no bits beyond the last byte.
  if (blob.toString('base64') !== body) return IS_CUT;
  return blobProblem(blob, type, kind) ?? (ANOTHER_KEY.test(` ${comment.join(' ')}`) ? IS_SEVERAL : undefined);
}

/**
 * The keys of a text with a key in each line, and with blank lines and comments. The error is a sentence about the text without
 * its subject, or begins with the number of a line.
 */
export function publicKeysIn(text: string): Result<string[]> {
  const format = otherFormat(text.trim());
  if (format !== undefined) return err(`it ${format}`);
  const keys: string[] = [];
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    const key = line.trim();
    if (key === '' || key.startsWith('#')) continue;
    const problem = publicKeyProblem(key);
    if (problem !== undefined) return err(`line ${index + 1} ${problem}`);
    keys.push(key);
  }
  return keys.length === 0 ? err('it contains no SSH public key') : ok(keys);
}

function otherFormat(text: string): string | undefined {
  const found = OTHER_FORMATS.find(([format]) => format.test(text));
  if (found !== undefined) return found[1];
  if (!/^[A-Za-z0-9+/=\s]+$/.test(text)) return undefined;
  const decoded = Buffer.from(text, 'base64').toString('latin1');
  if (new RegExp(PRIVATE_KEY).test(decoded)) return IS_PRIVATE;
  return /^(?:ssh|ecdsa|sk)-\S+ AAAA/.test(decoded)
    ? 'is encoded in base64: use the text without this encoding'
    : undefined;
}

function typeProblem(type: string, line: string): string {
  if (/^(?:ssh|ecdsa|sk)-\S+-cert-v0[01]@openssh\.com$/.test(type))
    return 'is a certificate, which sshd does not accept in place of a key: use the public key that it certifies';
  if (type === 'ssh-dss') return `is a DSA key (ssh-dss), which OpenSSH no longer accepts: ${CREATE}`;
  if (/^rsa-sha2-(256|512)$/.test(type))
    return 'begins with the name of a signature algorithm: the type of the key is ssh-rsa';
  if (/^(?:ssh|ecdsa|sk)-/.test(type))
    return `has a type that OpenSSH does not know. It knows ${[...KINDS.keys()].join(', ')}`;
  return ANOTHER_KEY.test(line) ? 'has options or a host name before the type of the key: remove them' : NO_PUBLIC_KEY;
}

function blobProblem(blob: Buffer, type: string, { fields, problem }: Kind): string | undefined {
  const found: Buffer[] = [];
  let rest = blob;
  for (let count = 0; count <= fields; count++) {
    const end = rest.length < 4 ? Infinity : 4 + rest.readUInt32BE(0);
    if (end > rest.length) return IS_CUT;
    found.push(rest.subarray(4, end));
    rest = rest.subarray(end);
    const inner = found[0]?.toString('latin1') ?? '';
    if (inner !== type)
      return `says ${type}, but contains ${KINDS.has(inner) ? `a key of type ${inner}` : 'no such key'}`;
  }
  if (rest.length > 0) return 'is damaged: other data follows the end of the key';
  return problem(...found.slice(1));
}

function ed25519(key: Buffer): string | undefined {
  return key.length === 32 ? undefined : `is damaged: an Ed25519 key has 32 bytes, and this one has ${key.length}`;
}

function ecdsa(name: string, curve: string): Kind['problem'] {
  return (found: Buffer, point: Buffer) => {
    if (found.toString('latin1') !== name) return 'is damaged: its type names another curve than its content';
    // sshd reads no other form of a point.
    const isUncompressed = point[0] === 0x04;
    return isUncompressed && isOnCurve(point, curve) ? undefined : `is damaged: it holds no point of the curve ${name}`;
  };
}

function isOnCurve(point: Buffer, curve: string): boolean {
  try {
    ECDH.convertKey(point, curve);
    return true;
  } catch {
    return false;
  }
}

function rsa(exponent: Buffer, modulus: Buffer): string | undefined {
  const [e, n] = [bitsOf(exponent), bitsOf(modulus)];
  if (e < 2 || e > 64 || n === 0) return 'is damaged: an RSA key has other numbers';
  return n >= 1_024 && n <= 16_384
    ? undefined
    : `is an RSA key of ${n} bits, and OpenSSH requires 1024 to 16384: ${CREATE}`;
}

/** The size of a number in bits; 0 for a negative or an even one, which no RSA key has. */
function bitsOf(number: Buffer): number {
  const isOdd = ((number.at(-1) ?? 0) & 1) === 1;
  return isOdd && (number[0] ?? 0) < 0x80 ? BigInt(`0x${number.toString('hex')}`).toString(2).length : 0;
}

function withApplication(key: Kind['problem']): Kind['problem'] {
  return (...fields) =>
    key(...fields.slice(0, -1)) ?? (fields.at(-1)?.length === 0 ? 'is damaged: it names no application' : undefined);
}
