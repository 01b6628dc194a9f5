/** Durations as people write them: `500ms`, `60s`, `10m`, `1h`, `1m30s`. */

const DAY_MS = 86_400_000;

/** What `setTimeout` can wait for, in whole days; a longer timer would fire at once. */
export const MAX_DURATION_DAYS = 24;

const FORM = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/;
const UNITS_MS = [3_600_000, 60_000, 1_000, 1];

/** The duration in ms; undefined for text of another form, and for anything that is not above 0 and at most 24 days. */
export function parseDuration(text: string): number | undefined {
  const [, ...amounts] = FORM.exec(text) ?? [];
  const ms = UNITS_MS.reduce((sum, unit, index) => sum + unit * Number(amounts[index] ?? 0), 0);
  return ms > 0 && ms <= MAX_DURATION_DAYS * DAY_MS ? ms : undefined;
}
