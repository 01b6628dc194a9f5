/** Adds fields to every log line that is written while some work runs. */
import { AsyncLocalStorage } from 'node:async_hooks';

const context = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();

/** Runs `work` and adds these fields to every line that it logs, even after an `await`. */
export function withLogFields<T>(fields: Readonly<Record<string, unknown>>, work: () => T): T {
  return context.run(fields, work);
}

/** A copy of the current fields; empty outside of `withLogFields`. */
export function logFields(): Record<string, unknown> {
  return { ...context.getStore() };
}
