/** What `kubectl vps doctor` found, and its screen. Pure. */
import type { CommandError } from '../terminal/failure.ts';
import { clean, type Paint } from '../terminal/terminal.ts';

export interface CheckFinding {
  /** What was checked, as in the first column. */
  check: string;
  /** `unknown`: the user cannot see it, so it is neither right nor wrong. */
  state: 'ok' | 'wrong' | 'unknown';
  message: string;
  /** Commands or advice, one line each. */
  steps: readonly string[];
}

export const fine = (check: string, message: string): CheckFinding => ({ check, state: 'ok', message, steps: [] });

export const wrong = (check: string, message: string, ...steps: string[]): CheckFinding => ({
  check,
  state: 'wrong',
  message,
  steps,
});

export const unknown = (check: string, message: string, ...steps: string[]): CheckFinding => ({
  check,
  state: 'unknown',
  message,
  steps,
});

/** What the user cannot see is neither right nor wrong. */
export const cannotSee = (check: string, { message, hints }: CommandError): CheckFinding =>
  unknown(check, `cannot be seen: ${message}`, ...hints);

export function checkupScreen(findings: readonly CheckFinding[], paint: Paint): string[] {
  const marks = { ok: paint.good('✓'), wrong: paint.bad('✗'), unknown: paint.faint('–') };
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.flatMap(({ check, state, message, steps }, index) => {
    const name = findings[index - 1]?.check === check ? '' : check;
    const indent = ' '.repeat(width + 4);
    return [
      `${marks[state]} ${name.padEnd(width)}  ${clean(message)}`,
      ...steps.map((step) => `${indent}${paint.faint(clean(step))}`),
    ];
  });
}
