/** What the rest of the operator uses of the service's client. */
export { createProvider } from './provider.ts';
export type { ProviderOptions } from './provider.ts';
export type { LoginResult } from './token.ts';
export type { Operation, RequestInfo } from './transport.ts';
export { InvalidCredentialsError } from './errors/invalid-credentials-error.ts';
export { NotFoundError } from './errors/not-found-error.ts';
export { ProtocolError } from './errors/protocol-error.ts';
export { ProviderError } from './errors/provider-error.ts';
export type { ProviderErrorCode } from './errors/provider-error.ts';
export { RateLimitedError } from './errors/rate-limited-error.ts';
export { ResponseError } from './errors/response-error.ts';
export { TimeoutError } from './errors/timeout-error.ts';
export { TransportError } from './errors/transport-error.ts';
export { UnauthorizedError } from './errors/unauthorized-error.ts';
export { WithheldError } from './errors/withheld-error.ts';
