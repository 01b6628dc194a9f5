/** Removes fields. */

/** A copy without these fields. A field that is present with the value undefined would hide the same field of a spread. */
export function without<T extends object, K extends keyof T>(value: T, ...fields: readonly K[]): Without<T, K> {
  const kept = Object.entries(value).filter(([field]) => !fields.includes(field as K));
  return Object.fromEntries(kept) as Without<T, K>;
}

/** Each member of a union loses the fields. */
type Without<T, K extends keyof T> = T extends unknown ? Omit<T, K> : never;
