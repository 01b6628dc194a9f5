/** The error type that all calls to the API server throw. */

import { cut, ended } from '../base/text.ts';

const MAX_MESSAGE = 1024;
const BETWEEN = ' ... ';
/** How much of it conditions and Events show (UTF-16 units): what follows has to fit too. */
const MAX_QUOTE = 320;

/** How a call to the API server can fail. */
export type KubeErrorCode =
  | 'Conflict' // 409: the version is stale
  | 'Invalid' // 422: a wrong uid, or rejected by the schema
  | 'NotFound' // 404
  | 'Forbidden' // 401 and 403
  | 'Expired' // 410: the resourceVersion is too old
  | 'TooManyRequests' // 429
  | 'Rejected' // any other 4xx
  | 'ServerError' // 5xx
  | 'Unreachable' // no response: connection, TLS, deadline
  | 'TooLarge' // a response or a watch event with more bytes than the operator reads
  | 'RolledBack' // the version is older than one seen before: etcd was restored from a backup
  | 'BadResponse'; // a response of an unexpected form

interface KubeErrorDetails {
  /** HTTP status, if there was a response. */
  status?: number | undefined;
  /** The reason in the API server's status, such as `AlreadyExists`. */
  reason?: string | undefined;
  /** How long the API server asked to wait (ms). */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Some messages of the API server quote a whole object before they name the mistake. */
function bounded(message: string): string {
  if (message.length <= MAX_MESSAGE) return message;
  const half = Math.floor((MAX_MESSAGE - BETWEEN.length) / 2);
  return `${message.slice(0, half)}${BETWEEN}${message.slice(-half)}`;
}

/** `message` comes from the API server or the network, at most 1024 characters; it never contains request headers. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: KubeErrorCode, message: string, details: KubeErrorDetails = {}) {
    super(bounded(message), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.reason = details.reason;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The API server refuses to store a status: a right, a policy or a quota is missing, or a webhook fails. */
export class StatusRefused extends KubeError {
  constructor({ code, message, status, reason, retryAfterMs, cause }: KubeError) {
    super(code, message, { status, reason, retryAfterMs, cause });
  }
}

/** What a condition or an Event tells of a refusal. */
export interface Refusal {
  /** The API server's own words, as a sentence. */
  said: string;
  /** What to do, without a full stop. */
  remedy: string;
}

export function refusalOf(error: KubeError): Refusal {
  return { said: ended(cut(error.message, MAX_QUOTE)), remedy: remedyFor(error) };
}

/** The words of the API server decide only which hint follows them. */
function remedyFor({ status, message }: KubeError): string {
  if (/failed calling webhook/i.test(message)) return 'Repair or remove that webhook';
  if (/admission webhook|AdmissionPolicy/i.test(message)) return 'Change that rule so that the operator may write';
  if (/annotations: Too long|request is too large/i.test(message) || status === 413)
    return 'Remove large annotations from the object';
  if (status === 403) return 'Give the operator the rights of its ClusterRole again, or change the rule that is named';
  return 'Fix what the API server names';
}

/** Answers about the credentials, and about another version of the object, which a newer read explains. */
const NO_REFUSALS: ReadonlySet<number> = new Set([401, 404, 409, 410]);

/** True if the API server has answered that it does not store what was sent, whether a retry may help or not. */
export function isRefusal(error: unknown): error is KubeError {
  if (!(error instanceof KubeError) || error.status === undefined) return false;
  return error.status >= 400 && !NO_REFUSALS.has(error.status);
}

/** The fields of `v1.Status` that the operator reads: the body of an error, and the object of a watch's ERROR event. */
export interface StatusBody {
  kind?: string;
  code?: number;
  reason?: string;
  message?: string;
  details?: { name?: string; retryAfterSeconds?: number };
}

/** The error for a response that is not 2xx. `body` is its text: a `v1.Status` if the API server itself sent it. */
export function errorOfAnswer(status: number, body: string, retryAfter: string | undefined): KubeError {
  const parsed = parseStatus(body);
  const message = parsed?.message ?? body.trim().slice(0, 200);
  return statusError(status, { ...parsed, message: message === '' ? `HTTP status ${status}` : message }, retryAfter);
}

export function statusError(status: number, body: StatusBody, retryAfter?: string): KubeError {
  const seconds = Number(retryAfter ?? body.details?.retryAfterSeconds ?? Number.NaN);
  return new KubeError(codeOfStatus(status), body.message ?? `status ${status}`, {
    status,
    reason: body.reason,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  });
}

/** The error for a request without a response: DNS, connection, TLS, deadline. */
export function networkError(what: string, cause: unknown): KubeError {
  const message = cause instanceof Error && cause.message !== '' ? cause.message : String(cause);
  return new KubeError('Unreachable', `${what}: ${message}`, { cause });
}

/**
 * True if a 404 is about the named object. A 404 for an unknown kind, or from a proxy in between, is not, and does not
 * mean that the object is gone.
 */
export function isAbsence(status: number, body: string, name: string): boolean {
  const parsed = status === 404 ? parseStatus(body) : undefined;
  return parsed?.reason === 'NotFound' && parsed.details?.name === name;
}

function parseStatus(body: string): StatusBody | undefined {
  try {
    const value = JSON.parse(body) as StatusBody | null;
    return value?.kind === 'Status' ? value : undefined;
  } catch {
    return undefined;
  }
}

function codeOfStatus(status: number): KubeErrorCode {
  switch (status) {
    case 401:
    case 403:
      return 'Forbidden';
    case 404:
      return 'NotFound';
    case 409:
      return 'Conflict';
    case 410:
      return 'Expired';
    case 422:
      return 'Invalid';
    case 429:
      return 'TooManyRequests';
    default:
      if (status >= 500) return 'ServerError';
      return status >= 400 ? 'Rejected' : 'BadResponse';
  }
}
