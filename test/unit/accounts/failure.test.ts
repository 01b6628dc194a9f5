import { ProviderError, withheldError, ResponseError } from '../../../src/provider/error.ts';
import { describe, expect, it } from 'vitest';
import { backoffMs, reasonOf } from '../../../src/accounts/decision/failure.ts';

describe('reasonOf', () => {
  it.each([
    [new ProviderError('PROVIDER_UNREACHABLE', 'x'), 'ProviderUnavailable'],
    [new ProviderError('PROVIDER_TIMEOUT', 'x'), 'ProviderUnavailable'],
    [new ResponseError(500, 'x'), 'ProviderUnavailable'],
    [withheldError(), 'ProviderUnavailable'],
    [new ProviderError('PROVIDER_RATE_LIMITED', 'x'), 'ProviderRateLimited'],
    [new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'x'), 'InvalidCredentials'],
    [new ProviderError('PROVIDER_UNAUTHORIZED', 'x'), 'Unauthorized'],
    [new ProviderError('PROVIDER_PROTOCOL', 'x'), 'ProviderProtocolError'],
    [new ProviderError('PROVIDER_NOT_FOUND', 'x'), 'ProviderProtocolError'],
  ])('of %s is %s', (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});

describe('backoffMs', () => {
  it.each([
    { failures: 1, jitter: 0.5, atLeast: 0, ms: 1_000, reason: 'the first delay is one second' },
    { failures: 1, jitter: 0, atLeast: 0, ms: 900, reason: 'jitter subtracts up to a tenth' },
    { failures: 4, jitter: 0.5, atLeast: 0, ms: 8_000, reason: 'each failure doubles the delay' },
    { failures: 99_999, jitter: 0.5, atLeast: 0, ms: 600_000, reason: 'the maximum is ten minutes' },
    {
      failures: 1,
      jitter: 0.5,
      atLeast: 3_600_000,
      ms: 3_600_000,
      reason: 'the delay requested by the provider is the minimum',
    },
  ])('is $ms ms after $failures failures: $reason', ({ failures, jitter, atLeast, ms }) => {
    expect(backoffMs(failures, jitter, atLeast)).toBe(ms);
  });
});
