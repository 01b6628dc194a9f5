/** What a plan is, and what each part of the suite defines. */
import type { Arena } from './arena.ts';

export type Result =
  | { kind: 'passed' | 'unmet'; labels: readonly string[] }
  | { kind: 'failed'; labels: readonly string[]; why: string; dump: string };

/** Runs the plan in a namespace of this name, which nothing else uses. */
export type Run = (arena: Arena, name: string) => Promise<Result>;

/** A kind of plan. The id of a plan is `<part>/<scenario>/<label>/<fault>`; only labels may contain slashes. */
export interface Part {
  readonly name: string;
  readonly scenarios: readonly string[];
  /** The faults that can hit a request with this label. */
  faultsAt(label: string): readonly string[];
  /**
   * Tells requests apart by what the operator and the world have been through: at requests in the same situation, the same fault is the
   * same plan. `before`: the labels so far. Left out: each scenario counts as a separate situation.
   */
  situationAt?(scenario: string, label: string, before: readonly string[]): string;
  /** Without label and fault: runs the scenario alone, to record its requests. Undefined: no such plan. */
  run(scenario: string, point?: { label: string; fault: string }): Run | undefined;
}
