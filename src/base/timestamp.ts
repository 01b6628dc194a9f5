/** Times as text. */

/** RFC 3339 in whole seconds, as metav1.Time is. */
export function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
}
