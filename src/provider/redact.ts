/** Keeps credentials out of errors: text from the provider and from libraries passes through here before it is quoted. */
import type { ApiKey } from './types.ts';

const MASK = '***';
/** Tokens that may still be echoed by answers on their way; older ones have long expired. */
const REMEMBERED_TOKENS = 4;
/** A key ID is no secret by itself: where it looks like a word, masking it would only blot out the words of messages. */
const MIN_KEY_ID = 6;
const WORD = /^[a-z]+$/;
/**
 * No provider issues a secret that can be guessed like this, so it is a mistake or an example. In the provider's fixed
 * phrases ("wrong secret") the mask itself would tell it; so it is masked where it stands as a value, and nowhere else.
 */
const GUESSABLE = /^[a-z]{1,7}$/;

const BREAKS = /[\s\u0085]+/gu;
const CONTROL = /[\p{Cc}\p{Cf}]/gu;
const AUTHORIZATION = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi;
/** The body of a public key in OpenSSH's form: base64 of a length field, which begins with AAAA. */
const SSH_KEY = /AAAA[A-Za-z0-9+/=]{16,}/g;

export class Redactor {
  readonly #forms: string[];
  /** Where a guessable secret stands as a value: quoted, after a sign, or named. */
  readonly #value: RegExp | undefined;
  #tokens: string[] = [];

  constructor(key: ApiKey) {
    const pair = `${key.keyId}:${key.secret}`;
    const masksKeyId = key.keyId.length >= MIN_KEY_ID && !WORD.test(key.keyId);
    const secret = key.secret.trim();
    const plain = [pair, key.secret, secret, ...(masksKeyId ? [key.keyId] : [])];
    const forms = plain.flatMap((text) => [text, ...encodings(text)]);
    const isGuessable = GUESSABLE.test(secret);
    this.#value = isGuessable ? valueOf(secret) : undefined;
    // The longest first, so that no part of a longer form is left when a shorter one has been masked.
    this.#forms = [...new Set(forms)]
      .filter((form) => form !== '' && !(isGuessable && form.trim() === secret))
      .sort((a, b) => b.length - a.length);
  }

  addToken(token: string): void {
    this.#tokens = [token, ...this.#tokens].slice(0, REMEMBERED_TOKENS);
  }

  /** One line without control characters, credentials, tokens and ssh keys; redact first, cut after. */
  clean(text: string): string {
    const secrets = [...this.#tokens, ...this.#forms];
    const masked = mask(text.toWellFormed(), secrets);
    // Again: what control characters had split, or what a secret with control characters has become.
    const line = mask(oneLine(masked), secrets.map(oneLine));
    const known = this.#value === undefined ? line : line.replace(this.#value, MASK);
    return known.replace(AUTHORIZATION, `$1 ${MASK}`).replace(SSH_KEY, MASK);
  }

  /** A copy of an error as a cause: name, code and redacted message; libraries hang sockets and raw data on theirs. */
  cause(error: unknown): Error {
    const fault: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
    const { name, message, code } = fault;
    const copy = new Error(this.clean(message).slice(0, 512));
    copy.name = name;
    return typeof code === 'string' ? Object.assign(copy, { code }) : copy;
  }
}

function mask(text: string, secrets: string[]): string {
  return secrets.reduce((result, secret) => (secret === '' ? result : result.replaceAll(secret, MASK)), text);
}

function valueOf(word: string): RegExp {
  const quoted = `(?<=(["'\`]))${word}(?=\\1)`;
  const named = `(?<=[:=/@]|(?:secret|password)\\s*[:=]\\s*)${word}(?![\\p{L}\\p{N}])`;
  return new RegExp(`${quoted}|${named}`, 'giu');
}

function oneLine(text: string): string {
  return text.replace(BREAKS, ' ').replace(CONTROL, '').trim();
}

function encodings(text: string): string[] {
  const wellFormed = text.toWellFormed();
  const bytes = Buffer.from(wellFormed, 'utf8');
  return [
    wellFormed,
    encodeURIComponent(wellFormed),
    new URLSearchParams([['', wellFormed]]).toString().slice(1),
    JSON.stringify(wellFormed).slice(1, -1),
    bytes.toString('base64'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ];
}
