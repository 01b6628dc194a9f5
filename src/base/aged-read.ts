/** Reads whose results are kept for as long as the one who asks accepts. */

/**
 * The result of one read serves all who ask within `maxAgeMs` after it began; undefined serves them for `absentMs` at least. A failure
 * serves only those who wait for it.
 */
export function agedRead<T>(now: () => number, read: () => Promise<T>, absentMs = 0): (maxAgeMs: number) => Promise<T> {
  let last: { call: Promise<T>; askedAt: number; isAbsent: boolean } | undefined;
  return async (maxAgeMs) => {
    const validMs = last?.isAbsent === true ? Math.max(maxAgeMs, absentMs) : maxAgeMs;
    if (last && now() - last.askedAt <= validMs) return last.call;
    const asked = { call: read(), askedAt: now(), isAbsent: false };
    last = asked;
    try {
      const found = await asked.call;
      asked.isAbsent = found === undefined;
      return found;
    } catch (error) {
      if (last === asked) last = undefined;
      throw error;
    }
  };
}
