/** Fields that stand on every log line which is written while some work runs, whoever writes it. */
import { AsyncLocalStorage } from 'node:async_hooks';

const context = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();

/** Runs `work` with these fields on every line that it logs, also after an `await`. */
export function withLogFields<T>(fields: Readonly<Record<string, unknown>>, work: () => T): T {
  return context.run(fields, work);
}

/** A copy; empty outside of `withLogFields`. */
export function logFields(): Record<string, unknown> {
  return { ...context.getStore() };
}
