/** Telling ways to fail at every endpoint, for a while: nothing is ordered twice, said wrongly, or hammered. */
import { describe, it, vi } from 'vitest';
import { throughOutage } from '../support/outage.ts';
import { tellingOutages } from '../support/provider-failures.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

describe('a provider that fails for a while at every call', () => {
  it.concurrent.for(tellingOutages('calls'))('$name', throughOutage);
});

describe('a provider that forgets the tokens and fails for a while at the login', () => {
  it.concurrent.for(tellingOutages('login'))('$name', throughOutage);
});
