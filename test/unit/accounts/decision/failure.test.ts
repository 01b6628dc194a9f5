import { ProviderError, withheldError, ResponseError } from '../../../../src/provider/error.ts';
import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../../src/accounts/decision/failure.ts';

describe('reasonOf', () => {
  it.each([
    [new ProviderError('PROVIDER_UNREACHABLE', 'x'), 'ProviderUnavailable'],
    [new ProviderError('PROVIDER_TIMEOUT', 'x'), 'ProviderUnavailable'],
    [new ResponseError(500, 'x'), 'ProviderUnavailable'],
    [withheldError(), 'ProviderUnavailable'],
    [new ProviderError('PROVIDER_RATE_LIMITED', 'x'), 'ProviderRateLimited'],
    [new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'x'), 'InvalidCredentials'],
    [new ProviderError('PROVIDER_UNAUTHORIZED', 'x'), 'Unauthorized'],
    [new ResponseError(403, 'x', { code: 'PROVIDER_FORBIDDEN' }), 'PermissionDenied'],
    [new ProviderError('PROVIDER_PROTOCOL', 'x'), 'ProviderProtocolError'],
    [new ProviderError('PROVIDER_NOT_FOUND', 'x'), 'ProviderProtocolError'],
  ])('of %s is %s', (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});
