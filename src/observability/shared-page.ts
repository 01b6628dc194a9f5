/** One rendering for all requests of a second: a peer that asks without end must not cost the operator its time. */
import type { Page } from './page-server.ts';

const MAX_AGE_MS = 1_000;

export function sharedPage(render: () => Promise<Page>, now: () => number): () => Promise<Page> {
  let last: { at: number; page: Promise<Page> } | undefined;
  return () => {
    const at = now();
    if (last === undefined || at - last.at >= MAX_AGE_MS) last = { at, page: render() };
    return last.page;
  };
}
