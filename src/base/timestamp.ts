/** Formats times. */

/** RFC 3339 in whole seconds, like metav1.Time. */
export function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
}
