/** The words by which a provider says that a server no longer exists, while a call still shows the server. */

/**
 * The documents name none, so these are those of other providers. Not "cancelling": such a server still costs money. Nor words that
 * mean something else to others: a "terminated" server can be started again at some, and an "unprovisioned" one is yet to be made.
 */
const WORDS = new Set(['cancelled', 'canceled', 'deleted', 'destroyed', 'removed']);

/** `status` is the provider's own word. */
export const saysCancelled = (status: string | undefined): boolean => WORDS.has((status ?? '').trim().toLowerCase());
