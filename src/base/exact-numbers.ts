/** Numbers of the provider whose digits count: a double keeps only the integers up to 2^53. Pure. */

/** What `JSON.parse` tells a reviver about a primitive value. */
interface Source {
  source?: string;
}

/** As `JSON.parse`, but an integer that a number cannot hold becomes the string of its digits. */
export function parseExact(text: string): unknown {
  // To revive each value takes several times the CPU, and few answers have a long number.
  if (!/\d{16}/.test(text)) return JSON.parse(text) as unknown;
  const revive = (_key: string, value: unknown, { source = '' }: Source): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^\d+$/.test(source) ? source : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown) as unknown;
}

/** The provider's number of a task: a number, or its digits if a number cannot hold them. Equal numbers are `===`. */
export type TaskNumber = number | string;

/** As long as the record allows. */
const DIGITS = /^\d{1,40}$/;

/** A task number from a JSON number or decimal digits; undefined for anything else. */
export function toTask(value: unknown): TaskNumber | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? Math.abs(value) : undefined;
  if (typeof value !== 'string' || !DIGITS.test(value)) return undefined;
  const task = Number(value);
  return Number.isSafeInteger(task) ? task : value.replace(/^0+/, '');
}
