/** The words by which a provider says that a server no longer exists, while a call still shows the server. */

/**
 * The documents name none, so these are those of other providers. Not "cancelling": such a server still costs money. Nor words that
 * mean something else to others: a "terminated" server can be started again at some, and an "unprovisioned" one is yet to be made.
 */
const WORDS = new Set(['cancelled', 'canceled', 'deleted', 'destroyed', 'removed']);

/** `status` is the provider's own word. */
export const saysCancelled = (status: string | undefined): boolean => WORDS.has((status ?? '').trim().toLowerCase());

const DONE = `(${[...WORDS, 'terminated', 'gone'].join('|')})`;
const IS_DONE = new RegExp(
  `\\balready\\b.*\\b${DONE}\\b|\\b${DONE} already\\b|\\b(is|was|been) ${DONE}\\b|\\bno longer exists?\\b|\\bnot exist\\b`,
  'i',
);
/** A server that is locked, or that another task changes, may be shown as removed for a while. The refusal says why. */
const IS_HINDERED = /\b(cannot|can't|can not|must|before|while|until|unless|not be|not been)\b/i;

/** Whether a refusal to cancel a server says that this was done before. */
export const saysDone = (refusal: string): boolean => IS_DONE.test(refusal) && !IS_HINDERED.test(refusal);
