/** Finds the passwords in a text such as user data: the values of fields whose names say so, and of places that hold nothing else. */

// All other objects wait while a text is searched, so what repeats in a pattern begins where a word begins, or is bounded. What
// is longer, and what comes after so many passwords, is masked by its passages (redact.ts).

/** `lock_passwd: true` is no password. */
const NO_PASSWORD = /^(?:true|false|yes|no|on|off|null|none|~|[|>][+-]?\d?|[{[].*)?$/i;
const MAX_PASSWORDS = 1000;
/** What a field or a variable is called that holds one. `bypass` and `compass` do not. */
const NAME = String.raw`(?:[\w.-]*(?:passw(?:or)?d|passphrase|passcode|secret|token|psk|api[-_]?key)|(?:[\w.-]*[-_.])?(?:pass|pwd))`;
const VALUE = String.raw`(?:"(?:[^"\\\n]|\\.){0,256}"|'(?:[^'\n]|''){0,256}'|[^\n]{0,256})`;
/** Looks ahead, because the next field may follow in the same line. */
const FIELDS = new RegExp(String.raw`(?<![\w.-])${NAME}["']?[ \t]*[:=][ \t]*(?=(${VALUE}))`, 'gi');
/** The text of a block follows in the next line. */
const BLOCKS = new RegExp(
  String.raw`(?<![\w.-])${NAME}["']?[ \t]*:[ \t]*[|>][+-]?\d?[ \t]*\n[ \t]*([^\n]{0,256})`,
  'gi',
);
const IN_URLS = /:\/\/[^\s:@/]{0,256}:([^\s@/]{1,256})@/g;
/** `root:password`, as chpasswd reads it. */
const OF_USERS = /^[ \t]*(?:-[ \t]+)?["']?[a-z_][\w.-]*:([^\s"']{1,256})["']?[ \t]*$/gim;
const PIPED = /(?<![\w.-])[\w.-]{1,64}:([^\s"'|]{1,256})["']?[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd/gi;

/** Without duplicates. A value without quotes may end at several places: each counts. */
export function passwordsIn(text: string): string[] {
  const fields = [FIELDS, BLOCKS].flatMap((pattern) => all(pattern, text).flatMap(valuesOf));
  const users = /chpasswd/i.test(text) ? [OF_USERS, PIPED].flatMap((pattern) => all(pattern, text)) : [];
  const found = [...fields, ...all(IN_URLS, text), ...users];
  return [...new Set(found)].filter((value) => !NO_PASSWORD.test(value)).slice(0, MAX_PASSWORDS);
}

const all = (pattern: RegExp, text: string): string[] => [...text.matchAll(pattern)].map(([, value = '']) => value);

function valuesOf(raw: string): string[] {
  const value = raw.trim();
  if (value.length >= 2 && value.startsWith('"') && value.endsWith('"')) return [value.slice(1, -1), unescaped(value)];
  if (value.length >= 2 && value.startsWith("'") && value.endsWith("'"))
    return [value.slice(1, -1), value.slice(1, -1).replaceAll("''", "'")];
  const uncommented = value.replace(/\s#.*$/, '').trimEnd();
  return [value, uncommented, uncommented.replace(/[,}\]].*$/, ''), uncommented.replace(/[\s;&|].*$/, '')];
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}
