/** Parses and formats durations such as `500ms`, `60s`, `10m`, `1h` and `1m30s`, and formats times. */

export const UNITS_MS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
const DAY_MS = 24 * UNITS_MS.h;

/** The longest wait of `setTimeout` in whole days; a longer timer would fire immediately. */
export const MAX_DURATION_DAYS = 24;

const FORM = /^(?:\d+h)?(?:\d+m(?!s))?(?:\d+s)?(?:\d+ms)?$/;

/** The duration in ms; undefined for any other text, and unless it is above 0 and at most 24 days. */
export function parseDuration(text: string): number | undefined {
  const ms = FORM.test(text) ? durationMs(text) : 0;
  return ms > 0 && ms <= MAX_DURATION_DAYS * DAY_MS ? ms : undefined;
}

/** The duration (ms) of a text that a schema has already validated, such as `1h30m`; of any length. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+)(ms|[hms])/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS], 0);
}

/** A readable duration: in seconds below two minutes, in minutes below two hours, otherwise in hours. */
export function durationText(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}

/* Formats times. */

/** RFC 3339 in whole seconds, like metav1.Time. */
export function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
}
