/** The calls of the provider API, and the errors that they end with; `code` identifies an error. */
import { err, ok, type Result } from '../base/result.ts';

export type ProviderOperation =
  | 'login'
  | 'products'
  | 'images'
  | 'diskSizes'
  | 'zones'
  | 'hosts'
  | 'listServers'
  | 'prices'
  | 'createServer'
  | 'pollTask'
  | 'readServer'
  | 'setPower'
  | 'reboot'
  | 'setDormant'
  | 'changeServer'
  | 'deleteServer';

const WORDS: Record<ProviderOperation, string> = {
  login: 'Logging in',
  products: 'Reading the list of products',
  images: 'Reading the list of images',
  diskSizes: 'Reading the list of disk sizes',
  zones: 'Reading the list of zones',
  hosts: 'Reading the list of hosts',
  listServers: 'Reading the list of servers',
  prices: 'Reading the list of prices',
  createServer: 'Ordering the server',
  pollTask: 'Checking progress',
  readServer: 'Reading the server',
  setPower: 'Switching the power of the server',
  reboot: 'Rebooting the server',
  setDormant: 'Changing whether the server is dormant',
  changeServer: 'Changing the server',
  deleteServer: 'Cancelling the server',
};

/** The message of an error: which call failed, and why. */
export function failureMessage(operation: ProviderOperation, why: string): string {
  return `${WORDS[operation]} failed: ${why}`;
}

export type ProviderErrorCode =
  /** No response: no address, no connection, a TLS failure, or a broken connection. */
  | 'PROVIDER_UNREACHABLE'
  /** No complete response within the deadline of the call. */
  | 'PROVIDER_TIMEOUT'
  /** The provider refuses the API key; `retryAfterMs` is the time until the next allowed login. */
  | 'PROVIDER_INVALID_CREDENTIALS'
  /** The provider refuses a token that it just issued. */
  | 'PROVIDER_UNAUTHORIZED'
  /** The provider does not know the requested task or server: a ResponseError. */
  | 'PROVIDER_NOT_FOUND'
  /** The provider answered 403: the API key does not have the right to this call. A ResponseError. */
  | 'PROVIDER_FORBIDDEN'
  /** The provider asks to send fewer requests. */
  | 'PROVIDER_RATE_LIMITED'
  /** The provider answered with an error status: a ResponseError. */
  | 'PROVIDER_RESPONSE'
  /** An invalid response: not JSON, of a wrong shape, too large, or a redirect. */
  | 'PROVIDER_PROTOCOL'
  /** The caller withdrew its permission before the request was written; nothing was sent. */
  | 'PROVIDER_WITHHELD';

interface Details {
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

const MAX_MESSAGE = 512;

/**
 * Every error of `src/provider/`. `message` has at most 512 characters and no credential; the code that creates it redacts
 * the provider's text.
 */
export class ProviderError extends Error {
  override readonly name: string = 'ProviderError';
  readonly code: ProviderErrorCode;
  /** How long the provider asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ProviderErrorCode, message: string, details: Details = {}) {
    super(message.slice(0, MAX_MESSAGE).toWellFormed(), details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
  }
}

type ResponseCode = Extract<ProviderErrorCode, 'PROVIDER_RESPONSE' | 'PROVIDER_NOT_FOUND' | 'PROVIDER_FORBIDDEN'>;

interface ResponseDetails extends Details {
  code?: ResponseCode;
  /** The provider's own text, in one line, redacted and at most 200 characters long; left out: none. */
  said?: string;
}

/** The provider returned an HTTP error; `status` is the HTTP status, and the message quotes the provider's text. */
export class ResponseError extends ProviderError {
  override readonly name = 'ResponseError';
  declare readonly code: ResponseCode;
  readonly status: number;
  readonly said: string;

  constructor(
    status: number,
    message: string,
    { code = 'PROVIDER_RESPONSE', said = '', ...details }: ResponseDetails = {},
  ) {
    super(code, message, details);
    this.status = status;
    this.said = said;
  }
}

export function isProviderError(error: unknown, code: ProviderErrorCode): boolean {
  return error instanceof ProviderError && error.code === code;
}

/** What the call resolves with, or the ProviderError that it ends with. */
export async function answerOf<T>(call: Promise<T>): Promise<Result<T, ProviderError>> {
  try {
    return ok(await call);
  } catch (error) {
    if (error instanceof ProviderError) return err(error);
    throw error;
  }
}

export function withheldError(): ProviderError {
  return new ProviderError('PROVIDER_WITHHELD', 'the request was withheld: it may no longer be sent');
}

/**
 * True for statuses by which a gateway answers for itself: it may have delivered the request, or deliver it later. 500 and 503
 * are the provider's own.
 */
export const mayArriveLater = (status: number): boolean => status === 408 || status === 502 || status >= 504;

/**
 * Statuses by which the provider refuses what a request asks for: it would refuse the same request again. The same request may
 * succeed after 408, 409, 423, 425 and 429; what a status means that is not among them is unknown.
 */
const REFUSALS = new Set([400, 402, 403, 404, 405, 413, 415, 422]);

export const isRefusalStatus = (status: number): boolean => REFUSALS.has(status);

const UNSENT = new Set<ProviderErrorCode>([
  'PROVIDER_INVALID_CREDENTIALS',
  'PROVIDER_UNAUTHORIZED',
  'PROVIDER_RATE_LIMITED',
  'PROVIDER_WITHHELD',
]);

/** True if the request was not sent, or the provider rejected it before it read what it asks for: it may be sent again. */
export const isUnsent = (error: ProviderError): boolean => UNSENT.has(error.code);

/**
 * What an error says about a request that acts on a server. `unsent`: the request may be sent again. `refused`: the provider would
 * refuse the same request again. `declined`: it has not acted, but may do so later, or the next read tells more: the server may be
 * gone. `unclear`: it may have acted.
 */
export function meaningOf(error: ProviderError): 'unsent' | 'refused' | 'declined' | 'unclear' {
  if (isUnsent(error)) return 'unsent';
  if (!(error instanceof ResponseError) || error.status >= 500 || mayArriveLater(error.status)) return 'unclear';
  return error.code !== 'PROVIDER_NOT_FOUND' && isRefusalStatus(error.status) ? 'refused' : 'declined';
}

/** True if the provider may have acted on the request: it was sent, and no answer of the provider itself says otherwise. */
export const mayHaveActed = (error: ProviderError): boolean => meaningOf(error) === 'unclear';
