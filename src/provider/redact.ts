/** Removes credentials from text of the provider and of libraries before an error quotes it. */
import { passwordsIn } from './passwords.ts';
import type { ApiKey } from './types.ts';

const MASK = '***';
/** Number of tokens that pending responses may still echo; older tokens have expired. */
const REMEMBERED_TOKENS = 4;
/** A key ID is not a secret. If it is short or looks like a word, masking it would only garble messages. */
const MIN_KEY_ID = 6;
const WORD = /^[a-z]+$/;
/**
 * No provider issues such a guessable secret, so it is a mistake or an example. Masking it in a fixed phrase of the
 * provider ("wrong secret") would reveal it, so it is masked only where it appears as a value.
 */
const GUESSABLE = /^[a-z]{1,7}$/;

const BREAKS = /[\s\u0085]+/gu;
const CONTROL = /[\p{Cc}\p{Cf}]/gu;
const AUTHORIZATION = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi;
/** The body of a public key in OpenSSH format; the base64 of its length field begins with AAAA. */
const SSH_KEY = /AAAA[A-Za-z0-9+/=]{16,}/g;

export class Redactor {
  readonly #forms: string[];
  /** Matches a guessable secret used as a value: in quotes, after one of `:=/@`, or after `secret:` or `password:`. */
  readonly #value: RegExp | undefined;
  #tokens: string[] = [];

  constructor(key: ApiKey) {
    const pair = `${key.keyId}:${key.secret}`;
    const masksKeyId = key.keyId.length >= MIN_KEY_ID && !WORD.test(key.keyId);
    const secret = key.secret.trim();
    const plain = [pair, key.secret, secret, ...(masksKeyId ? [key.keyId] : [])];
    const forms = plain.flatMap((text) => [text, ...encodings(text)]);
    const isGuessable = GUESSABLE.test(secret);
    this.#value = isGuessable ? new RegExp(valueOf(secret, SECRET_NAMES), 'giu') : undefined;
    // Longest first, so that masking a shorter form leaves no part of a longer one.
    this.#forms = [...new Set(forms)]
      .filter((form) => form !== '' && !(isGuessable && form.trim() === secret))
      .sort((a, b) => b.length - a.length);
  }

  addToken(token: string): void {
    this.#tokens = [token, ...this.#tokens].slice(0, REMEMBERED_TOKENS);
  }

  /** One line without control characters, credentials, tokens and SSH keys. Call it before cutting the text. */
  clean(text: string): string {
    const secrets = [...this.#tokens, ...this.#forms];
    const masked = mask(text.toWellFormed(), secrets);
    // Mask again: control characters may have split a secret, or may be part of one.
    const line = mask(oneLine(masked), secrets.map(oneLine));
    const known = this.#value === undefined ? line : line.replace(this.#value, MASK);
    return known.replace(AUTHORIZATION, `$1 ${MASK}`).replace(SSH_KEY, MASK);
  }

  /** A copy with name, code and redacted message, since library errors can carry sockets and raw data. */
  cause(error: unknown): Error {
    const fault: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
    const { name, message, code } = fault;
    const copy = new Error(this.clean(message).slice(0, 512));
    copy.name = name;
    return typeof code === 'string' ? Object.assign(copy, { code }) : copy;
  }
}

export type Cleaner = Pick<Redactor, 'clean' | 'cause'>;

/** As long as what is quoted must be, in characters, to be masked wherever it stands: every word is in some text. */
const RUN = 8;
/** What is shorter is masked in quotes, or as a whole word that is none, like many a password. */
const QUOTED = /(["'`])([^"'`]{2,7})\1/g;
const WORDS = /[^\s"'`,;:=@/()<>[\]{}]+/g;
const isNoWord = (word: string): boolean => word.length >= 4 && /[a-z]/i.test(word) && /[^a-z]/i.test(word);

/**
 * Also masks each passage of `secret`, a text of any length: an error message may quote a part of it. Undefined, or so short that no
 * passage can be told from a word: any text may.
 */
export function hiding(cleaner: Cleaner, secret: string | undefined): Cleaner {
  let runs: ReadonlySet<string> | undefined;
  let words: ReadonlySet<string> | undefined;
  let passwords: readonly Password[] | undefined;
  const clean = (text: string): string => {
    if (secret === '') return cleaner.clean(text);
    if (secret === undefined || secret.length < RUN) return text === '' ? '' : MASK;
    runs ??= runsIn(secret);
    words ??= new Set((secret.match(WORDS) ?? []).map(bare).filter((word) => word.length < RUN && isNoWord(word)));
    passwords ??= formsOf(passwordsIn(secret).map(oneLine));
    // Before the passages: what is left of a password would no longer be found.
    const masked = withoutRuns(withoutPasswords(cleaner.clean(text), passwords), runs);
    return withoutWords(masked, words).replace(QUOTED, (quoted: string, quote: string, part: string) =>
      secret.includes(part) ? quote + MASK + quote : quoted,
    );
  };
  return {
    clean,
    cause(error) {
      const copy = cleaner.cause(error);
      copy.message = clean(copy.message);
      return copy;
    },
  };
}

/** Shorter passwords, and those that may be words, are masked only where they stand as a value. */
const MIN_PASSWORD = 4;
/** Written like a word of a text: in small or capital letters, or with a capital one first. */
const LIKE_A_WORD = /^(?:\p{Ll}+|\p{Lu}\p{Ll}*|\p{Lu}+)$/u;

interface Password {
  plain: string;
  /** In which a message may quote it. */
  forms: readonly string[];
}

/** Longest first. */
function formsOf(passwords: readonly string[]): readonly Password[] {
  return passwords
    .filter((password) => password !== '')
    .sort((a, b) => b.length - a.length)
    .map((plain) => ({ plain, forms: isGuess(plain) ? [plain] : [...new Set(encodings(plain))] }));
}

const isGuess = (password: string): boolean =>
  password.length < MIN_PASSWORD || (password.length < RUN && LIKE_A_WORD.test(password));

/** Masks these passwords where they stand alone. One pattern for all could be too large, and its error would quote them. */
function withoutPasswords(text: string, passwords: readonly Password[]): string {
  return passwords.reduce(
    (result, { plain, forms }) =>
      forms.some((form) => result.includes(form)) ? result.replace(patternOf(plain, forms), MASK) : result,
    text,
  );
}

function patternOf(plain: string, forms: readonly string[]): RegExp {
  if (isGuess(plain)) return new RegExp(valueOf(escaped(plain), PASSWORD_NAMES), 'gu');
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${forms.map(escaped).join('|')})(?![\\p{L}\\p{N}])`, 'gu');
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** Every passage of this length, in the text and in the forms in which a message may quote it. */
function runsIn(secret: string): ReadonlySet<string> {
  const forms = [secret, JSON.stringify(secret), Buffer.from(secret).toString('base64')].map(oneLine);
  return new Set(
    forms.flatMap((form) => Array.from({ length: form.length - RUN + 1 }, (_, at) => form.slice(at, at + RUN))),
  );
}

function withoutRuns(text: string, runs: ReadonlySet<string>): string {
  let result = '';
  let hiddenUntil = 0;
  for (let at = 0; at < text.length; at++) {
    if (runs.has(text.slice(at, at + RUN))) {
      if (at >= hiddenUntil) result += MASK;
      hiddenUntil = at + RUN;
    }
    if (at >= hiddenUntil) result += text.charAt(at);
  }
  return result;
}

/** Punctuation may follow a word. */
function bare(word: string): string {
  let end = word.length;
  while (end > 0 && '.!?'.includes(word.charAt(end - 1))) end -= 1;
  return word.slice(0, end);
}

const withoutWords = (text: string, words: ReadonlySet<string>): string =>
  text.replace(WORDS, (found) => (words.has(bare(found)) ? MASK + found.slice(bare(found).length) : found));

function mask(text: string, secrets: string[]): string {
  return secrets.reduce((result, secret) => (secret === '' ? result : result.replaceAll(secret, MASK)), text);
}

const SECRET_NAMES = '(?:secret|password)\\s*[:=]\\s*';
/** As in "weak password (hunter)". */
const PASSWORD_NAMES = '(?:[Pp]assw(?:or)?d|[Pp]assphrase|[Ss]ecret|[Tt]oken)\\s*[:=(]?\\s*';

/** The pattern of a word that is used as a value: in quotes, after one of `:=/@`, or after a name that says so. */
const valueOf = (word: string, names: string): string =>
  ['"', "'", '`']
    .map((quote) => `(?<=${quote})${word}(?=${quote})`)
    .concat(`(?<=[:=/@]|${names})${word}(?![\\p{L}\\p{N}])`)
    .join('|');

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
