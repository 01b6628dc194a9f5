/** Turns an unsuccessful response into an error that quotes the provider's text, redacted and bounded. */
import { ProviderError, ResponseError, failureMessage, type ProviderOperation } from './error.ts';
import type { Cleaner } from './redact.ts';
import type { ProviderAnswer } from './transport.ts';
import { objectIn } from './wire.ts';

const MAX_EXCERPT = 200;
/** Larger bodies are not error messages. */
const MAX_ERROR_BODY = 64 * 1024;
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000;

/** The error for any response that the operation does not treat as a success. */
export function failure(answer: ProviderAnswer, operation: ProviderOperation, redactor: Cleaner): ProviderError {
  const { status } = answer;
  const said = excerpt(answer.body, redactor);
  const answered = `the provider answered ${status}`;
  const message = failureMessage(operation, said === '' ? answered : `${answered}: ${said}`);
  const retryAfterMs = retryAfter(answer.headers['retry-after']);
  if (status === 429) return new ProviderError('PROVIDER_RATE_LIMITED', message, { retryAfterMs });
  if (status === 403) return new ResponseError(status, message, { code: 'PROVIDER_FORBIDDEN', said });
  if (status >= 400) return new ResponseError(status, message, { retryAfterMs, said });
  if (status >= 300)
    return new ProviderError(
      'PROVIDER_PROTOCOL',
      failureMessage(operation, `${answered}, a redirect that the operator does not follow`),
    );
  return new ProviderError('PROVIDER_PROTOCOL', failureMessage(operation, `${answered}, which is unexpected`));
}

/** Like `failure`, for a call about one server or task: the answer may be that it does not exist. */
export function failureOf(answer: ProviderAnswer, operation: ProviderOperation, redactor: Cleaner): ProviderError {
  const error = failure(answer, operation, redactor);
  if (!deniesExistence(answer)) return error;
  const said = error instanceof ResponseError ? error.said : '';
  return new ResponseError(answer.status, error.message, { code: 'PROVIDER_NOT_FOUND', said });
}

/**
 * The server or the task does not exist, in words without punctuation: up to two words of an identifier may be in between. Or the text has no subject ("not authorised or does not exist").
 */
const NO_SUCH =
  /(?:\b(?:servers?|tasks?|vps|vm|machine|instance)(?: [a-z0-9]+){0,2}|^ it|^|\bor) (?:does not|doesn ?t) exist\b/;
/** About the rights of the key, whatever does not exist. */
const OF_RIGHTS = /\b(?:access to|permissions?|rights?|keys?|tokens?|credentials?)\b/;

/**
 * True if the answer to a call about one server or task says that it does not exist: 404 or 410, or a 403 whose text says
 * so ("Server does not exist or access denied"). Any other 403 is about the rights of the key.
 */
function deniesExistence(answer: ProviderAnswer): boolean {
  const { status } = answer;
  return status === 404 || status === 410 || (status === 403 && saysNoSuch(answer));
}

/** True if the text says that the server or the task does not exist. */
export function saysNoSuch({ body }: ProviderAnswer): boolean {
  if (typeof body !== 'string' || body.length > MAX_ERROR_BODY) return false;
  const words = ` ${messageIn(body)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()}`;
  const found = NO_SUCH.exec(words);
  return found !== null && !OF_RIGHTS.test(words.slice(0, found.index + found[0].length));
}

/** Retry-After (seconds or an HTTP date) in milliseconds from now, at most one hour; undefined if invalid. */
export function retryAfter(header: string | string[] | undefined): number | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  // Date.parse accepts many texts that are not dates, such as "-5"; every HTTP date contains the name of a month.
  const ms = /^\d+$/.test(value)
    ? Number(value) * 1000
    : /[a-z]{3}/i.test(value)
      ? Date.parse(value) - Date.now()
      : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ms));
}

/** The readable message in an error body, in one line; empty if there is none. Never HTML. */
export function excerpt(body: unknown, redactor: Cleaner): string {
  if (typeof body !== 'string' || body.length > MAX_ERROR_BODY) return '';
  const text = redactor.clean(messageIn(body));
  return text.slice(0, MAX_EXCERPT).toWellFormed();
}

function messageIn(body: string): string {
  const { error, ...fields } = objectIn(body);
  const nested = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  const { message, error_description: description, detail, title } = fields;
  const words = [nested, message, description, detail, title].filter((value) => typeof value === 'string');
  if (words.length > 0) return [...new Set(words)].slice(0, 2).join(': ');
  const plain = body.trim();
  return plain.length <= MAX_EXCERPT && !/^[[{"]|</.test(plain) ? plain : '';
}
