/** The public interface of the provider client. */
export { createProvider } from './provider.ts';
export type { ProviderOptions } from './provider.ts';
export type { ProviderErrorCode } from './errors/provider-error.ts';
export type { LoginResult } from './token.ts';
export type { Operation, RequestInfo } from './transport.ts';
