/** What tests of a whole Operator share: settings, and rooms that they do not need. */
import type { OperatorOptions } from '../../src/operator.ts';
import { createLogger } from '../../src/base/logger.ts';

/** One worker, no rate limits, defaults otherwise. */
export const OPERATOR = {
  log: createLogger({ level: 'silent' }),
  probe: () => Promise.reject(new Error('this test must not connect to an SSH server')),
  pollIntervalMs: 60_000,
  resyncIntervalMs: 600_000,
  maxConcurrentReconciles: 1,
  providerQps: 10,
  maxCreatesPerHour: 0,
  maxServersPerNamespace: 0,
  createTimeoutMs: 120_000,
  providerTimeoutMs: 30_000,
  kubeTimeoutMs: 15_000,
  takeoverGraceMs: 60_000,
  absenceGraceMs: 300_000,
  operatorNamespace: undefined,
} satisfies Partial<OperatorOptions>;
