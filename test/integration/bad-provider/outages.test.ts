/**
 * Ways for every endpoint to fail for a while: no order is repeated, no status is wrong, and no request
 * floods the provider.
 */
import { describe, it, vi } from 'vitest';
import { throughOutage } from '../support/outage.ts';
import { outages } from '../support/provider-failures.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

describe('a provider whose calls all fail for a while', () => {
  it.concurrent.for(outages('calls'))('$name', throughOutage);
});

describe('a provider that drops all tokens and refuses logins for a while', () => {
  it.concurrent.for(outages('login'))('$name', throughOutage);
});
