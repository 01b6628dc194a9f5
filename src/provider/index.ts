/** What the rest of the operator uses of the provider's client. */
export { createProvider } from './provider.ts';
export type { ProviderOptions } from './provider.ts';
export type { LoginResult } from './token.ts';
export type { Operation, RequestInfo } from './transport.ts';
