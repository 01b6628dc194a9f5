/** How long a live read, or a write of the object, justifies a request to the provider. Pure. */

const LIVE_READ_MS = 30_000;

/** Both on the monotonic clock (ms). */
export const isRecent = (readAt: number, now: number): boolean => now - readAt < LIVE_READ_MS;
