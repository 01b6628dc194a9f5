/** Turns an unsuccessful response into an error that quotes the provider's text, redacted and bounded. */
import { ProviderError, ResponseError, failed, type Operation } from './error.ts';
import type { Redactor } from './redact.ts';
import type { ProviderAnswer } from './transport.ts';
import { objectIn } from './wire.ts';

const MAX_EXCERPT = 200;
/** Larger bodies are not error messages. */
const MAX_ERROR_BODY = 64 * 1024;
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000;

/** The error for any response that the operation does not treat as a success. */
export function failure(answer: ProviderAnswer, operation: Operation, redactor: Redactor): ProviderError {
  const { status } = answer;
  const words = excerpt(answer.body, redactor);
  const answered = `the provider answered ${status}`;
  const message = failed(operation, words === '' ? answered : `${answered}: ${words}`);
  const retryAfterMs = retryAfter(answer.headers['retry-after']);
  if (status === 429) return new ProviderError('PROVIDER_RATE_LIMITED', message, { retryAfterMs });
  if (status >= 400) return new ResponseError(status, message, { retryAfterMs });
  if (status >= 300)
    return new ProviderError(
      'PROVIDER_PROTOCOL',
      failed(operation, `${answered}, a redirect that the operator does not follow`),
    );
  return new ProviderError('PROVIDER_PROTOCOL', failed(operation, `${answered}, which is unexpected`));
}

/** Like `failure`, but 404 and 410 mean that the server or task does not exist. */
export function failureOf(answer: ProviderAnswer, operation: Operation, redactor: Redactor): ProviderError {
  const error = failure(answer, operation, redactor);
  return answer.status === 404 || answer.status === 410
    ? new ProviderError('PROVIDER_NOT_FOUND', error.message)
    : error;
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
export function excerpt(body: unknown, redactor: Redactor): string {
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
